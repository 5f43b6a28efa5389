"""Conversations of 20 turns over real Markdown, and the ways to make their prompts.

Their notes are of 1 to 60 KB, glued together from those of a generated vault. People keep to what is open: each
turn has the active note and one that was attached before; every third turn another one is active. Before every
fourth turn a note is edited, and every fourth turn goes on with a tool. A conversation is a function of its seed
and of when notes come to it.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from .vaults import make_vault

TURNS: Final = 20
NOTES: Final = 14
NOTE_BYTES: Final = (1_000, 60_000)
AT_FIRST: Final = 3
"""Notes of the first turn."""
NEW_NOTES: Final[dict[str, Collection[int]]] = {"steady": (1, 2, 3, 4, 6, 9, 14), "growing": range(2, TURNS, 2)}
"""Turns that another note comes in with: somebody gathers notes and then works, or gathers to the end."""
ACTIVE_TURNS: Final = 3
EDITED: Final = range(5, TURNS, 4)
WITH_TOOLS: Final = range(3, TURNS, 4)
INJECTED_CHARS: Final = 8_000
SYSTEM: Final = "You help people with their notes. Say which note you rely on. " * 30
Message = tuple[str, str]
"""Role and text."""


@dataclass(frozen=True)
class Turn:
    """One turn of it."""

    question: str
    answer: str
    active: str
    attached: tuple[str, ...]
    """The active note first."""
    edits: tuple[tuple[str, str], ...] = ()
    """Paths and what is added to them before the turn."""
    found: str | None = None
    """What a tool gives back."""


@dataclass
class Script:
    """The conversation and its notes as they are at first."""

    notes: dict[str, str]
    turns: list[Turn] = field(default_factory=list)

    def write(self, vault: Path) -> None:
        """Its notes as files."""
        for path, text in self.notes.items():
            (vault / path).parent.mkdir(parents=True, exist_ok=True)
            (vault / path).write_text(text)

    def edit(self, vault: Path, turn: Turn) -> None:
        """What is added to them before the turn."""
        for path, added in turn.edits:
            with open(vault / path, "a") as file:
                file.write(added)


def script(folder: Path, kind: str, seed: int) -> Script:
    """The conversation of that seed. `folder`: where a vault is made for its words."""
    make_vault(folder, 400, seed)
    texts = [path.read_text() for path in sorted(folder.rglob("*.md"))]
    random = Random(seed)
    low, high = NOTE_BYTES
    sizes = [round(low * (high / low) ** (at / (NOTES - 1))) for at in range(NOTES)]
    made = Script({f"notes/{at:02} {size}.md": _glued(random, texts, size) for at, size in enumerate(sizes)})
    unseen = sorted(made.notes, key=lambda _path: random.random())
    seen = [unseen.pop() for _ in range(AT_FIRST)]
    for number in range(TURNS):
        old = seen[int(random.random() * len(seen))]
        if number == 0:
            attached = seen
        elif number in NEW_NOTES[kind]:
            attached = [unseen.pop(), old]
        else:
            attached = [old]
        active = seen[number // ACTIVE_TURNS % len(seen)]
        edited = seen[int(random.random() * len(seen))] if number in EDITED else None
        seen = list(dict.fromkeys((*seen, *attached)))
        made.turns.append(
            Turn(
                question=f"Question {number}: {_glued(random, texts, 200)}",
                answer=_glued(random, texts, 800),
                active=active,
                attached=tuple(dict.fromkeys((active, *attached))),
                edits=((edited, f"\nAdded before turn {number}.\n"),) if edited is not None else (),
                found=_glued(random, texts, 1_500) if number in WITH_TOOLS else None,
            )
        )
    return made


def _glued(random: Random, texts: list[str], size: int) -> str:
    text = ""
    while len(text) < size:
        text += texts[int(random.random() * len(texts))]
    return text[:size]


# -- other ways to make the same prompts --


@dataclass
class Seen:
    """What a runtime knows when it makes a prompt."""

    turn: Turn
    notes: dict[str, str]
    """As they are now."""
    known: list[str]
    """All that was ever attached, in the order first seen."""
    earlier: list[Message]
    """Earlier messages of users and assistants, without context."""
    sent: list[Message]
    """The same as it was sent: users' messages with what was glued into them."""


