"""docs/replay.md is true: its commands are run in their order, its test is run by them."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from importlib import resources
from pathlib import Path
from typing import Any

from workspaced.config import Settings
from workspaced.replay import Call, Log, Moment

_SPEC = importlib.util.spec_from_file_location("test_readme", Path(__file__).with_name("test_readme.py"))
assert _SPEC is not None and _SPEC.loader is not None
readme = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(readme)

PAGE_S = 120.0
PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
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
    # `workspaced stop` waits until the process is gone, which one is not that nobody waited for.
    gone = threading.Thread(target=running.wait, args=(PAGE_S,))
    gone.start()
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
    gone.join()


def test_it_has_a_regression_test_that_is_run() -> None:
    commands = [command for block in readme.blocks(PAGE) for command, _shown in block]
    assert FILES
    for name in FILES:
        assert any(command.startswith("pytest ") and name in command for command in commands)


def test_it_names_the_whole_library_and_every_setting_of_recording() -> None:
    words = set(re.findall(r"\w+", PAGE))
    public = [name for kind in (Log, Moment, Call) for name in vars(kind) if not name.startswith("_")]
    assert set(public) - words == set()
    assert {name for name in Settings.model_fields if name.startswith("record")} - words == set()
