"""The tokens of each tool's answer: what a model reads that calls it with its defaults.

Tokens are tekken's, of the answer's JSON as a client gets it. The workspace is a usual one: an active note, 5
pins, 8 tabs, 10 recent notes, most with a front matter such as people write.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from workspaced.client.sync_client import SyncClient

from .daemon import Place, daemon
from .measure import Bound, Figure, at_most
from .peer_install import Skip, install
from .peer_table import Skipped
from .tokenizer import NAME, PACKAGE, Tokenizer

_WORDS: Final = [
    "kitchen",
    "budget",
    "harbour",
    "interview",
    "garden",
    "oven",
    "letter",
    "recipe",
    "survey",
    "bridge",
    "chapter",
    "station",
]
_FOLDERS: Final = ("projects/renovation", "journal/2026", "people", "reading", "")
PINS: Final = 5
TABS: Final = 8
RECENTS: Final = 10
NOTES: Final = 1 + PINS + TABS + RECENTS
CONTEXT: Final = "get_workspace_context"
CALLS: Final[tuple[tuple[str, dict[str, Any], Bound | None, Bound | None], ...]] = (
    (CONTEXT, {}, at_most(1_500), at_most(1_300)),
    (CONTEXT, {"includeMetadata": False}, at_most(1_100), None),
    (CONTEXT, {"includeContent": True}, None, None),
    ("get_current_note", {}, None, None),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}, None, None),
    ("get_note_by_reference", {"reference": "Bridge garden 9"}, None, None),
    ("get_note_by_reference", {"reference": "Bridge garden 9", "includeMetadata": True}, None, None),
    ("get_note_diff", {"reference": "Bridge garden 9"}, None, None),
    ("search_workspace", {"query": "kitchen"}, None, None),
    ("get_related_notes", {}, None, None),
    ("get_workspace_summary", {}, None, None),
    ("get_navigation_history", {}, None, None),
)
"""Each with its goal and aim. Their names in the figures are the tool and the arguments that are set."""


def title(number: int) -> str:
    """The title of a note."""
    first, second = _WORDS[number % 12], _WORDS[(number * 5 + 7) % 12]
    return f"{first.capitalize()} {second} {number}"


def path(number: int) -> str:
    """Its path."""
    folder = _FOLDERS[number % len(_FOLDERS)]
    return f"{folder}/{title(number)}.md".lstrip("/")


def text(number: int) -> str:
    """Its text: some 200 words, two links, and on most a front matter."""
    tags = f"[{_WORDS[number % 5]}, home/{_WORDS[number % 3]}]"
    head = f"---\ntags: {tags}\nstatus: draft\ndue: 2026-0{number % 9 + 1}-11\nauthor: Imke Larsen\n---\n"
    line = f"We moved the {title(number).lower()} before the boat left, and nobody minded at all. "
    links = f"See [[{title((number + 1) % NOTES)}]] and [[{title((number + 9) % NOTES)}|the other]].\n"
    return f"{head if number % 4 else ''}# {title(number)}\n\n{line * 6}\n\n## Steps\n\n{line * 6}\n\n{links}"


def tokens(at: Place) -> Iterator[Figure]:
    """One figure for each call of CALLS."""
    try:
        python = install(PACKAGE, at.new("tokenizer")) / "python"
    except Skip as skip:
        yield Skipped("answers", 0.0, "tokens", reason=str(skip))
        return
    vault = at.new("notes")
    for number in range(NOTES):
        file = vault / path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(number))
    with (
        Tokenizer(python, at.new("tokenizer.stderr")) as tokenizer,
        daemon(at, vault, name="answers") as running,
        running.client() as client,
    ):
        running.wait_for_text()
        _open(client)
        _edit(client, vault / path(9))
        for tool, arguments, goal, aim in CALLS:
            answer = client.tool(tool, arguments)
            assert answer["success"], answer
            shown = msgspec.json.encode(answer).decode()
            name = ".".join((tool, *(each for each in arguments if each not in ("reference", "query"))))
            found = len(tokenizer(shown))
            fields = {"tokenizer": NAME, "chars": len(shown), "chars_per_token": len(shown) / found}
            yield Figure(f"answers.{name}", found, "tokens", goal, aim, fields)


def _open(client: SyncClient) -> None:
    pins = [{"type": "note_pinned", "data": {"note": path(1 + number)}} for number in range(PINS)]
    tabs = [
        {"type": "temporary_tab_opened", "data": {"note": path(1 + PINS + number), "source": "search"}}
        for number in range(TABS)
    ]
    client.publish([*pins, *tabs])
    for number in (*range(NOTES - RECENTS, NOTES), 0):
        client.publish([{"type": "active_note_set", "data": {"note": path(number)}}])
        time.sleep(0.05)


def _edit(client: SyncClient, file: Path) -> None:
    """A version that was shown, and another one: what get_note_diff compares."""
    client.tool("get_note_by_reference", {"reference": path(9)})
    file.write_text(file.read_text().replace("nobody minded", "somebody minded", 1))
    time.sleep(1.0)
