"""docs/context.md is true: its program and its commands are run in their order."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from workspaced.context_client import ContextMethods, PinKind
from workspaced_tools.context.model import LAYERS

_SPEC = importlib.util.spec_from_file_location("test_readme", Path(__file__).with_name("test_readme.py"))
assert _SPEC is not None and _SPEC.loader is not None
readme = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(readme)

PAGE = (Path(__file__).parents[2] / "docs" / "context.md").read_text()
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def test_its_commands_do_what_it_shows(daemon: Any) -> None:
    running = daemon(start=False)
    home = running.root / "home"
    with resources.as_file(resources.files("workspaced.demo")) as package:
        shutil.copytree(package / "vault", home / "notes")
    for name, text in FILES.items():
        (home / name).write_text(text)
    running.vault = home / "notes"
    running.start()
    environment = {
        **running.env,
        "WORKSPACED_SOCKET": str(running.socket),
        "WORKSPACED_DATA_DIR": str(running.data),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for commands in readme.blocks(PAGE):
        for command, shown in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment, cwd=home, timeout=60
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            readme.assert_shown(shown, done.stdout + done.stderr)


def test_it_has_a_program_that_is_run() -> None:
    commands = [command for block in readme.blocks(PAGE) for command, _shown in block]
    assert FILES
    for name in FILES:
        assert f"python {name}" in commands


def test_it_names_all_layers_pins_and_most_methods() -> None:
    words = set(re.findall(r"[\w-]+", PAGE))
    assert {*LAYERS, *get_args(PinKind)} <= words
    methods = {name for name in vars(ContextMethods) if not name.startswith("_")}
    assert methods - words <= {"unpin", "end"}