def note_block(path: str, notes: dict[str, str]) -> str:
    """A note as every baseline writes it."""
    return f"<note>\n<path>{path}</path>\n{notes[path]}\n</note>"


def glued(seen: Seen) -> list[Message]:
    """All that was ever attached, as it is now, in the newest user message."""
    context = [note_block(path, seen.notes) for path in seen.known]
    return [("system", SYSTEM), *seen.earlier, ("user", "\n\n".join([*context, seen.turn.question]))]


def glued_and_kept(seen: Seen) -> list[Message]:
    """What is attached to this turn in its user message, which stays as it is in the history."""
    context = [note_block(path, seen.notes) for path in seen.turn.attached]
    return [("system", SYSTEM), *seen.sent, ("user", "\n\n".join([*context, seen.turn.question]))]


def read_again(seen: Seen) -> list[Message]:
    """All that was ever attached in the system message, read anew for each turn."""
    library = [note_block(path, seen.notes) for path in seen.known]
    return [("system", "\n\n".join([SYSTEM, *library])), *seen.earlier, ("user", seen.turn.question)]


def injected(seen: Seen) -> list[Message]:
    """The first INJECTED_CHARS of the active note, and nothing else, in the newest user message."""
    return [("system", SYSTEM), *seen.earlier, _with_active_note(seen)]


def injected_and_kept(seen: Seen) -> list[Message]:
    """The same, and each user message stays as it is in the history."""
    return [("system", SYSTEM), *seen.sent, _with_active_note(seen)]


def _with_active_note(seen: Seen) -> Message:
    note = seen.notes[seen.turn.active][:INJECTED_CHARS]
    return "user", f"<active_note>\n{note}\n</active_note>\n\n{seen.turn.question}"


BASELINES: Final[dict[str, Callable[[Seen], list[Message]]]] = {
    "glued": glued,
    "glued_and_kept": glued_and_kept,
    "read_again": read_again,
    "injected": injected,
    "injected_and_kept": injected_and_kept,
}


def call_of(number: int, turn: Turn) -> tuple[Message, Message]:
    """A tool's call and its result, as every prompt writes them."""
    return (
        ("assistant", f"[toolCall look_up call-{number}] {{}}"),
        ("user", f"[toolResult look_up call-{number}] {turn.found}"),
    )


def prompts_of(made: Script, way: Callable[[Seen], list[Message]]) -> Iterator[list[Message]]:
    """Each prompt of the conversation, made that way."""
    notes, known = dict(made.notes), list[str]()
    earlier, sent = list[Message](), list[Message]()
    for number, turn in enumerate(made.turns):
        for path, added in turn.edits:
            notes[path] += added
        known += [path for path in turn.attached if path not in known]
        prompt = way(Seen(turn, notes, known, earlier, sent))
        yield prompt
        after: list[Message] = []
        if turn.found is not None:
            after += call_of(number, turn)
            yield [*prompt, *after]
        after.append(("assistant", turn.answer))
        earlier += [("user", turn.question), *after]
        sent += [prompt[-1], *after]


def messages_of(envelope: dict[str, Any]) -> list[Message]:
    """The messages of an envelope as JSON, written as those of the baselines are."""
    return [(each["role"], "\n\n".join(map(_block_text, each["content"]))) for each in envelope["messages"]]


def _block_text(block: dict[str, Any]) -> str:
    head = f"[{block['type']} {block['name']} {block['id']}] " if block["type"].startswith("tool") else ""
    return f"{head}{block.get('text', '')}"
