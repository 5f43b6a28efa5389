"""The conversations that prompts are compared over, and the ways they are compared with."""

import importlib
import sys
from collections.abc import Iterator
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest
from support import ROOT

from workspaced_tools.prompts.providers import bodies as rendering
from workspaced_tools.prompts.providers.templates import template_named

NAMES = ("assembler", "prompt_scenarios", "transcripts")
TURNS = 30


@pytest.fixture(scope="module")
def bench() -> Iterator[SimpleNamespace]:
    # bench/ is importable from the root only, and no part of an installed wheel.
    sys.path.insert(0, str(ROOT))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(f"bench.{name}") for name in NAMES})
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def words(bench, tmp_path_factory):
    return bench.prompt_scenarios.Words(tmp_path_factory.mktemp("words") / "vault", 1)


@pytest.fixture(scope="module")
def tight(bench):
    """Notes come once and are edited, and the window is soon full."""
    return bench.prompt_scenarios.Scenario("tight", 6_000, active=True, once=10, edits=0.3, tools=0.3)


@pytest.fixture(scope="module")
def turns(bench, words, tight):
    return bench.prompt_scenarios.turns_of(tight, words, 1, TURNS)


def test_our_prompts_hold_the_question_and_the_notes_of_their_turn(bench, tight, turns):
    prompts = iter(bench.assembler.prompts_of(tight, turns))

    for turn in turns:
        for blocks in (next(prompts) for _ in range(1 if turn.result is None else 2)):
            text = "\n".join(block.text for block in blocks)
            assert turn.question in text
            assert all(mark in text for note in turn.attached for mark in note.marks)
            assert sum(block.mark for block in blocks) <= 4
        assert turn.result is None or turn.result in text
    assert next(prompts, None) is None


def test_the_body_for_openai_has_the_same_texts_in_the_same_order(bench, tight, turns, monkeypatch):
    # Both caches are measured with the body for Anthropic; this is why they may be.
    bodies: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def both(envelope, settings, template, texts, blob):
        anthropic = rendering.shape(envelope, settings, template, texts, blob)
        openai = rendering.shape(envelope, settings, template_named("openai", None), texts, blob)
        bodies.append((anthropic.body, openai.body))
        return anthropic

    monkeypatch.setattr(bench.assembler, "shape", both)
    for _ in bench.assembler.prompts_of(tight, turns):
        pass

    assert len(bodies) > TURNS
    for anthropic, openai in bodies:
        assert texts_of_anthropic(anthropic) == texts_of_openai(openai)


def texts_of_anthropic(body: dict[str, Any]) -> list[str]:
    found = [*(tool["name"] for tool in body["tools"]), "\n\n".join(part["text"] for part in body["system"])]
    for message in body["messages"]:
        for kind, parts in groupby(message["content"], key=lambda part: part["type"]):
            texts = [part["text"] if kind == "text" else part.get("content") or part["name"] for part in parts]
            found += ["\n\n".join(texts)] if kind == "text" else texts
    return found


def texts_of_openai(body: dict[str, Any]) -> list[str]:
    names = [tool["function"]["name"] for tool in body["tools"]]
    found = list[str]()
    for message in body["messages"]:
        found += [message["content"]] if "content" in message else []
        found += [call["function"]["name"] for call in message.get("tool_calls", ())]
    return [*names, *found]
