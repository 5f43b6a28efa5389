"""The bench: the cache rules that the figures of prompts rest on, comparing, and that each part prints figures.

A word is a token in the caches, and each block has one more for its role: `block(99)` has 100 tokens.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import pytest
from bench.compare import CannotCompare, compare
from support import ROOT


@pytest.fixture(scope="module")
def caches() -> Iterator[ModuleType]:
    # bench/ is importable from the root only, and no part of an installed wheel.
    sys.path.insert(0, str(ROOT))
    try:
        yield importlib.import_module("bench.prefix_caches")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture
def marked(caches):
    return caches.MarkedCache(caches.Counter(words))


@pytest.fixture
def automatic(caches):
    return caches.BlockCache(caches.Counter(words))


@pytest.fixture
def block(caches):
    def made(count: int, name: str, role: str = "user", *, mark: bool = False):
        return caches.Block(role, " ".join(f"{name}{at}" for at in range(count)), mark)

    return made


def words(text: str) -> list[int]:
    return [crc32(word.encode()) >> 1 for word in text.split()]


def test_three_turns_with_marks_read_what_the_turn_before_wrote(caches, marked, block):
    system = block(1_199, "system", "system", mark=True)

    def turn(*blocks):
        return marked.serve([system, *blocks])

    first = turn(block(99, "one", mark=True))
    second = turn(block(99, "one"), block(49, "answer", "assistant"), block(99, "two", mark=True))
    edited = turn(block(99, "ONE"), block(49, "answer", "assistant"), block(99, "two", mark=True))

    assert first == caches.Use(read=0, written=1_300, neither=0)
    assert second == caches.Use(read=1_300, written=150, neither=0)
    assert edited == caches.Use(read=1_200, written=250, neither=0)
    assert (first + second + edited).base_tokens("anthropic") == pytest.approx(0.1 * 2_500 + 1.25 * 1_700)


@pytest.mark.parametrize(("between", "read"), [(19, 2_000), (20, 0)])
def test_a_mark_looks_back_over_20_blocks_itself_included(caches, marked, block, between, read):
    system = block(1_999, "system", "system", mark=True)
    marked.serve([system])
    added = [block(9, f"part{at}") for at in range(between)]
    added[-1] = added[-1]._replace(mark=True)

    use = marked.serve([system._replace(mark=False), *added])

    assert use == caches.Use(read, 2_000 - read + 10 * between, 0)


def test_an_automatic_cache_serves_whole_blocks_of_128_from_1024_tokens_on(caches, automatic, block):
    system = block(1_199, "system", "system")

    first = automatic.serve([system, block(99, "one")])
    second = automatic.serve([system, block(99, "one"), block(49, "answer", "assistant"), block(99, "two")])
    edited = automatic.serve([system, block(99, "ONE"), block(49, "answer", "assistant"), block(99, "two")])

    # 1,300 tokens hold 10 blocks, 1,280 tokens; the 1,200 of the system hold 9, 1,152 tokens.
    assert first == caches.Use(0, 0, 1_300)
    assert second == caches.Use(1_280, 0, 170)
    assert edited == caches.Use(1_152, 0, 298)
    assert (first + second + edited).base_tokens("openai") == pytest.approx(0.1 * 2_432 + 1_768)


def test_a_body_is_read_in_the_order_tools_system_messages_and_marks_change_no_block(caches):
    kept = {"cache_control": {"type": "ephemeral"}}
    call = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "Found."}
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello.", **kept}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{**result, **kept}]},
        ],
        "system": [{"type": "text", "text": "Be brief.", **kept}],
        "tools": [{"name": "look_up", "input_schema": {}}],
    }

    blocks = caches.blocks_of(body)

    assert [(each.role, each.mark) for each in blocks] == [
        ("tools", False),
        ("system", True),
        ("user", True),
        ("assistant", False),
        ("user", True),
    ]
    assert [each.text for each in blocks[1:3]] == ["Be brief.", "Hello."]
    assert blocks[4].text == "c1 Found."
    assert not any("cache_control" in each.text for each in blocks)


BENCH = """
import json, probe, sys
assert sys.argv[1:] == ["--only", "part"]
print(json.dumps({"bench": "part.speed", "value": probe.VALUE, "unit": "ms"}))
"""


def git(tree: Path, *arguments: str) -> str:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *name, *arguments], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two commits: the probe's value is 8, then 2."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__main__.py").write_text(BENCH)
    (tmp_path / "events" / "probe").mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    for value in (8, 2):
        (tmp_path / "events" / "probe" / "__init__.py").write_text(f"VALUE = {value}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "-m", f"{value}")
    return tmp_path


def lines(tree: Path, commit: str) -> list[dict[str, Any]]:
    return list(compare(tree, commit, ["--only", "part"], rounds=2))


def test_a_ratio_is_this_trees_value_divided_by_the_commits(tree: Path) -> None:
    [line] = lines(tree, "HEAD~1")
    assert (line["before"], line["after"], line["rounds"]) == (8, 2, 2)
    assert (line["ratio"], line["low"], line["high"]) == (0.25, 0.25, 0.25)
    assert line["commit"] == git(tree, "rev-parse", "HEAD~1")[:12]


@pytest.mark.parametrize("commit", ["nonsense", "--help", ""])
def test_a_wrong_commit_is_an_error_that_names_it(tree: Path, commit: str) -> None:
    with pytest.raises(CannotCompare, match=repr(commit)):
        lines(tree, commit)


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *arguments]
    without_registry = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    return subprocess.run(command, cwd=ROOT, env=without_registry, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["shrink", "tools", "visible", "replay", "mcp", "peers"])
def test_a_part_prints_figures_of_its_own_or_why_it_cannot(part: str, tmp_path: Path) -> None:
    done = bench("--quick", "--only", part, "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert figures and all(str(each["bench"]).startswith(f"{part}.") for each in figures)
    for each in figures:
        assert each["value"] is not None or "installing mcp==" in each["skipped"], each
    assert list(tmp_path.iterdir()) == []


def test_a_prefix_of_no_figure_is_an_error_that_says_what_there_is() -> None:
    done = bench("--only", "nonsense")
    assert (done.returncode, done.stdout) == (2, "") and "publish.socket.1_client" in done.stderr
