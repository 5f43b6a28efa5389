"""Commands that start this installation's own programs, or add to it.

All of them are made here: a process that searched the present folder for modules would run code of a vault, or of
whatever else somebody has downloaded.
"""

import os
import sys


def own_module(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours; it imports none from the present folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def installation_of(*packages: str) -> list[str]:
    """The command that adds packages to this installation. What uv made has no pip."""
    from importlib.util import find_spec  # seldom needed

    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", sys.executable, *packages]
    return own_module("pip", "install", *packages)


def installed_command() -> list[str]:
    """The command `workspaced` of this installation: absolute, and never from the present folder."""
    script = os.path.join(os.path.dirname(sys.executable), "workspaced")  # noqa: PTH118, PTH120 - the bridge does without pathlib
    return [script] if os.access(script, os.X_OK) else own_module("workspaced")
