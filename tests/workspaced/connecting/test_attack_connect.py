"""`workspaced connect`, attacked: settings that are odd but good, and a crash in the middle."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from support.program_settings import HOOK_PLACES, PLACES, all_files

from workspaced.cli import run

Command = Callable[..., int]


@pytest.fixture
def connect(home: Path) -> Command:
    """Runs `workspaced connect ARGUMENTS`; returns the exit code."""
    return lambda *arguments: run(["connect", *map(str, arguments)])


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.mkdir()
    return path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def lines_of(home: Path, runtime: str, event: str) -> list[str]:
    """The command lines of the hooks at an event."""
    groups = json.loads((home / HOOK_PLACES[runtime]).read_text())["hooks"].get(event, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def entry_of_before(vault: Path, more: str) -> str:
    """Settings with an entry that an installation elsewhere wrote, to which the user has added `more`."""
    argv = json.dumps(["mcp", "--vault", str(vault)])
    return f'{{"mcpServers": {{"workspaced-notes": {{"command": "/old/workspaced", "args": {argv}, {more}}}}}}}'


@pytest.mark.parametrize(
    ("runtime", "text"),
    [
        ("claude", '{"hooks": {"UserPromptSubmit": []}}'),
        ("claude", '{"hooks": {"UserPromptSubmit": [{"hooks": []}], "SessionStart": []}}'),
        ("codex", '{"hooks": {"UserPromptSubmit": []}}'),
        ("cursor", '{"version": 1, "hooks": {"sessionStart": []}}'),
    ],
)
def test_removing_gives_back_lists_that_were_empty(
    connect: Command, home: Path, vault: Path, runtime: str, text: str
) -> None:
    write(home / HOOK_PLACES[runtime], text)
    before = all_files(home)
    assert connect(runtime, "--vault", vault, "--only", "hook") == 0
    assert connect(runtime, "--vault", vault, "--remove") == 0
    assert all_files(home) == before


def test_a_hook_that_the_user_gave_a_timeout_is_ours(connect: Command, home: Path, vault: Path) -> None:
    assert connect("claude", "--vault", vault, "--only", "hook") == 0
    path = home / HOOK_PLACES["claude"]
    path.write_text(path.read_text().replace(str(vault), f"{vault} --timeout 1"))
    assert connect("claude", "--vault", vault, "--only", "hook") == 0
    (line,) = lines_of(home, "claude", "UserPromptSubmit")
    assert shlex.split(line)[-2:] == ["--timeout", "1"], "and stays as the user has it"
    assert connect("claude", "--vault", vault, "--remove") == 0
    assert "workspaced" not in "".join(text.decode() for text in all_files(home).values())


def test_a_folder_has_one_entry_under_any_name(connect: Command, home: Path, vault: Path) -> None:
    assert connect("claude", "--vault", vault, "--only", "mcp") == 0
    before = all_files(home)
    assert connect("claude", "--vault", vault, "--only", "mcp", "--name", "mine") == 2
    assert all_files(home) == before
    assert connect("claude", "--vault", vault, "--only", "mcp", "--name", "workspaced-notes") == 0
    assert len(json.loads((home / PLACES["claude"]).read_text())["mcpServers"]) == 1


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def test_a_number_of_the_user_is_still_json(connect: Command, home: Path, vault: Path) -> None:
    path = write(home / PLACES["claude"], entry_of_before(vault, '"patience": 1E400'))
    connect("claude", "--vault", vault, "--only", "mcp")
    json.loads(path.read_text(), parse_constant=no_constant)


def test_what_the_user_wrote_beside_our_command_keeps_its_bytes(connect: Command, home: Path, vault: Path) -> None:
    path = write(home / PLACES["claude"], entry_of_before(vault, '"env": {"A": "\\u00e9"}, "x": [1.50, 2E3]'))
    assert connect("claude", "--vault", vault, "--only", "mcp") == 0
    assert '"x": [1.50, 2E3]' in path.read_text() and '"\\u00e9"' in path.read_text()


def test_half_a_character_in_settings_leaves_no_files_behind(connect: Command, home: Path, vault: Path) -> None:
    text = entry_of_before(vault, '"env": {"A": "\\ud800"}').replace("{", '{"ä": 1, ', 1)
    write(home / PLACES["claude"], text)
    before = all_files(home)
    if connect("claude", "--vault", vault, "--only", "mcp") != 0:
        assert all_files(home) == before


def test_a_full_disk_leaves_no_files_behind(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / PLACES["gemini"], '{"theme": "dark"}')
    before = all_files(home)

    def fails(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    assert connect("gemini", "--vault", vault) == 2
    assert all_files(home) == before


class Died(BaseException):
    """Stands for the end of the process."""


def test_a_crash_leaves_no_backup_that_is_not_the_file(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"theme": "dark"}'
    path = write(home / PLACES["claude"], text)

    def dies(descriptor: int) -> None:
        os.ftruncate(descriptor, 5)  # what was not synced is lost
        raise Died

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr(os, "fsync", dies)
        connect("claude", "--vault", vault, "--only", "mcp")
    assert path.read_text() == text
    backups = path.parent.glob(f"{path.name}.before-workspaced*")
    assert [each.read_text() for each in backups] in ([], [text])


def test_the_next_run_clears_away_what_a_crash_left(
    connect: Command, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / PLACES["claude"], '{"theme": "dark"}')
    before = all_files(home)

    def dies(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr(Path, "replace", dies)
        connect("claude", "--vault", vault, "--only", "mcp")
    assert connect("claude", "--vault", vault, "--only", "mcp") == 0
    assert connect("claude", "--vault", vault, "--remove") == 0
    assert all_files(home) == before


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
    vault = tmp_path / name
    vault.mkdir()
    assert connect(runtime, "--vault", vault) == 2
    assert run(["mcp", "--install", runtime, "--vault", str(vault)]) == 2
    assert run(["mcp", "--print-config", runtime, "--vault", str(vault)]) == 2
    assert all_files(home) == {}
    link = tmp_path / "plain"
    link.symlink_to(vault)
    assert connect(runtime, "--vault", link) == 0
    assert all(name.encode() not in text for text in all_files(home).values())


@pytest.mark.parametrize(("runtime", "name"), [("codex", "${HOME}"), ("claude", "$HOME"), ("zed", "$HOME")])
def test_what_a_program_takes_as_it_stands_is_connected(
    connect: Command, home: Path, tmp_path: Path, runtime: str, name: str
) -> None:
    vault = tmp_path / name
    vault.mkdir()
    assert connect(runtime, "--vault", vault, "--only", "mcp") == 0
