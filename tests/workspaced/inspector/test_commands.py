"""Commands that give the same as a view of the page, over the same log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import clean_environment
from support.inspector import RECORDED, Inspector

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command to its end; what it wrote is text."""

    def ran(*arguments: object, code: int = 0) -> Any:
        done = process.run(*map(str, arguments), env=clean_environment(tmp_path))
        assert done.returncode == code, done.stderr.decode()
        return done

    return ran


class TestASearch:
    def test_gives_what_the_page_gives(self, recorded: Inspector, run: Run) -> None:
        page = recorded.get("/api/texts", text="note", lanes="calls")
        lines = run("log", "search", "--in", "calls", "--json", "note", RECORDED).stdout.splitlines()
        assert [json.loads(line) for line in lines] == page["hits"] != []
