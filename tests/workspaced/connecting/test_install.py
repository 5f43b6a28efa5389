"""Telling agents' runtimes of the bridge: snippets, and merging them into files that are not ours."""

import json
import os
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.program_settings import PLACES, entry_of

from workspaced.bridge.target import Target
from workspaced.cli import run
from workspaced.connecting import plans, settings_files
from workspaced.connecting.runtimes import RUNTIMES
from workspaced.errors import SettingsInvalid
from workspaced_events.interpreter import installed_command

JSON_CLIENTS = [name for name, each in RUNTIMES.items() if each.servers.syntax == "json"]
OTHERS = {
    "json": '{\n    "hue": "gr\\u00fcn",\n    "KEY": {"other": {"command": "x", "args": []}},\n    "n": 1.5\n}\n',
    "toml": 'model = "o"  # chosen\n\n[mcp_servers.other]\ncommand = "x"\n',
}

Command = Callable[..., tuple[int, str, str]]


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
    config = RUNTIMES[client].servers
    return OTHERS[config.syntax].replace("KEY", config.key)


def written(home: Path, client: str, text: str) -> Path:
    path = home / PLACES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parsed(client: str, text: str) -> dict[str, Any]:
    return tomllib.loads(text) if RUNTIMES[client].servers.syntax == "toml" else dict(json.loads(text))


def entry(client: str, text: str) -> dict[str, Any]:
    return entry_of(client, parsed(client, text), "workspaced")


def beside(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if each != path and each.is_file())


# -- the snippet --


@pytest.mark.parametrize("client", RUNTIMES)
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
        [found["command"], *found["args"]], input=request, capture_output=True, timeout=60, cwd="/", env={}
    )
    assert done.returncode == 0 and json.loads(done.stdout)["id"] == 7


def test_toml_can_say_every_path() -> None:
    command = ["/bin/\x7f\t\"'\\é🎉", "mcp"]
    assert entry("codex", plans.entry_text("codex", "workspaced", command))["command"] == command[0]


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


@pytest.mark.parametrize("client", RUNTIMES)
def test_where_there_is_no_file_one_is_made(mcp: Command, home: Path, client: str) -> None:
    code, out, err = mcp("--install", client, "--vault", "/notes")
    path = home / PLACES[client]
    assert (code, out) == (0, "") and str(path) in err
    assert entry(client, path.read_text())["args"][-3:] == ["mcp", "--vault", "/notes"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [name for name in beside(path) if name.startswith(path.name)]


@pytest.mark.parametrize("client", RUNTIMES)
def test_what_was_in_the_file_stays_and_a_backup_is_kept(mcp: Command, home: Path, client: str) -> None:
    before = other_settings(client)
    path = written(home, client, before)
    path.chmod(0o640)
    code, _out, err = mcp("--install", client)
    assert code == 0
    after = parsed(client, path.read_text())
    del after[RUNTIMES[client].servers.key]["workspaced"]
    assert after == parsed(client, before)
    backup = path.with_name(path.name + ".before-workspaced")
    assert backup.read_text() == before and str(backup) in err and beside(path) == [backup.name]
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o640
    if RUNTIMES[client].servers.syntax == "toml":
        assert path.read_text().startswith(before), "comments too"


@pytest.mark.parametrize("client", RUNTIMES)
def test_installing_again_changes_nothing(mcp: Command, home: Path, client: str) -> None:
    path = written(home, client, other_settings(client))
    mcp("--install", client)
    text, names = path.read_text(), beside(path)
    code, out, err = mcp("--install", client)
    assert (code, out) == (0, "") and "already" in err
    assert path.read_text() == text and beside(path) == names


@pytest.mark.parametrize("client", RUNTIMES)
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
    key = RUNTIMES[client].servers.key
    path = written(home, client, json.dumps({key: {"workspaced": {"command": "/old", "env": {"A": "b"}}}}))
    assert mcp("--install", client)[0] == 0
    assert entry(client, path.read_text())["command"] == installed_command()[0]
    assert entry(client, path.read_text())["env"] == {"A": "b"}
    backup = path.with_name(path.name + ".before-workspaced")
    assert "/old" in backup.read_text() and beside(path) == [backup.name]
    assert mcp("--install", client, "--vault", "/n")[0] == 0
    assert beside(path) == [backup.name], "the file before us is kept once"


@pytest.mark.parametrize(
    ("client", "text"),
    [
        *((client, text) for client in JSON_CLIENTS for text in ("{", "\ufeff{}", "[]", "nonsense")),
        *(
            (client, text)
            for client in JSON_CLIENTS
            if not RUNTIMES[client].comments
            for text in ('{"a": 1} // why', '{"a": 1,}')
        ),
        ("vscode", '{"servers": {}, "servers": {}}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"workspaced": "x"}}'),
        ("gemini", '{"a": NaN}'),
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


@pytest.mark.parametrize("value", ["1e999", '"\\ud800"', "1.10", '"\\u00e9"'])
def test_what_we_could_not_write_the_same_keeps_its_bytes(mcp: Command, home: Path, value: str) -> None:
    path = written(home, "gemini", f'{{"é": {value}}}')
    assert mcp("--install", "gemini")[0] == 0
    assert path.read_text().startswith(f'{{"é": {value}, "mcpServers"')


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
    change = plans.plan_entry("cursor", Target())
    path.write_text('{"a": 2}')
    with pytest.raises(SettingsInvalid, match="changed"):
        settings_files.write(change)
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


@settings(max_examples=examples(60))
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
    (change,) = plans.plan_entry("cursor", Target())
    assert change.after is not None
    after = json.loads(change.after)
    assert after["mcpServers"].pop("workspaced") == {"command": installed_command()[0], "args": ["mcp"]}
    assert after == before
    assert list(after) == list(before)
