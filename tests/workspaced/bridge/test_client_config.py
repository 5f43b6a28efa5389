"""Telling agents' runtimes of the bridge: snippets, and merging them into files that are not ours."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.bridge import client_config
from workspaced.bridge.client_config import CLIENTS
from workspaced.cli import run
from workspaced.discovery.autostart import installed_command

JSON_CLIENTS = [name for name, config in CLIENTS.items() if config.syntax == "json"]
PLACES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "vscode": "Library/Application Support/Code/User/mcp.json"
    if sys.platform == "darwin"
    else ".config/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "zed": ".config/zed/settings.json",
}
OTHERS = {
    "json": '{\n    "hue": "gr\\u00fcn",\n    "KEY": {"other": {"command": "x", "args": []}},\n    "n": 1.5\n}\n',
    "toml": 'model = "o"  # chosen\n\n[mcp_servers.other]\ncommand = "x"\n',
}

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def mcp(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `workspaced mcp ARGUMENTS`: exit code, stdout, stderr."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(["mcp", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return command


def other_settings(client: str) -> str:
    """A file of the client that somebody already uses."""
    config = CLIENTS[client]
    return OTHERS[config.syntax].replace("KEY", config.key)


def written(home: Path, client: str, text: str) -> Path:
    path = home / PLACES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parsed(client: str, text: str) -> dict[str, Any]:
    return tomllib.loads(text) if CLIENTS[client].syntax == "toml" else dict(json.loads(text))


def entry(client: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = parsed(client, text)[CLIENTS[client].key]["workspaced"]
    return found


def beside(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if each != path)


# -- the snippet --


@pytest.mark.parametrize("client", CLIENTS)
def test_a_snippet_is_a_whole_file_with_an_absolute_command(mcp: Command, home: Path, client: str) -> None:
    code, out, err = mcp("--print-config", client, "--vault", "notes", "--workspace", "w")
    assert code == 0 and str(home / PLACES[client]) in err
    found = entry(client, out)
    assert Path(found["command"]).is_absolute()
    assert found["args"][-5:] == ["mcp", "--workspace", "w", "--vault", str(Path("notes").absolute())]
    assert not list(home.rglob("*"))


def test_the_command_of_a_snippet_runs_the_bridge(mcp: Command, shared: Any) -> None:
    _code, out, _err = mcp("--print-config", "cursor", "--socket", str(shared.socket))
    found = entry("cursor", out)
    request = b'{"jsonrpc":"2.0","id":7,"method":"workspaced/hello","params":{}}\n'
    done = subprocess.run(
        [found["command"], *found["args"]], input=request, capture_output=True, timeout=15, cwd="/", env={}
    )
    assert done.returncode == 0 and json.loads(done.stdout)["id"] == 7


def test_toml_can_say_every_path() -> None:
    command = ["/bin/\x7f\t\"'\\é🎉", "mcp"]
    assert entry("codex", client_config.snippet("codex", command))["command"] == command[0]


@pytest.mark.parametrize(
    "arguments",
    [["--print-config", "emacs"], ["--dry-run"], ["--print-config", "zed", "--install", "zed"]],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_usage(mcp: Command, arguments: list[str]) -> None:
    assert mcp(*arguments)[0] == 2


def test_a_path_that_is_not_utf8_is_refused(mcp: Command, home: Path) -> None:
    for option in ("--print-config", "--install"):
        assert mcp(option, "codex", "--vault", os.fsdecode(b"/v\xff"))[:2] == (2, "")
    assert not list(home.rglob("*"))


# -- installing --


@pytest.mark.parametrize("client", CLIENTS)
def test_where_there_is_no_file_one_is_made(mcp: Command, home: Path, client: str) -> None:
    code, out, err = mcp("--install", client, "--vault", "/notes")
    path = home / PLACES[client]
    assert (code, out) == (0, "") and str(path) in err
    assert entry(client, path.read_text())["args"][-3:] == ["mcp", "--vault", "/notes"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [name for name in beside(path) if name.startswith(path.name)]


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_in_the_file_stays_and_a_backup_is_kept(mcp: Command, home: Path, client: str) -> None:
    before = other_settings(client)
    path = written(home, client, before)
    path.chmod(0o640)
    code, _out, err = mcp("--install", client)
    assert code == 0
    after = parsed(client, path.read_text())
    del after[CLIENTS[client].key]["workspaced"]
    assert after == parsed(client, before)
    backup = path.with_name(path.name + ".before-workspaced")
    assert backup.read_text() == before and str(backup) in err and beside(path) == [backup.name]
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o640
    if CLIENTS[client].syntax == "toml":
        assert path.read_text().startswith(before), "comments too"


@pytest.mark.parametrize("client", CLIENTS)
def test_installing_again_changes_nothing(mcp: Command, home: Path, client: str) -> None:
    path = written(home, client, other_settings(client))
    mcp("--install", client)
    text, names = path.read_text(), beside(path)
    code, out, err = mcp("--install", client)
    assert (code, out) == (0, "") and "already" in err
    assert path.read_text() == text and beside(path) == names


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("exists", [True, False])
def test_a_dry_run_shows_the_difference_and_writes_nothing(
    mcp: Command, home: Path, client: str, exists: bool
) -> None:
    if exists:
        written(home, client, other_settings(client))
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    code, out, _err = mcp("--install", client, "--dry-run")
    added = [line for line in out.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert code == 0 and any(installed_command()[0] in line for line in added)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_another_entry_of_ours_is_brought_up_to_date_and_keeps_the_rest(
    mcp: Command, home: Path, client: str
) -> None:
    key = CLIENTS[client].key
    path = written(home, client, json.dumps({key: {"workspaced": {"command": "/old", "env": {"A": "b"}}}}))
    assert mcp("--install", client)[0] == 0
    assert entry(client, path.read_text())["command"] == installed_command()[0]
    assert entry(client, path.read_text())["env"] == {"A": "b"}
    assert mcp("--install", client, "--vault", "/n")[0] == 0
    assert len(beside(path)) == 2, "each change has its own backup"


@pytest.mark.parametrize(
    ("client", "text"),
    [
        *(
            (client, text)
            for client in JSON_CLIENTS
            for text in ("{", '{"a": 1} // why', "\ufeff{}", "[]", "nonsense")
        ),
        ("zed", '{\n  // mine\n  "theme": "One",\n}\n'),
        ("vscode", '{"servers": {}, "servers": {}}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"workspaced": "x"}}'),
        ("gemini", '{"a": NaN}'),
        ("gemini", '{"a": 1e999}'),
        ("gemini", '{"é": "\\ud800"}'),
        ("codex", "a = "),
        ("codex", 'mcp_servers = {other = {command = "x"}}\n'),
        ("codex", "mcp_servers = 3\n"),
        ("codex", '[mcp_servers.workspaced]\ncommand = "/old"\n'),
        ("codex", '[[mcp_servers]]\ncommand = "x"\n'),
    ],
    ids=repr,
)
def test_a_file_that_cannot_be_changed_without_loss_is_left_as_it_is(
    mcp: Command, home: Path, client: str, text: str
) -> None:
    path = written(home, client, text)
    before = path.read_bytes()
    code, out, err = mcp("--install", client)
    assert (code, out) == (2, "") and str(path) in err
    assert path.read_bytes() == before and not [name for name in beside(path) if name.startswith(path.name)]
    assert installed_command()[0] in err, "what to put in by hand"


def test_bytes_that_are_no_text_are_left_as_they_are(mcp: Command, home: Path) -> None:
    path = home / ".claude.json"
    path.write_bytes(b'{"a": "\xff"}')
    assert mcp("--install", "claude")[0] == 2
    assert path.read_bytes() == b'{"a": "\xff"}'


@pytest.mark.parametrize("text", ["", "\n", "{}"])
def test_an_empty_file_is_as_good_as_none(mcp: Command, home: Path, text: str) -> None:
    path = written(home, "cursor", text)
    assert mcp("--install", "cursor")[0] == 0
    assert entry("cursor", path.read_text())


def test_a_symlink_stays_one(mcp: Command, home: Path) -> None:
    true = home / "dotfiles" / "cursor.json"
    true.parent.mkdir()
    true.write_text("{}")
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(true)
    assert mcp("--install", "cursor")[0] == 0
    assert link.is_symlink() and entry("cursor", true.read_text())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(mcp: Command, home: Path) -> None:
    folder = home / ".cursor"
    folder.mkdir(mode=0o500)
    code, _out, err = mcp("--install", "cursor")
    assert code == 2 and str(folder) in err


def test_a_directory_in_the_files_place_is_named(mcp: Command, home: Path) -> None:
    (home / ".claude.json").mkdir()
    code, _out, err = mcp("--install", "claude")
    assert code == 2 and ".claude.json" in err


def test_a_file_that_changed_meanwhile_is_left_as_it_is(home: Path) -> None:
    path = written(home, "cursor", '{"a": 1}')
    change = client_config.plan("cursor", ["/x"])
    path.write_text('{"a": 2}')
    with pytest.raises(client_config.SettingsInvalid, match="changed"):
        client_config.write(change)
    assert path.read_text() == '{"a": 2}'
    assert beside(path) == []


def test_the_clients_own_variables_move_the_files(
    mcp: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "c"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "d"))
    assert mcp("--install", "codex")[0] == mcp("--install", "claude")[0] == 0
    assert (home / "c" / "config.toml").exists() and (home / "d" / ".claude.json").exists()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    whole=st.dictionaries(st.text(), json_values),
    servers=st.dictionaries(st.text(), st.dictionaries(st.text(), json_values)),
    indent=st.sampled_from([None, 0, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_whatever_else_a_json_file_holds_is_the_same_afterwards(
    home: Path, whole: dict[str, Any], servers: dict[str, Any], indent: "int | str | None", ascii_only: bool
) -> None:
    servers.pop("workspaced", None)
    before = {**whole, "mcpServers": servers}
    path = written(home, "cursor", "")
    path.write_bytes(json.dumps(before, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
    change = client_config.plan("cursor", ["/x", "mcp"])
    after = json.loads(change.after)
    assert after["mcpServers"].pop("workspaced") == {"command": "/x", "args": ["mcp"]}
    assert after == before
    assert list(after) == list(before)
