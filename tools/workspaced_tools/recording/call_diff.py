"""Compares two recorded calls: their questions, their inputs and their answers."""

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from ..ports.questions import Read
from .format import RecordedNote, RecordedRead, Recording
from .recorded_calls import RecordedCall, brief, notes_read


class Compared(msgspec.Struct, frozen=True):
    """The differences between two calls, as lines for people. An empty list means no difference."""

    call: list[str]
    """Tool, client and arguments."""
    inputs: list[str]
    """What the calls read, or a line that says which recording is not kept."""
    answer: list[str]
    """A unified diff of the answers as JSON of many lines."""


def compared(first: RecordedCall, second: RecordedCall) -> Compared:
    """Compares two calls.

    Raises:
        NotRecorded: the answers differ, and one of them is not kept.
    """
    one, two = first.event.data, second.event.data
    call = list(_changes({"tool": one.tool, "client": one.caller}, {"tool": two.tool, "client": two.caller}))
    if first.arguments is not None and second.arguments is not None:
        call += _changes(first.arguments, second.arguments)
    elif one.arguments_sha256 != two.arguments_sha256:
        call.append("arguments: they differ, and are not kept")
    answer: list[str] = []
    if one.result_sha256 != two.result_sha256:
        old, new = readable_json(first.answer()), readable_json(second.answer())
        labels = f"call {first.event.seq}", f"call {second.event.seq}"
        answer = list(difflib.unified_diff(old, new, labels[0], labels[1], lineterm=""))
    return Compared(call, _inputs(first, second), answer)


_ESCAPE: Final = re.compile(r"\\.")


def readable_json(content: bytes) -> list[str]:
    """Formats JSON as lines, in its own order. Also breaks texts at their line ends, for a readable diff."""
    plain = msgspec.json.format(content, indent=2).decode()
    broken = _ESCAPE.sub(lambda escape: escape[0] + "\n" if escape[0] == r"\n" else escape[0], plain)
    return broken.split("\n")


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        old, new = (_value(each, name) for each in (before, after))
        if old != new:
            yield f"{name}: {brief(old)} -> {brief(new)}"


def _value(arguments: dict[str, Any], name: str) -> str:
    return msgspec.json.encode(arguments[name]).decode() if name in arguments else "not given"


def _inputs(first: RecordedCall, second: RecordedCall) -> list[str]:
    names = {each.event.data.inputs_sha256 for each in (first, second)}
    if len(names) == 1 and None not in names:
        return []
    if first.recording is None or second.recording is None:
        missing = first if first.recording is None else second
        return [f"what call {missing.event.seq} was made from is not kept"]
    old, new = first.recording, second.recording
    lines = list(_changes({"shared": old.level}, {"shared": new.level}))
    if old.refused != new.refused:
        both = (first, old), (second, new)
        lines += [f"call {each.event.seq} was refused" for each, own in both if own.refused is not None]
    if (old.withheld, old.left_out) != (new.withheld, new.left_out):
        lines.append(f"withheld: {old.withheld} -> {new.withheld} notes, or others")
    only = [f"by call {each.event.seq} only" for each in (first, second)]
    lines += _differing(_notes_read(old), _notes_read(new), _version_changed, [f"read {each}" for each in only])
    questions = _asked(old), _asked(new)
    lines += _differing(*questions, lambda _old, _new: "answered otherwise", [f"asked {each}" for each in only])
    return lines


def _differing(
    old: dict[str, Any], new: dict[str, Any], changed: Callable[[Any, Any], str], only: list[str]
) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield f"{brief(name)} was {only[0]}"
        elif name not in old:
            yield f"{brief(name)} was {only[1]}"
        elif old[name] != new[name]:
            yield f"{brief(name)} was {changed(old[name], new[name])}"


def _notes_read(recording: Recording) -> dict[str, RecordedRead]:
    read = (each for each in recording.asked if each.ask == Read.name)
    return {f"note {kept.id}": kept for exchange in read for kept in notes_read(exchange)}


def _version_changed(old: RecordedRead, new: RecordedRead) -> str:
    if not (isinstance(old, RecordedNote) and isinstance(new, RecordedNote)):
        return "shown otherwise"
    return "another version" if old.text != new.text else "written again, with the same text"


def _asked(recording: Recording) -> dict[str, list[Any]]:
    """The answers to each question except `Read`, in order."""
    answers: dict[str, list[Any]] = {}
    for each in recording.asked:
        if each.ask != Read.name or each.raised is not None:
            name = f"{each.ask}{bytes(each.question).decode()}"
            answers.setdefault(name, []).append((bytes(each.answer), each.raised))
    return answers
