"""Files that commands write with `-o`: whole or not at all, and their owner's alone."""

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workspaced.terminal.output import write_lines
from workspaced_events.errors import InvalidArgument

COMMANDS = [("log", "export"), ("bundle",)]


@pytest.mark.parametrize("command", COMMANDS, ids="-".join)
def test_what_leaves_the_log_is_its_owners_alone(shared: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    output = tmp_path / "written"
    output.write_text("before")
    output.chmod(0o644)
    assert shared.cli(*command, "-o", str(output)).returncode == 0
    assert stat.S_IMODE(output.stat().st_mode) == 0o600 and output.read_bytes() != b"before"
    assert list(tmp_path.iterdir()) == [output]


def test_the_draft_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    output = tmp_path / ("n" * 255)  # as long as a name may be
    drafts: list[tuple[str, int]] = []

    def lines() -> Iterator[bytes]:
        (draft,) = tmp_path.iterdir()
        drafts.append((draft.name, stat.S_IMODE(draft.lstat().st_mode)))
        yield b"line\n"

    for umask in (0o000, 0o777):
        before = os.umask(umask)
        try:
            write_lines(lines(), output)
        finally:
            os.umask(before)
        assert stat.S_IMODE(output.stat().st_mode) == 0o600
        assert output.read_bytes() == b"line\n"
        output.unlink()
    (first, first_mode), (second, second_mode) = drafts
    assert first != second and (first_mode, second_mode) == (0o600, 0o600)


def test_a_draft_that_somebody_put_there_is_neither_followed_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: b"\0" * count)  # as if it were guessed
    victim, planted = tmp_path / "victim", tmp_path / f".workspaced-{'00' * 8}.tmp"
    victim.write_text("before")
    planted.symlink_to(victim)
    with pytest.raises(InvalidArgument, match="written"):
        write_lines(iter([b"line\n"]), tmp_path / "written")
    assert victim.read_text() == "before" and planted.is_symlink()


def test_an_export_into_a_pipe_writes_to_it_and_leaves_it_in_place(shared: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert shared.cli("log", "export", "-o", str(pipe)).returncode == 0
    reader.join(timeout=60)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert json.loads(read[0].splitlines()[0])["workspaced"] == "log"
