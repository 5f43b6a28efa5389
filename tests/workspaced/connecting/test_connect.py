"""`workspaced connect`: MCP entries and hooks in the settings of agents' programs, and out of them again."""

import json
import os
import shlex
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from support.program_settings import HOOK_PLACES, PLACES, all_files, entry_of

from workspaced.connecting import plans, settings_files
from workspaced.connecting.runtimes import RUNTIMES
from workspaced.errors import SettingsInvalid
from workspaced_events.interpreter import installed_command

from .conftest import Command, folder, write

PROGRAM = installed_command()[0]


def settings_of(home: Path, runtime: str) -> dict[str, Any]:
    """The file of a program's MCP entries, parsed."""
    text = (home / PLACES[runtime]).read_text()
    return tomllib.loads(text) if runtime == "codex" else dict(json.loads(text))


def hook_commands(home: Path, runtime: str) -> dict[str, list[str]]:
    """The commands of a program's hooks, by event."""
    events = json.loads((home / HOOK_PLACES[runtime]).read_text()).get("hooks", {})
    return {
        event: [hook["command"] for group in groups for hook in group.get("hooks", [group])]
        for event, groups in events.items()
    }


def line(runtime: str, vault: Path) -> str:
    return shlex.join([PROGRAM, "hook", runtime, "--vault", str(vault)])


# -- connecting --


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_folders_are_connected_once_each_and_disconnected_without_a_trace(
    connect: Command, home: Path, vault: Path, tmp_path: Path, runtime: str
) -> None:
    places = {str(home / PLACES[runtime]), str(home / HOOK_PLACES.get(runtime, PLACES[runtime]))}
    code, out, _err = connect(runtime, "--vault", vault, "--dry-run")
    assert code == 0 and all(f"+++ {place}" in out for place in places) and not all_files(home)
    code, out, err = connect(runtime, "--vault", vault)
    assert (code, out) == (0, "") and all(place in err for place in places) and PROGRAM in err
    entry = entry_of(runtime, settings_of(home, runtime), "workspaced-notes")
    assert (entry["command"], entry["args"]) == (PROGRAM, ["mcp", "--vault", str(vault)])
    alone = all_files(home)
    code, out, err = connect(runtime, "--vault", vault / ".." / "notes")
    assert (code, out) == (0, "") and "already" in err and all_files(home) == alone
    other = folder(tmp_path / "work")
    connect(runtime, "--vault", other)
    for name, path in (("workspaced-notes", vault), ("workspaced-work", other)):
        assert entry_of(runtime, settings_of(home, runtime), name)["args"][-1] == str(path)
    if runtime in HOOK_PLACES:
        both = [line(runtime, vault), line(runtime, other)]
        assert all(commands == both for commands in hook_commands(home, runtime).values())
    other.rmdir()
    assert connect(runtime, "--vault", other, "--remove")[0] == 0, "of a folder that is gone, too"
    assert all_files(home) == alone
    assert connect(runtime, "--remove")[0] == 0 and all_files(home) == {}, "a file that we made goes"
    assert connect(runtime, "--remove")[0] == 0, "nothing to remove is no error"


def grouped(command: str, timeout: int, **more: str) -> list[dict[str, Any]]:
    return [{**more, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}]


