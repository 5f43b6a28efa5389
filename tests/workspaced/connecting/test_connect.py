"""`workspaced connect`: MCP entries and hooks in the settings of agents' programs, and out of them again."""

import json
import os
import shlex
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.program_settings import HOOK_PLACES, PLACES, all_files, entry_of

from workspaced.cli import run
from workspaced.connecting import plans, settings_files
from workspaced.connecting.runtimes import RUNTIMES
from workspaced.errors import SettingsInvalid
from workspaced_events.interpreter import installed_command

PROGRAM = installed_command()[0]
TIMEOUTS = {"claude": 2, "codex": 2, "gemini": 2000, "cursor": 2}
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def connect(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `workspaced connect ARGUMENTS`: exit code, stdout, stderr."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        code = run(["connect", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return folder(tmp_path / "notes")


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


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
def test_the_entry_is_named_after_the_folder_and_runs_the_bridge_for_it(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    code, out, err = connect(runtime, "--vault", vault)
    assert (code, out) == (0, "") and str(home / PLACES[runtime]) in err and PROGRAM in err
    entry = entry_of(runtime, settings_of(home, runtime), "workspaced-notes")
    assert (entry["command"], entry["args"]) == (PROGRAM, ["mcp", "--vault", str(vault)])


def test_opencode_gets_one_list_and_no_arguments_beside(connect: Command, home: Path, vault: Path) -> None:
    connect("opencode", "--vault", vault)
    command = [PROGRAM, "mcp", "--vault", str(vault)]
    entry = {"type": "local", "command": command}
    assert settings_of(home, "opencode") == {"mcp": {"workspaced-notes": entry}}


@pytest.mark.parametrize(
    "text", ['{"mcp": {"servers": {}}}', '{"mcp": {"timeout": 5, "servers": {"x": {"type": "y"}}}}']
)
def test_opencode_of_version_2_has_its_servers_one_key_deeper(
    connect: Command, home: Path, vault: Path, text: str
) -> None:
    path = write(home / PLACES["opencode"], text)
    connect("opencode", "--vault", vault)
    assert "workspaced-notes" in settings_of(home, "opencode")["mcp"]["servers"]
    assert "already" in connect("opencode", "--vault", vault)[2]
    connect("opencode", "--remove")
    assert path.read_text() == text


def test_a_server_of_opencode_that_is_called_servers_is_one(connect: Command, home: Path, vault: Path) -> None:
    write(home / PLACES["opencode"], '{"mcp": {"servers": {"type": "local", "command": ["x"]}}}')
    connect("opencode", "--vault", vault)
    assert list(settings_of(home, "opencode")["mcp"]) == ["servers", "workspaced-notes"]


@pytest.mark.parametrize("runtime", ["claude", "codex"])
def test_hooks_run_at_each_prompt_and_after_a_compaction(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    _code, _out, err = connect(runtime, "--vault", vault)
    hook = {"type": "command", "command": line(runtime, vault), "timeout": 2}
    assert json.loads((home / HOOK_PLACES[runtime]).read_text()) == {
        "hooks": {
            "SessionStart": [{"matcher": "compact", "hooks": [hook]}],
            "UserPromptSubmit": [{"hooks": [hook]}],
        }
    }
    assert ("/hooks" in err) == (runtime == "codex")


def test_gemini_counts_in_milliseconds_and_keeps_both_parts_in_one_file(
    connect: Command, home: Path, vault: Path
) -> None:
    connect("gemini", "--vault", vault)
    hook = {"type": "command", "command": line("gemini", vault), "timeout": 2000}
    settings = settings_of(home, "gemini")
    assert settings["hooks"] == {"BeforeAgent": [{"hooks": [hook]}], "PreCompress": [{"hooks": [hook]}]}
    assert list(settings["mcpServers"]) == ["workspaced-notes"]


def test_cursor_has_hooks_without_groups_in_a_versioned_file(connect: Command, home: Path, vault: Path) -> None:
    connect("cursor", "--vault", vault)
    hook = {"command": line("cursor", vault), "timeout": 2}
    assert json.loads((home / ".cursor/hooks.json").read_text()) == {
        "version": 1,
        "hooks": {"postToolUse": [hook], "sessionStart": [hook]},
    }


@pytest.mark.parametrize("runtime", HOOK_PLACES)
@pytest.mark.parametrize("part", ["mcp", "hook"])
def test_one_part_can_be_had_alone(connect: Command, home: Path, vault: Path, runtime: str, part: str) -> None:
    assert connect(runtime, "--vault", vault, "--only", part)[0] == 0
    (text,) = all_files(home).values()
    assert (b"mcp" in text and b"hooks" not in text) if part == "mcp" else b"mcp" not in text


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_connecting_again_changes_nothing(connect: Command, home: Path, vault: Path, runtime: str) -> None:
    connect(runtime, "--vault", vault)
    before = all_files(home)
    code, out, err = connect(runtime, "--vault", vault / ".." / "notes")
    assert (code, out) == (0, "") and "already" in err
    assert all_files(home) == before


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_dry_run_shows_everything_and_writes_nothing(
    connect: Command, home: Path, vault: Path, runtime: str
) -> None:
    code, out, _err = connect(runtime, "--vault", vault, "--dry-run")
    assert code == 0 and f"+++ {home / PLACES[runtime]}" in out and not all_files(home)
    if runtime in HOOK_PLACES:
        assert f"+++ {home / HOOK_PLACES[runtime]}" in out


def test_json_tells_what_was_written_and_where_the_former_file_is(
    connect: Command, home: Path, vault: Path
) -> None:
    path = write(home / ".claude/settings.json", '{"model": "opus"}\n')
    _code, out, err = connect("claude", "--vault", vault, "--json")
    servers, hooks = json.loads(out)["files"]
    assert err == "" and servers["written"] and servers["backup"] is None
    assert hooks["path"] == str(path) and "+" in hooks["difference"]
    assert Path(hooks["backup"]).read_text() == '{"model": "opus"}\n'


# -- several folders --


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_second_folder_does_not_replace_the_first(
    connect: Command, home: Path, vault: Path, tmp_path: Path, runtime: str
) -> None:
    other = folder(tmp_path / "work")
    connect(runtime, "--vault", vault)
    connect(runtime, "--vault", other)
    settings = settings_of(home, runtime)
    for name, path in (("workspaced-notes", vault), ("workspaced-work", other)):
        assert entry_of(runtime, settings, name)["args"][-1] == str(path)
    if runtime in HOOK_PLACES:
        both = [line(runtime, vault), line(runtime, other)]
        assert all(commands == both for commands in hook_commands(home, runtime).values())


def test_two_folders_of_one_name_have_entries_of_two_names(
    connect: Command, home: Path, vault: Path, tmp_path: Path
) -> None:
    other = folder(tmp_path / "Work Stuff" / "notes")
    connect("zed", "--vault", vault)
    connect("zed", "--vault", other)
    assert set(settings_of(home, "zed")["context_servers"]) == {"workspaced-notes", "workspaced-work-stuff-notes"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Größe & Maß", "workspaced-groe-ma"),
        ("ノート", None),
        ("my_notes.v2", "workspaced-my-notes-v2"),
        ("n" * 100, "workspaced-" + "n" * 21),
    ],
)
def test_every_program_can_take_the_name_of_an_entry(
    connect: Command, home: Path, tmp_path: Path, name: str, expected: str | None
) -> None:
    connect("codex", "--vault", folder(tmp_path / name))
    (found,) = settings_of(home, "codex")["mcp_servers"]
    assert found.isascii() and found.startswith("workspaced-") and len(found) <= 32
    assert expected in (None, found)


def test_names_never_run_out(connect: Command, home: Path, tmp_path: Path) -> None:
    long = [folder(tmp_path / ("n" * 40 + str(number))) for number in range(3)]
    for each in long:
        connect("cursor", "--only", "mcp", "--vault", each)
    assert len(settings_of(home, "cursor")["mcpServers"]) == 3


def test_an_entry_of_the_former_name_for_the_folder_is_kept(connect: Command, home: Path, vault: Path) -> None:
    run(["mcp", "--install", "codex", "--vault", str(vault), "--tools", "core"])
    before = (home / PLACES["codex"]).read_bytes()
    assert connect("codex", "--vault", vault, "--only", "mcp")[0] == 0
    assert (home / PLACES["codex"]).read_bytes() == before


def test_mcp_install_does_not_replace_the_entry_of_another_folder(
    connect: Command, home: Path, vault: Path, tmp_path: Path
) -> None:
    other = folder(tmp_path / "work")
    for each in (vault, other, vault):
        run(["mcp", "--install", "claude", "--vault", str(each)])
    servers = settings_of(home, "claude")["mcpServers"]
    assert {name: entry["args"][-1] for name, entry in servers.items()} == {
        "workspaced": str(vault),
        "workspaced-work": str(other),
    }


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


def test_a_name_can_be_given_but_not_taken_from_another(
    connect: Command, home: Path, vault: Path, tmp_path: Path
) -> None:
    write(home / PLACES["cursor"], '{"mcpServers": {"theirs": {"command": "x"}}}')
    other = folder(tmp_path / "work")
    assert connect("cursor", "--vault", vault, "--only", "mcp", "--name", "mine")[0] == 0
    before = all_files(home)
    for name in ("mine", "theirs"):
        code, _out, err = connect("cursor", "--vault", other, "--name", name)
        assert code == 2 and name in err
    for name in ("", "a b", "x" * 33, "é"):
        assert connect("cursor", "--vault", other, "--name", name)[0] == 2
    assert all_files(home) == before


# -- taking it back --

ODD = {
    "spread": '{\n    "model" : "opus",\n\n    "allow": ["a",   "b"],\n    "n": 1.10\n}\n',
    "one line": '{"model":"opus","allow":["a","b"]}',
    "tabs, CRLF": '{\r\n\t"allow": [\r\n\t\t"a"\r\n\t]\r\n}\r\n',
    "empty places": '{\n  "hooks": {},\n  "mcpServers": { }\n}',
    "empty object": "{ }\n",
    "empty": "",
    "hooks of others": '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n',
}
TOML = {
    "plain": 'model = "o"  # chosen\n\n[mcp_servers.other]\ncommand = "x"\n',
    "no end": 'model = "o"',
    "CRLF": 'model = "o"\r\n\r\n\r\n',
    "comments only": "# mine\n",
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_removing_leaves_a_file_byte_for_byte_as_it_was(
    connect: Command, home: Path, vault: Path, runtime: str, text: str
) -> None:
    if runtime != "codex":
        write(home / PLACES[runtime], text.replace("mcpServers", RUNTIMES[runtime].servers.key))
    if runtime in HOOK_PLACES:
        write(home / HOOK_PLACES[runtime], text)
    before = all_files(home)
    connect(runtime, "--vault", vault)
    assert all_files(home) != before
    assert connect(runtime, "--vault", vault, "--remove")[0] == 0
    assert all_files(home) == before


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_removing_leaves_a_toml_file_byte_for_byte_as_it_was(
    connect: Command, home: Path, vault: Path, text: str
) -> None:
    write(home / PLACES["codex"], text)
    connect("codex", "--vault", vault)
    assert connect("codex", "--vault", vault, "--remove")[0] == 0
    assert all_files(home) == {PLACES["codex"]: text.encode()}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_file_that_we_made_goes(connect: Command, home: Path, vault: Path, tmp_path: Path, runtime: str) -> None:
    connect(runtime, "--vault", vault)
    connect(runtime, "--vault", folder(tmp_path / "work"))
    assert connect(runtime, "--remove")[0] == 0
    assert all_files(home) == {}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_removing_one_folder_leaves_the_other(
    connect: Command, home: Path, vault: Path, tmp_path: Path, runtime: str
) -> None:
    other = folder(tmp_path / "work")
    connect(runtime, "--vault", other)
    expected = all_files(home)
    connect(runtime, "--vault", vault)
    vault.rmdir()
    assert connect(runtime, "--vault", vault, "--remove")[0] == 0, "of a folder that is gone, too"
    assert all_files(home) == expected


def test_what_changed_meanwhile_stays_when_we_go(connect: Command, home: Path, vault: Path) -> None:
    path = write(home / ".claude/settings.json", '{"model": "opus"}\n')
    connect("claude", "--vault", vault, "--only", "hook")
    settings = json.loads(path.read_text())
    settings["hooks"]["UserPromptSubmit"][0]["hooks"].append({"type": "command", "command": "mine"})
    settings["hooks"]["Stop"] = []
    path.write_text(json.dumps(settings))
    connect("claude", "--remove")
    assert json.loads(path.read_text()) == {
        "model": "opus",
        "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}], "Stop": []},
    }


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_changed_meanwhile_takes_no_trace_of_us_along(
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


def test_comments_and_tables_behind_ours_stay_in_toml(connect: Command, home: Path, vault: Path) -> None:
    path = write(home / PLACES["codex"], 'model = "o"\n')
    connect("codex", "--vault", vault, "--only", "mcp")
    path.write_text(
        path.read_text() + '[mcp_servers.workspaced-notes.env]\nA = "b"\n\n# theirs\n[tui]\nnotifications = true\n'
    )
    connect("codex", "--remove")
    assert path.read_text() == 'model = "o"\n\n# theirs\n[tui]\nnotifications = true\n'


def test_comments_that_were_written_meanwhile_stay(connect: Command, home: Path, vault: Path) -> None:
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


def test_a_name_takes_out_that_entry_alone(connect: Command, home: Path, vault: Path, tmp_path: Path) -> None:
    for each in (vault, folder(tmp_path / "work")):
        connect("cursor", "--vault", each)
    hooks = (home / ".cursor/hooks.json").read_bytes()
    assert connect("cursor", "--remove", "--name", "workspaced-work")[0] == 0
    assert list(settings_of(home, "cursor")["mcpServers"]) == ["workspaced-notes"]
    assert (home / ".cursor/hooks.json").read_bytes() == hooks


def test_nothing_to_remove_is_no_error_and_no_file(connect: Command, home: Path) -> None:
    assert [connect(runtime, "--remove")[0] for runtime in RUNTIMES] == [0] * len(RUNTIMES)
    assert all_files(home) == {}


# -- refusals --


@pytest.mark.parametrize(
    "arguments",
    [
        ["claude"],
        ["emacs", "--vault", "."],
        ["claude", "--vault", ".", "--only", "mcp,bread"],
        ["zed", "--vault", ".", "--only", "hook"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_usage(connect: Command, arguments: list[str]) -> None:
    assert connect(*arguments)[0] == 2


def test_a_folder_that_is_not_there_is_refused(connect: Command, home: Path, vault: Path) -> None:
    file = write(vault / "a.md", "a")
    for path in (vault / "gone", file):
        code, out, err = connect("claude", "--vault", path)
        assert (code, out) == (2, "") and str(path) in err
    assert all_files(home) == {}


HOSTILE = {
    "comment": '{"a": 1} // why',
    "final comma": '{"a": 1,}',
    "byte order mark": "\ufeff{}",
    "list": "[]",
    "key twice": '{"hooks": {}, "hooks": {}}',
    "deep": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "hooks are a list": '{"hooks": []}',
    "an event is an object": '{"hooks": {"UserPromptSubmit": {}, "BeforeAgent": {}, "postToolUse": {}}}',
    "large": '{"a": "' + "x" * (16 << 20) + '"}',
}


@pytest.mark.parametrize("runtime", HOOK_PLACES)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_where_one_file_cannot_be_changed_no_file_is(
    connect: Command, home: Path, vault: Path, runtime: str, text: str
) -> None:
    if RUNTIMES[runtime].comments and text in (HOSTILE["comment"], HOSTILE["final comma"]):
        return
    write(home / HOOK_PLACES[runtime], text)
    before = all_files(home)
    code, out, err = connect(runtime, "--vault", vault)
    assert (code, out) == (2, "") and str(home / HOOK_PLACES[runtime]) in err
    assert all_files(home) == before
    if len(text) < 1 << 20:
        assert line(runtime, vault) in err, "what to put in by hand"


@pytest.mark.parametrize("group", ["null", "7", '{"hooks": "x"}', '{"hooks": [null, 7, {"command": ["x"]}]}'])
def test_hooks_in_forms_that_we_do_not_know_stay(connect: Command, home: Path, vault: Path, group: str) -> None:
    text = f'{{"hooks": {{"UserPromptSubmit": [{group}], "Other": 3}}}}'
    path = write(home / ".claude/settings.json", text)
    assert connect("claude", "--vault", vault)[0] == 0
    assert json.loads(path.read_text())["hooks"]["UserPromptSubmit"][0] == json.loads(group)
    connect("claude", "--remove")
    assert path.read_text() == text


@pytest.mark.thorough
def test_a_file_of_ten_megabytes_is_changed_in_place(connect: Command, home: Path, vault: Path) -> None:
    text = json.dumps({f"key {number}": "x" * 90 for number in range(100_000)}, indent=2)
    path = write(home / ".claude.json", text)
    _code, _out, err = connect("claude", "--vault", vault, "--only", "mcp")
    assert path.read_text().startswith(text[:-2]) and err.count("\n") < 30
    connect("claude", "--remove")
    assert path.read_text() == text


def test_a_pipe_in_the_place_of_a_file_does_not_make_us_wait(connect: Command, home: Path, vault: Path) -> None:
    (home / ".cursor").mkdir()
    os.mkfifo(home / ".cursor/hooks.json")
    code, _out, err = connect("cursor", "--vault", vault)
    assert code == 2 and "no regular file" in err and all_files(home) == {}


def test_a_read_only_file_is_left_as_it_is(connect: Command, home: Path, vault: Path) -> None:
    write(home / ".codex/hooks.json", "{}").chmod(0o444)
    code, _out, err = connect("codex", "--vault", vault)
    assert code == 2 and "read-only" in err
    assert all_files(home) == {".codex/hooks.json": b"{}"}


def test_symlinks_are_followed_and_modes_stay(connect: Command, home: Path, vault: Path) -> None:
    true = write(home / "dotfiles/hooks.json", "{}")
    true.chmod(0o640)
    (home / ".codex").mkdir()
    (home / ".codex/hooks.json").symlink_to(true)
    connect("codex", "--vault", vault)
    assert (home / ".codex/hooks.json").is_symlink() and "UserPromptSubmit" in true.read_text()
    assert stat.S_IMODE(true.stat().st_mode) == 0o640
    connect("codex", "--remove")
    assert all_files(home) == {"dotfiles/hooks.json": b"{}", ".codex/hooks.json": b"{}"}


def test_a_loop_of_symlinks_is_named(connect: Command, home: Path, vault: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to("mcp.json")
    code, _out, err = connect("cursor", "--vault", vault)
    assert code == 2 and "mcp.json" in err


def test_a_file_that_another_program_changes_meanwhile_stops_the_whole(home: Path, vault: Path) -> None:
    write(home / ".cursor/mcp.json", "{}")
    write(home / ".cursor/hooks.json", "{}")
    changes = plans.plan_connection("cursor", str(vault))
    write(home / ".cursor/hooks.json", '{"a": 1}')
    with pytest.raises(SettingsInvalid, match="changed"):
        settings_files.write(changes)
    assert all_files(home) == {".cursor/mcp.json": b"{}", ".cursor/hooks.json": b'{"a": 1}'}


@pytest.mark.parametrize("is_there", [True, False])
def test_where_the_second_file_cannot_be_replaced_the_first_is_as_before(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    if is_there:
        write(home / ".cursor/mcp.json", '{"a": 1}')
    before = all_files(home)
    replace = Path.replace

    def fails_for_hooks(draft: Path, target: Path) -> Path:
        if target.name == "hooks.json":
            raise OSError(28, "No space left on device", str(target))
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", fails_for_hooks)
    with pytest.raises(SettingsInvalid, match="No space left"):
        settings_files.write(plans.plan_connection("cursor", str(vault)))
    assert all_files(home) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_we_may_not_read_is_named(connect: Command, home: Path, vault: Path) -> None:
    write(home / ".codex/hooks.json", "{}").chmod(0)
    code, _out, err = connect("codex", "--vault", vault)
    assert code == 2 and "hooks.json" in err and not (home / ".codex/config.toml").exists()


def test_a_path_that_is_not_utf8_is_refused(connect: Command, home: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/v\xff"
    os.mkdir(odd)
    assert connect("codex", "--vault", os.fsdecode(odd))[:2] == (2, "")
    assert all_files(home) == {}


@pytest.mark.parametrize("name", ["a b", "it's", '"q"', "$(x)", "ü"])
def test_a_shell_gives_the_hook_the_folder_whatever_its_name(
    connect: Command, home: Path, tmp_path: Path, name: str
) -> None:
    odd = folder(tmp_path / name)
    connect("cursor", "--vault", odd)
    (command,) = hook_commands(home, "cursor")["sessionStart"]
    assert shlex.split(command) == [PROGRAM, "hook", "cursor", "--vault", str(odd)]
    connect("cursor", "--remove", "--vault", odd)
    assert all_files(home) == {}


def test_the_programs_own_variables_move_the_files(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "c"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "d"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "g"))
    for runtime in ("codex", "claude", "gemini"):
        connect(runtime, "--vault", vault)
    expected = {"c/config.toml", "c/hooks.json", "d/.claude.json", "d/settings.json", "g/.gemini/settings.json"}
    assert set(all_files(home)) == expected


def test_control_characters_of_a_file_do_not_reach_the_terminal(connect: Command, home: Path, vault: Path) -> None:
    write(home / ".cursor/mcp.json", '{\n  "a": "\x7f\u009b31m"\n}\n')
    _code, _out, err = connect("cursor", "--vault", vault)
    assert "\x7f" not in err and "\u009b" not in err
