"""Contexts that a client was given are cut from what it sends back, at a cost in line with its length."""

import pytest
from support.growth import grows_linearly, thread_seconds

from workspaced.service.sent_contexts import SentContexts

LABEL = "---\n\n[User query]:"
NOTE = f"<active_note>\n<title>A note with a long title, longer than a head</title>\n{'Words. ' * 20}\n\n{LABEL}"
LINE = f"Active note: a.md (above)\n\n{LABEL}"


def given(*contexts: str) -> SentContexts:
    made = SentContexts()
    made.add(contexts)
    return made


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (f"{NOTE}\n\nWhat?", "What?"),
        (f"{LINE}\n\nWhat?", "What?"),
        (f"{LABEL}\n\nWhat?", "What?"),
        (f"First.\n\n{NOTE}\n\nThen.\n\n{LINE}\n\nLast.", "First.\n\nThen.\n\nLast."),
        (f"{NOTE}\n\nHe wrote: {NOTE[:-1]} What?", f"He wrote: {NOTE[:-1]} What?"),
        (f"Mine.\n\n{LABEL}x\n\nWhat?", "Mine.\n\nx\n\nWhat?"),
        ("Without a label.", "Without a label."),
    ],
)
def test_what_was_given_out_is_cut_and_nothing_else(text: str, own: str) -> None:
    assert given(LABEL, LINE, NOTE).cut(text) == own


def test_what_only_looks_like_a_context_stays() -> None:
    text = f"<active_note>\nmine\n\n{LABEL}\n\nWhat?"
    assert given(NOTE, LINE).cut(text) == text


@pytest.mark.parametrize("piece", [f"{LABEL}\n\n", f"{LINE}\n\n", f"{NOTE[:64]} {LABEL} "])
def test_many_labels_take_time_in_line_with_their_number(piece: str) -> None:
    known = given(NOTE, *(f"{number:64}{LABEL}" for number in range(200)))

    def seconds(size: int) -> float:
        text = f"Mine. {piece * (size // len(piece))}"
        return thread_seconds(lambda: known.cut(text))

    assert grows_linearly(seconds, 30_000, 120_000)