@pytest.mark.parametrize("runtime", HOOK_PLACES)
def test_hooks_run_at_each_prompt_and_after_a_compaction(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    _code, _out, err = connect(runtime, "--vault", vault)
    ours, whole = line(runtime, vault), json.loads((home / HOOK_PLACES[runtime]).read_text())
    by_prompt = {"SessionStart": grouped(ours, 2, matcher="compact"), "UserPromptSubmit": grouped(ours, 2)}
    ungrouped = [{"command": ours, "timeout": 2}]
    expected: dict[str, Any] = {
        "claude": by_prompt,
        "codex": by_prompt,
        "gemini": {"BeforeAgent": grouped(ours, 2000), "PreCompress": grouped(ours, 2000)},
        "cursor": {"postToolUse": ungrouped, "sessionStart": ungrouped},
    }
    assert whole["hooks"] == expected[runtime] and (whole.get("version") == 1) == (runtime == "cursor")
    assert ("/hooks" in err.replace("/hooks.json", "")) == (runtime == "codex"), "where its user trusts them"


def test_opencode_has_one_list(connect: Command, home: Path, vault: Path) -> None:
    connect("opencode", "--vault", vault)
    entry = {"type": "local", "command": [PROGRAM, "mcp", "--vault", str(vault)]}
    assert settings_of(home, "opencode") == {"mcp": {"workspaced-notes": entry}}


# -- names of entries --


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["Größe & Maß"], ["workspaced-groe-ma"]),
        (["ノート"], [None]),
        (["my_notes.v2"], ["workspaced-my-notes-v2"]),
        (["n" * 100], ["workspaced-" + "n" * 21]),
        (["notes", "Work Stuff/notes"], ["workspaced-notes", "workspaced-work-stuff-notes"]),
        ([f"{'n' * 40}{number}" for number in range(3)], [None] * 3),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_program_can_take_the_name_of_an_entry_and_names_never_run_out(
    connect: Command, home: Path, tmp_path: Path, folders: list[str], expected: list[str | None]
) -> None:
    for name in folders:
        connect("codex", "--vault", folder(tmp_path / "of" / name))
    found = list(settings_of(home, "codex")["mcp_servers"])
    assert len(found) == len(expected)
    for name, wanted in zip(found, expected, strict=True):
        assert name.isascii() and name.startswith("workspaced-") and len(name) <= 32 and wanted in (None, name)


