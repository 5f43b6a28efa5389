"""The cache rules that the figures of prompts rest on, against conversations counted by hand.

A word is a token here, and each block has one more for its role: `block(99)` has 100 tokens.
"""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from zlib import crc32

import pytest
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
