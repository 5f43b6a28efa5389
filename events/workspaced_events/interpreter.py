"""Commands that start this installation's own programs.

All of them are made here: a process that searched the present folder for modules would run code of a vault, or of
whatever else somebody has downloaded.
"""

import os
import sys


def own_module(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours; it imports none from the present folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def installed_command() -> list[str]:
    """The command `workspaced` of this installation: absolute, and never from the present folder."""
    script = os.path.join(os.path.dirname(sys.executable), "workspaced")  # noqa: PTH118, PTH120 - the bridge does without pathlib
    return [script] if os.access(script, os.X_OK) else own_module("workspaced")
