"""The bounds of the memory, writers at the same time, and what a thousand writes leave behind."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from support.memory import FLAGS, file, refused, said, use, writes

from workspaced_tools.limits import MEMORY_FILE_BYTES_MAX, MEMORY_FILES_MAX

PLAN = "/memories/plan.md"
GROWTH_BYTES_MAX = 12 * 1024 * 1024


def test_a_file_has_a_bound_in_bytes(daemon: Any) -> None:
    with daemon(*FLAGS).connect("agent") as agent:
        path = "/memories/bytes.md"
        said(agent, "create", path, file_text="ü" * (MEMORY_FILE_BYTES_MAX // 2))
        assert refused(agent, "create", "/memories/b.md", file_text="ü" * MEMORY_FILE_BYTES_MAX) == "MEMORY_FULL"
        assert refused(agent, "insert", path, insert_line=0, insert_text="more") == "MEMORY_FULL"
        assert refused(agent, "create", "/memories/c.md", file_text="x" * 70_000) == "INVALID_ARGUMENT"
        assert refused(agent, "create", "/memories/d.md", file_text="a\0b") == "INVALID_ARGUMENT"
        said(agent, "delete", path)


def test_files_of_others_count_and_too_many_are_refused(daemon: Any) -> None:
    running = daemon(*FLAGS, notes={f"Memory/{number}.md": "x" for number in range(MEMORY_FILES_MAX)})
    with running.connect("agent") as agent:
        assert refused(agent, "create", PLAN, file_text="one") == "MEMORY_FULL"
        said(agent, "insert", "/memories/7.md", insert_line=0, insert_text="more")
        said(agent, "delete", "/memories/7.md")
        said(agent, "create", PLAN, file_text="one")


@pytest.mark.fault(row=65)
def test_two_clients_that_write_at_once_lose_nothing(daemon: Any) -> None:
    running = daemon(*FLAGS)
    count = 25

    def write(name: str) -> None:
        with running.connect(name) as agent:
            for number in range(count):
                said(agent, "insert", PLAN, insert_line=0, insert_text=f"{name} {number}")
                use(agent, "create", f"/memories/{number}.md", file_text=name)

    with running.connect("agent") as agent:
        said(agent, "create", PLAN, file_text="")
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(write, ["one", "two"]))
        lines = file(running, "plan.md").read_text().split()
        assert len(lines) == 2 * 2 * count
        every = writes(agent, limit=1_000)
        assert {each["outcome"] for each in every} == {"done"}
        edits = [each for each in every if each["path"] == "Memory/plan.md"]
        assert all(after["formerSha256"] == before["textSha256"] for before, after in pairwise(edits))
        created = [each for each in every if each["command"] == "create"]
        assert len(created) == 1 + count, "of two that create one file, one is refused"


def test_a_write_and_a_reader_never_meet_half_a_file(daemon: Any) -> None:
    running = daemon(*FLAGS)
    texts = [letter * 20_000 for letter in "ab"]
    with running.connect("agent") as agent:
        said(agent, "create", PLAN, file_text=texts[0])
        with ThreadPoolExecutor(1) as threads:
            swaps = [(texts[number % 2], texts[1 - number % 2]) for number in range(40)]
            done = threads.submit(
                lambda: [use(agent, "str_replace", PLAN, old_str=old, new_str=new) for old, new in swaps]
            )
            while not done.done():
                assert file(running, "plan.md").read_text() in texts
        assert all(each["success"] for each in done.result())


@pytest.mark.thorough
def test_a_thousand_writes_leave_no_memory_and_no_files_behind(daemon: Any) -> None:
    running = daemon(*FLAGS, real=True)

    def written(count: int) -> int:
        with running.connect("agent") as agent:
            for number in range(count):
                path = f"/memories/work-{number % 7}/plan.md"
                said(agent, "create", path, file_text=f"{number}\n" * 500)
                said(agent, "delete", path)
        return int(running.memory_bytes())

    written(100)
    before = written(100)
    assert written(1_000) - before < GROWTH_BYTES_MAX
    assert os.listdir(file(running, "")) == []
    with running.connect("agent") as agent:
        assert {each["outcome"] for each in writes(agent, limit=1_000)} == {"done"}
