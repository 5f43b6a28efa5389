"""`workspaced mcp --print-config` and `--install`: an entry for any daemon, written as `connect` writes."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.program_settings import PLACES, all_files, entry_of

from workspaced.connecting.runtimes import RUNTIMES
from workspaced_events.interpreter import installed_command

from .conftest import Command, write


def entry(runtime: str, text: str) -> dict[str, Any]:
    is_toml = RUNTIMES[runtime].servers.syntax == "toml"
    return entry_of(runtime, tomllib.loads(text) if is_toml else json.loads(text), "workspaced")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_snippet_is_a_whole_file_with_an_absolute_command_and_is_what_is_installed(
    mcp: Command, home: Path, runtime: str
) -> None:
    target = ("--vault", "notes", "--workspace", "w")
    code, out, err = mcp("--print-config", runtime, *target)
    assert code == 0 and str(home / PLACES[runtime]) in err and all_files(home) == {}
    found = entry(runtime, out)
    assert Path(found["command"]).is_absolute()
    assert found["args"][-5:] == ["mcp", "--workspace", "w", "--vault", str(Path("notes").absolute())]
    code, shown, _err = mcp("--install", runtime, *target, "--dry-run")
    assert code == 0 and installed_command()[0] in shown and all_files(home) == {}
    assert mcp("--install", runtime, *target)[:2] == (0, "")
    assert list(all_files(home)) == [PLACES[runtime]]
    assert entry(runtime, (home / PLACES[runtime]).read_text()) == found


def test_the_command_of_a_snippet_runs_the_bridge(mcp: Command, shared: Any) -> None:
    _code, out, _err = mcp("--print-config", "cursor", "--socket", str(shared.socket))
    found = entry("cursor", out)
    request = b'{"jsonrpc":"2.0","id":7,"method":"workspaced/hello","params":{}}\n'
    done = subprocess.run(
        [found["command"], *found["args"]], input=request, capture_output=True, timeout=60, cwd="/", env={}
    )
    assert done.returncode == 0 and json.loads(done.stdout)["id"] == 7


def test_an_entry_of_ours_is_brought_up_to_date_and_the_file_before_us_is_kept_once(
    mcp: Command, home: Path
) -> None:
    before = '{"mcpServers": {"workspaced": {"command": "/old", "env": {"A": "b"}}}}'
    path = write(home / PLACES["cursor"], before)
    assert mcp("--install", "cursor")[0] == 0
    found = entry("cursor", path.read_text())
    assert (found["command"], found["env"]) == (installed_command()[0], {"A": "b"})
    assert mcp("--install", "cursor", "--vault", "/n")[0] == 0
    assert "already" in mcp("--install", "cursor", "--vault", "/n")[2]
    backup = f"{PLACES['cursor']}.before-workspaced"
    assert all_files(home).keys() == {PLACES["cursor"], backup} and all_files(home)[backup] == before.encode()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--print-config", "emacs"],
        ["--dry-run"],
        ["--print-config", "zed", "--install", "zed"],
        ["--install", "codex", "--vault", "/v\udcff"],
        ["--print-config", "codex", "--vault", "/v\udcff"],
    ],
    ids=ascii,
)
def test_what_cannot_be_meant_is_usage(mcp: Command, home: Path, arguments: list[str]) -> None:
    assert mcp(*arguments)[:2] == (2, "") and all_files(home) == {}
