"""Row 43 over a real daemon: notes that try to leave their blocks: prompts of every shape, answers of tools.

The notes hold every spelling of a closing delimiter that support/closing_delimiters.py knows, in text, title,
alias, heading and file name; so do searches, files and selections that a runtime attaches.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from support import closing_delimiters
from support.talk import Talk

Json = dict[str, Any]
SHAPES = ("openai", "anthropic", "gemini")
BLOCK = re.compile(r"^<([a-z]+(?:_[a-z]+)*)>", re.MULTILINE)
"""What begins a block, or a field, in a prompt: bodies cannot have one of our names there."""
SAID = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""What JSON of a request, or a file's name, does not hold."""
SPELLINGS = [each for each in closing_delimiters.SPELLINGS if not SAID.search(each)]
NAMES = ("note_context", "content", "title", "path", "active_note", "selected_text", "tool_result", "document")


def notes() -> dict[str, str]:
    made = {}
    for number, spelling in enumerate(SPELLINGS):
        line = json.dumps(" ".join(spelling.split()))
        wide = spelling.replace("/", "／").replace("\n", " ").replace("\t", " ")
        body = "\n".join(spelling.replace("note_context", name) for name in NAMES)
        made[f"n{number}{wide}.md"] = f"---\ntitle: {line}\naliases: [{line}]\n---\n# {wide}\n\n{body}\nend\n"
    return made


NOTES = notes()


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


def attached(note: str, spelling: str) -> list[Json]:
    return [
        {"kind": "note", "id": note},
        {"kind": "active_note"},
        {"kind": "file", "id": spelling, "title": spelling, "text": spelling},
        {"kind": "selected_text", "id": f"{note}#L1-L2", "text": spelling},
        {"kind": "tool_result", "id": spelling, "text": spelling},
    ]


def texts(value: Any) -> Iterator[str]:
    """Every string of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


FENCED = re.compile(r"(?ms)^<(?P<name>[A-Za-z_]+)(?P<end>-[0-9a-f]{8,})>\n.*?^</(?P=name)(?P=end)>$")


def assert_blocks_hold(text: str) -> int:
    """Each block that is opened is closed once, however generously that is read. How many there are.

    In a block with a fence anything may stand but its own end, which is its last line.
    """
    fenced = [*FENCED.finditer(text)]
    for each in fenced:
        assert each[0].count(each["end"]) == 4, each[0]
    text = FENCED.sub("", text)
    opened = BLOCK.findall(text)
    for name in {*opened, *NAMES}:
        closed, begun = text.count(f"</{name}>"), opened.count(name)
        # A body may open what has no underscore, as HTML does; that is nothing it gets out by.
        assert closed == begun if "_" in name else closed <= begun, (name, text)
        # The generous reading takes the closing of a longer name for one of this name, too.
        exact = len(re.findall(rf"</{name}[a-z_]*>", text))
        assert closing_delimiters.closings(text, name) == exact, (name, text)
    return text.count("</") + len(fenced)


@pytest.mark.fault(row=43)
@pytest.mark.thorough
def test_row_43_no_note_leaves_its_block_in_a_prompt_of_any_shape(shared: Any) -> None:
    with shared.connect("agent") as client:
        for note, spelling in zip(NOTES, SPELLINGS, strict=True):
            shared.publish("active_note_set", note=note)
            chat = Talk(client, provider="anthropic", context_window=900_000)
            chat.user("What is this?", *attached(note, spelling))
            sent = [chat.prompt(layers=False)["messages"]]
            sent += [chat.prompt(layers=False, shape=shape)["body"] for shape in SHAPES]
            blocks = [sum(map(assert_blocks_hold, texts(each))) for each in sent]
            assert min(blocks) > 3 and len(set(blocks)) == 1, blocks