@pytest.mark.parametrize("runtime", HOOK_PLACES)
def test_what_an_installation_elsewhere_wrote_is_brought_up_to_date_in_its_place(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    connect(runtime, "--vault", vault)
    for path in (home / PLACES[runtime], home / HOOK_PLACES[runtime]):
        path.write_text(path.read_text().replace(PROGRAM, "/gone/bin/workspaced"))
    connect(runtime, "--vault", vault)
    assert not any(b"/gone/bin" in text for text in all_files(home).values())
    assert entry_of(runtime, settings_of(home, runtime), "workspaced-notes")["command"] == PROGRAM
    assert all(commands == [line(runtime, vault)] for commands in hook_commands(home, runtime).values())


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def test_what_the_user_wrote_beside_our_command_keeps_its_bytes(connect: Command, home: Path, vault: Path) -> None:
    argv = json.dumps(["mcp", "--vault", str(vault)])
    theirs = '"patience": 1E400, "env": {"A": "\\u00e9\\ud800"}, "x": [1.50, 2E3]'
    entry = f'{{"command": "/old/workspaced", "args": {argv}, {theirs}}}'
    path = write(home / PLACES["claude"], f'{{"ä": 1, "mcpServers": {{"workspaced-notes": {entry}}}}}')
    assert connect("claude", "--vault", vault)[0] == 0
    assert theirs in path.read_text() and PROGRAM in path.read_text()
    json.loads(path.read_text(), parse_constant=no_constant)
    hooks = home / HOOK_PLACES["claude"]
    hooks.write_text(hooks.read_text().replace(str(vault), f"{vault} --timeout 1"))
    assert connect("claude", "--vault", vault)[0] == 0
    (ours,) = hook_commands(home, "claude")["UserPromptSubmit"]
    assert shlex.split(ours)[-2:] == ["--timeout", "1"], "a hook with a timeout of the user is ours"
    assert connect("claude", "--vault", vault, "--remove")[0] == 0
    assert "workspaced" not in path.read_text() and not hooks.exists()


# -- taking it back --

ODD = {
    "spread": '{\n    "model" : "opus",\n\n    "allow": ["a",   "b"],\n    "n": 1.10\n}\n',
    "one line": '{"model":"opus","allow":["a","b"]}',
    "tabs, CRLF": '{\r\n\t"allow": [\r\n\t\t"a"\r\n\t]\r\n}\r\n',
    "empty places": '{\n  "hooks": {},\n  "mcpServers": { }\n}',
    "empty lists": '{"version": 1, "hooks": {"UserPromptSubmit": [], "SessionStart": [{"hooks": []}]}}',
    "empty object": "{ }\n",
    "empty": "",
    "hooks of others": '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n',
    "unknown forms": '{"hooks": {"UserPromptSubmit": [null, 7, {"hooks": "x"}, {"hooks": [7]}], "O": 3}}',
}
TOML = {
    "plain": 'model = "o"  # chosen\n\n[mcp_servers.other]\ncommand = "x"\n',
    "no end": 'model = "o"',
    "CRLF": 'model = "o"\r\n\r\n\r\n',
    "comments only": "# mine\n",
}


@pytest.mark.parametrize("text", [*ODD.values(), *TOML.values()], ids=[*ODD, *TOML])
def test_removing_leaves_a_file_byte_for_byte_as_it_was(
    connect: Command, home: Path, vault: Path, text: str
) -> None:
    if text in ODD.values():
        for runtime in RUNTIMES.keys() - {"codex"}:
            write(home / PLACES[runtime], text.replace("mcpServers", RUNTIMES[runtime].servers.key))
        for place in HOOK_PLACES.values():
            write(home / place, text)
    else:
        write(home / PLACES["codex"], text)
    before = all_files(home)
    for runtime in RUNTIMES if text in ODD.values() else ("codex",):
        assert connect(runtime, "--vault", vault)[0] == 0
        assert all_files(home) != before
        assert connect(runtime, "--vault", vault, "--remove")[0] == 0
        assert all_files(home) == before, runtime


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_changed_meanwhile_stays_and_takes_no_trace_of_us_along(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    paths = {home / PLACES[runtime], home / HOOK_PLACES.get(runtime, PLACES[runtime])}
    for path in paths:
        write(path, 'a = "b"\n' if path.suffix == ".toml" else '{\n  "a": "b"\n}\n')
    connect(runtime, "--vault", vault)
    for path in paths:
        path.write_text(path.read_text().replace('"b"', '"changed"'))
    connect(runtime, "--remove")
    for path in paths:
        version = ',\n  "version": 1' if path.match(".cursor/hooks.json") else ""
        changed = f'{{\n  "a": "changed"{version}\n}}\n'
        assert path.read_text() == ('a = "changed"\n' if path.suffix == ".toml" else changed)


def test_hooks_that_others_added_and_comments_that_were_written_meanwhile_stay(
    connect: Command, home: Path, vault: Path
) -> None:
    path = write(home / ".claude/settings.json", '{"model": "opus"}\n')
    connect("claude", "--vault", vault)
    settings, mine = json.loads(path.read_text()), {"type": "command", "command": "mine"}
    settings["hooks"]["UserPromptSubmit"][0]["hooks"].append(mine)
    path.write_text(json.dumps(settings))
    connect("claude", "--remove")
    assert json.loads(path.read_text()) == {"model": "opus", "hooks": {"UserPromptSubmit": [{"hooks": [mine]}]}}

    path = write(home / PLACES["codex"], 'model = "o"\n')
    connect("codex", "--vault", vault)
    more = '[mcp_servers.workspaced-notes.env]\nA = "b"\n\n# theirs\n[tui]\nnotifications = true\n'
    path.write_text(path.read_text() + more)
    connect("codex", "--remove")
    assert path.read_text() == 'model = "o"\n\n# theirs\n[tui]\nnotifications = true\n'

    path = write(home / PLACES["zed"], '{\n  "theme": "One", // light\n}\n')
    connect("zed", "--vault", vault)
    for old, new in (("// light", "// dark"), ("},\n}", "},\n  // later: a font\n}")):
        path.write_text(path.read_text().replace(old, new))
    connect("zed", "--remove")
    assert path.read_text() == '{\n  "theme": "One", // dark\n  // later: a font\n}\n'
    path.write_text("// only this\n")
    connect("zed", "--vault", vault)
    path.write_text(path.read_text().replace("only this", "only that"))
    connect("zed", "--remove")
    assert path.read_text() == "// only that\n{}\n"


# -- refusals: no file is changed --


@pytest.mark.parametrize(
    "arguments",
    [
        ["claude"],
        ["emacs", "--vault", "."],
        ["claude", "--vault", "none"],
        ["claude", "--vault", "file"],
        ["claude", "--vault", os.fsdecode(b"v\xff")],
    ],
    ids=ascii,
)
def test_what_cannot_be_meant_is_usage(
    connect: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    os.mkdir(b"v\xff")
    code, out, err = connect(*arguments)
    assert (code, out) == (2, "") and err and all_files(home) == {}


HOSTILE = {
    "comment": '{"a": 1} // why',
    "final comma": '{"a": 1,}',
    "byte order mark": "\ufeff{}",
    "no UTF-8": '{"a": "\udcff"}',
    "no JSON": '{"a": NaN}',
    "list": "[]",
    "key twice": '{"hooks": {}, "hooks": {}}',
    "deep": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "hooks are a list": '{"hooks": []}',
    "an event is an object": '{"hooks": {"UserPromptSubmit": {}, "BeforeAgent": {}, "postToolUse": {}}}',
    "large": '{"a": "' + "x" * (16 << 20) + '"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_where_one_file_cannot_be_changed_without_loss_no_file_is(
    connect: Command, home: Path, vault: Path, text: str
) -> None:
    for runtime, place in HOOK_PLACES.items():
        if RUNTIMES[runtime].comments and text in (HOSTILE["comment"], HOSTILE["final comma"]):
            continue
        write(home / place, text)
        before = all_files(home)
        code, out, err = connect(runtime, "--vault", vault)
        assert (code, out) == (2, "") and str(home / place) in err
        assert all_files(home) == before
        if len(text) < 1 << 20 and text.isprintable():
            assert line(runtime, vault) in err, "what to put in by hand"


@pytest.mark.parametrize(
    ("runtime", "text"),
    [
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": 3}'),
        ("codex", "a = "),
        ("codex", 'mcp_servers = {other = {command = "x"}}\n'),
        ("codex", "mcp_servers = 3\n"),
        ("codex", '[[mcp_servers]]\ncommand = "x"\n'),
    ],
    ids=repr,
)
def test_nor_where_an_entry_cannot_be_put(
    connect: Command, home: Path, vault: Path, runtime: str, text: str
) -> None:
    path = write(home / PLACES[runtime], text)
    code, out, err = connect(runtime, "--vault", vault)
    assert (code, out) == (2, "") and str(path) in err and PROGRAM in err, "what to put in by hand"
    assert all_files(home) == {PLACES[runtime]: text.encode()}


not_for_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(Path.mkdir, id="a folder"),
        pytest.param(lambda path: path.symlink_to(path.name), id="a loop"),
        pytest.param(lambda path: write(path, "{}").chmod(0o444), id="read only"),
        pytest.param(lambda path: write(path, "{}").chmod(0), id="unreadable", marks=not_for_root),
        pytest.param(lambda path: path.parent.chmod(0o500), id="in a closed folder", marks=not_for_root),
    ],
)
def test_what_is_no_file_that_we_may_change_is_named(
    connect: Command, home: Path, vault: Path, make: Callable[[Path], Any]
) -> None:
    (home / ".cursor").mkdir()
    make(home / ".cursor/hooks.json")
    code, _out, err = connect("cursor", "--vault", vault)
    assert code == 2 and "hooks.json" in err and not (home / ".cursor/mcp.json").exists()


def test_symlinks_are_followed_and_modes_stay(connect: Command, home: Path, vault: Path) -> None:
    true = write(home / "dotfiles/hooks.json", "{}")
    true.chmod(0o640)
    (home / ".codex").mkdir()
    (home / ".codex/hooks.json").symlink_to(true)
    connect("codex", "--vault", vault)
    assert (home / ".codex/hooks.json").is_symlink() and "UserPromptSubmit" in true.read_text()
    assert stat.S_IMODE(true.stat().st_mode) == 0o640
    assert stat.S_IMODE((home / PLACES["codex"]).stat().st_mode) == 0o600
    connect("codex", "--remove")
    assert all_files(home) == {"dotfiles/hooks.json": b"{}", ".codex/hooks.json": b"{}"}


def test_a_file_that_another_program_changes_meanwhile_stops_the_whole(home: Path, vault: Path) -> None:
    write(home / ".cursor/mcp.json", "{}")
    write(home / ".cursor/hooks.json", "{}")
    changes = plans.plan_connection("cursor", str(vault))
    write(home / ".cursor/hooks.json", '{"a": 1}')
    with pytest.raises(SettingsInvalid, match="changed"):
        settings_files.write(changes)
    assert all_files(home) == {".cursor/mcp.json": b"{}", ".cursor/hooks.json": b'{"a": 1}'}


def no_space(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("fails", ["the second file's replacement", "the disk"])
def test_what_cannot_be_written_leaves_all_files_as_before(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool, fails: str
) -> None:
    if is_there:
        write(home / ".cursor/mcp.json", '{"a": 1}')
    before, replace = all_files(home), Path.replace

    def fails_for_hooks(draft: Path, target: Path) -> Path:
        if target.name == "hooks.json":
            no_space()
        return replace(draft, target)

    if fails == "the disk":
        monkeypatch.setattr(os, "fsync", no_space)
    else:
        monkeypatch.setattr(Path, "replace", fails_for_hooks)
    code, _out, err = connect("cursor", "--vault", vault)
    assert code == 2 and "No space left" in err and all_files(home) == before


class Died(BaseException):
    """Stands for the end of the process."""


def test_a_crash_leaves_no_backup_that_is_not_the_file_and_the_next_run_clears_away_what_it_left(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(home / PLACES["claude"], '{"theme": "dark"}')
    before, arguments = all_files(home), ("claude", "--vault", vault)

    def dies_unsynced(descriptor: int) -> None:
        os.ftruncate(descriptor, 5)  # what was not synced is lost
        raise Died

    def dies(*_: Any) -> None:
        raise Died

    for owner, name, end in ((os, "fsync", dies_unsynced), (Path, "replace", dies)):
        with monkeypatch.context() as patched, pytest.raises(Died):
            patched.setattr(owner, name, end)
            connect(*arguments)
        backups = [each.read_text() for each in path.parent.glob(f"{path.name}.before-workspaced*")]
        assert path.read_text() == '{"theme": "dark"}' and set(backups) <= {path.read_text()}
    assert connect(*arguments)[0] == 0
    assert connect("claude", "--vault", vault, "--remove")[0] == 0
    assert all_files(home) == before


# -- names of folders --


@pytest.mark.parametrize("name", ["a b", "it's", '\x7f\t"q\\é🎉', "$(x)"])
def test_settings_hold_any_name_of_a_folder_and_a_shell_gives_it_to_the_hook(
    connect: Command, home: Path, tmp_path: Path, name: str
) -> None:
    odd = folder(tmp_path / name)
    connect("cursor", "--vault", odd)
    (command,) = hook_commands(home, "cursor")["sessionStart"]
    assert shlex.split(command) == [PROGRAM, "hook", "cursor", "--vault", str(odd)]
    connect("codex", "--vault", odd)
    (entry,) = settings_of(home, "codex")["mcp_servers"].values()
    assert entry["args"][-1] == str(odd)
    for runtime in ("cursor", "codex"):
        connect(runtime, "--remove", "--vault", odd)
    assert all_files(home) == {}


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        ("gemini", "of $HOME"),
        ("gemini", "${HOME}"),
        ("claude", "${HOME}"),
        ("cursor", "${userHome}"),
        ("vscode", "${env:HOME}"),
        ("windsurf", "${env:HOME}"),
        ("opencode", "{env:HOME}"),
        ("opencode", "{file:x}"),
    ],
)
def test_a_folder_that_a_program_would_take_for_a_variable_needs_another_name(
    connect: Command, home: Path, tmp_path: Path, runtime: str, name: str
) -> None:
    vault = folder(tmp_path / name)
    assert connect(runtime, "--vault", vault)[0] == 2
    assert all_files(home) == {}
    (tmp_path / "plain").symlink_to(vault)
    assert connect(runtime, "--vault", tmp_path / "plain")[0] == 0
    assert all(name.encode() not in text for text in all_files(home).values())


def test_the_programs_own_variables_move_the_files(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, place in (("CODEX_HOME", "c"), ("CLAUDE_CONFIG_DIR", "d"), ("GEMINI_CLI_HOME", "g")):
        monkeypatch.setenv(name, str(home / place))
    for runtime in ("codex", "claude", "gemini"):
        connect(runtime, "--vault", vault)
    expected = {"c/config.toml", "c/hooks.json", "d/.claude.json", "d/settings.json", "g/.gemini/settings.json"}
    assert set(all_files(home)) == expected
