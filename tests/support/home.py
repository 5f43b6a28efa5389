"""A home with programs of agents on PATH and a folder of notes, for commands that find their way by themselves."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

from support import process

ANSWER_S = 30


class Home:
    """A home with programs of agents on PATH, and folders."""

    question = "Connect them?"
    """What `answered` waits for."""

    def __init__(self, daemon: Any) -> None:
        self.root: Path = daemon.root
        self.path: Path = daemon.root / "home"
        self.notes = self.root / "notes"
        (self.notes / "below").mkdir(parents=True)
        (self.notes / "below" / "Plan.md").write_text("# Plan\n")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        temporary = self.root / "tmp"
        temporary.mkdir()
        self.env = {**daemon.env, "PATH": str(self.bin), "TMPDIR": str(temporary)}

    def has(self, *programs: str) -> None:
        for name in programs:
            (self.bin / name).write_text("#!/bin/sh\n")
            (self.bin / name).chmod(0o755)

    def run(self, *arguments: str | Path, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        done = process.run(*arguments, env=self.env, cwd=cwd or self.root)
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def answered(self, answer: str, *arguments: str | Path) -> tuple[int, str]:
        """The same in a terminal, in which a person answers its question."""
        ours, theirs = pty.openpty()
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        started = process.spawn(*arguments, env=self.env, real=True, cwd=self.root, **streams)
        os.close(theirs)
        shown = b""
        try:
            while self.question.encode() not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, answer.encode())
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # a terminal that nobody has open any more
            pass
        finally:
            os.close(ours)
        return started.wait(ANSWER_S), shown.decode()

    def files(self) -> list[str]:
        """Of programs: our own data and cache are left out."""
        every = (each.relative_to(self.path) for each in self.path.rglob("*") if each.is_file())
        return sorted(str(each) for each in every if each.parts[0] not in (".local", ".cache"))

    def servers(self) -> dict[str, Any]:
        servers: dict[str, Any] = json.loads((self.path / ".claude.json").read_text())["mcpServers"]
        return servers

    def daemons(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("status", "--all", "--json").stdout.splitlines()]
