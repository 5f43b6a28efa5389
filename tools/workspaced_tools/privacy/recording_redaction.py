"""Redacts a part of a log with the recordings of its calls: the same session under other names.

Events are redacted by the tags of the catalogue (workspaced_events/privacy/event_redaction.py). In state, visits,
questions and answers every text gets its pseudonym, unless its field is listed here as a time or as a word of this
program; a new field is hidden until it is listed. Sentences of this program, such as errors, become one secret
each: everyone knows their words, so pseudonyms of these words would reveal the same words elsewhere.

Of conversations only the events remain, under pseudonyms, without the texts that they name and without earlier
messages. Therefore no prompt can be rebuilt from a redacted part.

Images are removed: in a redacted recording each one that was read is one that could not be sent.

Results are not redacted but replayed: each tool runs over its redacted recording. So a result holds nothing that
its inputs do not hold, and verifies to the byte. Over pseudonyms a tool may ask other questions, for example for
the links of a redacted text; the new recording holds these questions. A call that cannot be replayed loses its
recording.
"""

import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.clock import ClockStep
from workspaced_events.errors import LogDamaged
from workspaced_events.privacy.event_redaction import Redactor
from workspaced_events.privacy.pseudonyms import KEY_BYTES, Pseudonyms
from workspaced_events.projections.conversations import NO_CONVERSATIONS
from workspaced_events.projections.peers import NO_PEERS
from workspaced_events.projections.visits import Stay, Visit, VisitFold
from workspaced_events.projections.workspace_state import (
    ActiveNote,
    Pause,
    Pin,
    Selection,
    Tab,
    Vault,
    VaultState,
    WorkspaceState,
    client_key,
)
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.position import sequence
from workspaced_events.schema.catalogue import ContextVolunteered, Event, SelectionChanged, ToolCalled
from workspaced_events.schema.peer_events import Heard, SharedVault

from ..code.outline import CodeOutline, Symbol
from ..errors import NotRecorded
from ..notes.frontmatter import split_front_matter
from ..notes.note import NoteFailure
from ..ports.manifest import ManifestEntry, ManifestLayer
from ..ports.peers import Machine
from ..ports.questions import LinesChanged, LinkTargets, Names, Question, Read, VersionOf
from ..ports.vault import IMAGE_NOT_SENT, ImageFailure, LinkTarget, NameHit, Resolution
from ..recording.format import (
    Exchange,
    Raised,
    RecordedImage,
    RecordedNote,
    RecordedRead,
    RecordedVersion,
    Recording,
    ResultHead,
    arguments_of,
    read_recording,
)
from ..replay.call_replay import (
    ANSWER_TYPES,
    Answers,
    Key,
    Notes,
    answer_of,
    key_of,
    raise_or_return,
    replay_answer,
)
from ..replay.verify import Moments, StateNotRetained
from ..tools.registry import EVERY_TOOL
from ..tools.tool import normalised
from ..volunteering.editor import HIDDEN
from ..volunteering.tool import VOLUNTEER, text_told

_PLAIN: Final[dict[type[msgspec.Struct], frozenset[str]]] = {
    ActiveNote: frozenset({"since"}),
    Pause: frozenset({"since", "until"}),
    Pin: frozenset({"pinned_at"}),
    Tab: frozenset({"id", "source", "opened_at", "last_accessed"}),
    ClockStep: frozenset({"before", "after"}),
    Selection: frozenset({"at"}),
    VaultState: frozenset({"last_updated"}),
    Visit: frozenset({"at", "until"}),
    Stay: frozenset({"resumed"}),
    VisitFold: frozenset({"alive_at"}),
    Resolution: frozenset({"resolved_by"}),
    NameHit: frozenset({"kind"}),
    Symbol: frozenset({"kind"}),
    CodeOutline: frozenset({"missing"}),
    NoteFailure: frozenset({"code"}),
    ImageFailure: frozenset({"code"}),
    RecordedVersion: frozenset({"at"}),
    ManifestLayer: frozenset({"id"}),
    Machine: frozenset({"origin", "heard_at"}),
    SharedVault: frozenset({"vault"}),
    Heard: frozenset({"origin"}),
    ManifestEntry: frozenset({"layer", "kind", "state", "why"}),
}
"""Fields that stay, because they hold times or words of this program."""
_TOOLS: Final = {**EVERY_TOOL, **HIDDEN}
_PLAIN_ANSWERS: Final = frozenset({"building", "ready"})
_TIMES: Final = frozenset({"at", "sinceTime"})
"""The arguments of tools that may be times."""
IMAGE_REMOVED: Final = "The image was removed when the log was redacted."
_KEYS: Final = re.compile(r"^(title|tags?|alias(?:es)?|id|created|date|type)(?=[ \t]*:)", re.MULTILINE)
"""The front-matter keys that tools read."""


class Redacted(msgspec.Struct, frozen=True):
    """A part of a log, redacted."""

    part: Slice
    calls_lost: int
    """The number of calls that lost their recording because they could not be replayed."""


def redact(part: Slice, pseudonyms: Pseudonyms, store: EvictableBlobStore) -> Redacted:
    """Redacts `part`.

    Args:
        part: the part of the log with its real names and texts.
        pseudonyms: with a key used only for this redaction.
        store: an empty store for the redacted blobs. The result reads from it.

    Raises:
        OSError: the store cannot be written.
    """
    redaction = _Redaction(part, pseudonyms, store)
    visits = redaction.value(part.start_visits())
    # Without the log's id, because agents know it from the clock in their answers.
    start = redaction.value(replace(part.start, conversations=NO_CONVERSATIONS, peers=NO_PEERS))
    redacted = Slice(
        "",
        start,
        msgspec.json.encode(visits),
        [],
        store.get,
        part.warnings,
        redacted=True,
        swept_until=part.swept_until,
    )
    moments = Moments(redacted)
    redacted.events = [redaction.event(event, moments) for event in part.events]
    return Redacted(redacted, redaction.calls_lost)


class _Redaction:
    def __init__(self, part: Slice, pseudonyms: Pseudonyms, store: EvictableBlobStore) -> None:
        self._blob = part.blob
        self._pseudonyms = pseudonyms
        self._text = pseudonyms.text
        self._store = store
        names = {name for tool in _TOOLS.values() for name in tool.input_schema["properties"]}
        self._redactor = Redactor(pseudonyms, names)
        self._notes = Notes(store.get)
        self._renamed: dict[str, str | None] = {}
        self.calls_lost = 0

    # -- events --

    def event(self, event: Event, moments: Moments) -> Event:
        """The redacted event, with redacted blobs. `moments` follows the redacted events."""
        redacted, original = self._redactor.event(event), event.data
        if isinstance(original, SelectionChanged):
            text_sha256 = self._selected(original.text_sha256)
            redacted = replace(redacted, data=replace(redacted.data, text_sha256=text_sha256))
        moments.take(redacted)
        return self._call(event, redacted, moments) if isinstance(original, ToolCalled) else redacted

    def _call(self, event: Event, bare: Event, moments: Moments) -> Event:
        """The redacted call with its replayed result; if the replay fails, `bare`, whose hashes name no blobs."""
        original: ToolCalled = event.data
        try:
            arguments = arguments_of(original, self._blob)
            redacted = self._redactor.event(replace(event, data=replace(original, arguments=arguments)))
            plain = _plain_arguments(original.tool, arguments)
            if isinstance(told := arguments.get("told"), dict) and original.tool == VOLUNTEER.name:
                plain["told"] = self._told(told)
            called = replace(redacted.data, arguments={**redacted.data.arguments, **plain})
            if original.inputs_sha256 is not None:
                called = self._replayed(original, called, moments)
        except (NotRecorded, LogDamaged, StateNotRetained):
            self.calls_lost += original.inputs_sha256 is not None
            return bare
        if original.arguments_sha256 is not None:
            kept = self._keep(msgspec.json.encode(called.arguments))
            called = replace(called, arguments={}, arguments_sha256=kept)
        return replace(bare, data=called)

    def _replayed(self, original: ToolCalled, called: ToolCalled, moments: Moments) -> ToolCalled:
        """The redacted call `called` with its replayed result and the recording of the replay."""
        recording = self._recording(original.inputs_sha256 or "")
        answers = Rephrased(recording.asked, self._notes)
        state = moments.state_seen(called.as_of_seq)
        if state is None:
            raise StateNotRetained
        visits = partial(moments.visits_at, called.tail)
        result = replay_answer(answers, called, recording, state, visits)
        code = self._code(original.result_sha256)
        if msgspec.json.decode(result, type=ResultHead) != ResultHead(original.ok, code):
            raise NotRecorded("The call came out otherwise")
        inputs = msgspec.json.encode(replace(recording, caller=called.caller, asked=tuple(answers.asked)))
        given = result
        if isinstance(called, ContextVolunteered):
            given = text_told(called.tool, result)
            called = replace(called, text_sha256=sha256(given).hexdigest())
        return replace(
            called, inputs_sha256=self._keep(inputs), result_sha256=self._keep(result), bytes=len(given)
        )

    def _code(self, result_sha256: str) -> str | None:
        """The error code in a call's answer.

        Raises:
            NotRecorded: the answer is not kept.
        """
        result = self._blob(result_sha256)
        if result is None:
            raise NotRecorded("The answer is not kept")
        return msgspec.json.decode(result, type=ResultHead).code

    def _selected(self, name: str | None) -> str | None:
        """The name of the redacted blob of a selection's text; a pseudonym of the name if the blob is not kept."""
        if name is None:
            return None
        redacted = self._renamed_blob(name, self._text)
        return redacted if redacted is not None else self._pseudonyms.digest(name)

    # -- recordings --

    def _recording(self, name: str) -> Recording:
        content = self._blob(name)
        if content is None:
            raise NotRecorded("What the call was made from is not kept")
        recording = read_recording(content, name)
        refused = self.value(recording.refused)
        return replace(recording, refused=refused, asked=tuple(map(self._exchange, recording.asked)))

    def _exchange(self, exchange: Exchange) -> Exchange:
        question = msgspec.Raw(msgspec.json.encode(self._question(exchange)))
        if exchange.raised is not None:
            return replace(exchange, question=question, raised=self.value(exchange.raised))
        if exchange.ask not in ANSWER_TYPES:
            raise NotRecorded(f"This version does not know {exchange.ask!r}")
        answer = msgspec.json.decode(exchange.answer, type=ANSWER_TYPES[exchange.ask])
        if not (isinstance(answer, str) and answer in _PLAIN_ANSWERS):
            answer = self.value(answer)
        return replace(exchange, question=question, answer=msgspec.Raw(msgspec.json.encode(answer)))

    def _question(self, exchange: Exchange) -> Any:
        question = msgspec.json.decode(exchange.question)
        if exchange.ask == VersionOf.name:
            note, since, current = question
            return [
                self._text(note),
                since if _is_time(since) else self._json(since),
                self._pseudonyms.digest(current),
            ]
        if exchange.ask == LinesChanged.name:
            note, before = question
            return [self._text(note), self._text_name(before)]
        return self._json(question)

    # -- values --

    def value(self, value: Any) -> Any:
        """`value` with a pseudonym for every text, also in keys, except in the fields of _PLAIN.

        Raises:
            NotRecorded: the text of a note is not kept.
        """
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.value, value))
        assert value is None or isinstance(value, int | float), "JSON has no other types"
        return value

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        if isinstance(value, RecordedNote):
            return self._note(value)
        if isinstance(value, RecordedImage):
            return self._struct(ImageFailure(value.path, IMAGE_NOT_SENT, IMAGE_REMOVED, value.path))
        special: dict[str, Any] = {}
        if isinstance(value, WorkspaceState):
            special["sharing"] = self._by_client(value.sharing)
            special["volunteering"] = self._by_client(value.volunteering)
            special["views"] = {
                self.value(vault): {self.value(source): confidence for source, confidence in views.items()}
                for vault, views in value.views.items()
            }
        elif isinstance(value, Vault):
            special["path"] = self._pseudonyms.secret(value.path)
        elif isinstance(value, Selection):
            special["text_sha256"] = self._selected(value.text_sha256)
        elif isinstance(value, Raised):
            special = {
                "type": value.type,
                "message": self._sentence(value.message),
                "hint": self._sentence(value.hint),
                "details": self._json(value.details),
            }
        elif isinstance(value, NoteFailure | ImageFailure):
            special["message"] = self._sentence(value.message)
        elif isinstance(value, RecordedVersion):
            kept: RecordedRead = msgspec.json.decode(value.note, type=RecordedRead)
            special["note"] = msgspec.Raw(msgspec.json.encode(self.value(kept)))
        plain = _PLAIN.get(type(value), frozenset()) | special.keys()
        hidden = {name: self.value(getattr(value, name)) for name in value.__struct_fields__ if name not in plain}
        return replace(value, **hidden, **special)

    def _by_client(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {client_key(self._text(name)): setting for name, setting in settings.items()}

    def _told(self, told: dict[str, Any]) -> dict[str, Any]:
        """What a session had been told (`Sight`), so that it differs from the redacted state as it did before."""
        selection = told.get("selection")
        return {
            **{name: told[name] for name in ("morePins", "at") if name in told},
            **{name: self._json(told.get(name)) for name in ("active", "pins", "tabs")},
            "left": {self._text(path): self._text(to) for path, to in told.get("left", {}).items()},
            "selection": {**selection, "textSha256": self._json(selection["textSha256"])} if selection else None,
            **{
                name: {self._text(note): self._text_name(sha256) for note, sha256 in told.get(name, {}).items()}
                for name in ("versions", "texts")
            },
        }

    def _text_name(self, sha256: str) -> str:
        """The hash of a note's redacted text; a pseudonym if the text is not kept."""
        redacted = self._renamed_blob(sha256, partial(redacted_markdown, self._text))
        return redacted if redacted is not None else self._pseudonyms.digest(sha256)

    def _note(self, kept: RecordedNote) -> RecordedNote:
        text = self._renamed_blob(kept.text, partial(redacted_markdown, self._text))
        if text is None:
            raise NotRecorded("The text of a note is not kept")
        return RecordedNote(
            id=self.value(kept.id),
            stat=replace(kept.stat, device=0, inode=0),
            birth_ns=kept.birth_ns,
            sha256=self._pseudonyms.digest(kept.sha256),
            text=text,
            warnings=tuple(map(self._sentence, kept.warnings)),
            pages=kept.pages,
        )

    def _sentence(self, text: str) -> str:
        return self._pseudonyms.secret(text) if text else text

    def _json(self, value: Any) -> Any:
        """JSON with pseudonyms for its values. Its keys stay, because they are words of this program."""
        if isinstance(value, dict):
            return {key: self._json(each) for key, each in value.items()}
        return [self._json(each) for each in value] if isinstance(value, list) else self.value(value)

    # -- blobs --

    def _renamed_blob(self, name: str, redacted: Callable[[str], str]) -> str | None:
        """Redacts a blob and returns its new name; None if the blob is not kept."""
        if name not in self._renamed:
            try:
                content = self._blob(name)
            except LogDamaged:
                content = None
            self._renamed[name] = self._keep(redacted(content.decode()).encode()) if content is not None else None
        return self._renamed[name]

    def _keep(self, content: bytes) -> str:
        return self._store.keep(content, sha256(content).hexdigest())


def redacted_markdown(text: Callable[[str], str], note: str) -> str:
    """The pseudonym of a whole note, with the front-matter keys that tools read."""
    body = split_front_matter(note).end_offset
    parts = _KEYS.split(note[:body])
    parts[::2] = map(text, parts[::2])
    return "".join(parts) + text(note[body:])


def _plain_arguments(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that stay, because they are enumerated words, numbers as text, moments or ranges of lines."""
    properties = _TOOLS[tool].input_schema["properties"] if tool in _TOOLS else {}
    return {
        name: value
        for name, value in arguments.items()
        if _is_range(value, schema := properties.get(name, {}))
        or (
            isinstance(value, str)
            and (
                value in schema.get("enum", ())
                or not isinstance(normalised(value, schema), str)
                or (name in _TIMES and (sequence(value) is not None or _is_time(value)))
            )
        )
    }


def _is_range(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the value is a list of the numbers that the schema asks for."""
    wants_numbers = schema.get("items") == {"type": "integer"}
    numbers = normalised(value, schema) if wants_numbers else None
    return isinstance(numbers, list) and all(type(each) is int for each in numbers)


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (ValueError, TypeError):
        return False
    return True


@contextmanager
def under_pseudonyms(part: Slice) -> Iterator[Redacted]:
    """Redacts the part under a random key that is not kept. The result is valid inside the `with` block.

    Raises:
        OSError: temporary files cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="workspaced-") as directory:
        yield redact(part, Pseudonyms(secrets.token_bytes(KEY_BYTES)), EvictableBlobStore(Path(directory)))


_ITEMWISE: Final = frozenset({Read.name, Names.name, LinkTargets.name})
"""The questions whose last field is a list, and whose answer is a list of the same length."""
_NO_TARGET: Final = msgspec.json.encode(LinkTarget(None))
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Rephrased(Answers):
    """As `Answers`, but a question that the call did not ask gets the answer of a similar question.

    The answer to an itemwise question is put together from the recorded answers to its items, in any order. For
    another question, the n-th question of a name gets the answer of the n-th recorded one.
    """

    def __init__(self, asked: Sequence[Exchange], notes: Notes) -> None:
        super().__init__((), notes)
        self.asked: list[Exchange] = []
        """The questions asked so far with their answers: the exchanges of the new recording."""
        self._notes = notes
        self._same: dict[Key, list[Exchange]] = {}
        self._alike: dict[str, list[Exchange]] = {}
        self._items: dict[tuple[str, bytes, bytes], bytes] = {}
        for exchange in asked:
            self._same.setdefault((exchange.ask, bytes(exchange.question)), []).append(exchange)
            self._alike.setdefault(exchange.ask, []).append(exchange)
            if exchange.ask in _ITEMWISE and exchange.raised is None:
                about, items = _about_and_items(bytes(exchange.question))
                for item, answer in zip(items, _RAWS.decode(exchange.answer), strict=True):
                    self._items.setdefault((exchange.ask, about, item), bytes(answer))

    def to(self, question: Question[Any]) -> Any:
        exchange = self._found(*key_of(question))
        self.asked.append(exchange)
        return raise_or_return(answer_of(exchange, self._notes))

    def _found(self, name: str, question: bytes) -> Exchange:
        left = self._same.get((name, question))
        if left is not None:
            return left.pop(0) if len(left) > 1 else left[0]
        alike = self._alike.get(name)
        if alike is None:
            raise NotRecorded(f"The call asked for no {name}", hint="The tool reads something else.")
        if name in _ITEMWISE:
            return Exchange(name, msgspec.Raw(question), self._item_answers(name, question))
        asked = sum(exchange.ask == name for exchange in self.asked)
        return replace(alike[min(asked, len(alike) - 1)], question=msgspec.Raw(question))

    def _item_answers(self, name: str, question: bytes) -> msgspec.Raw:
        about, items = _about_and_items(question)
        answers = [self._items.get((name, about, item)) for item in items]
        if name == LinkTargets.name:
            answers = [answer or _NO_TARGET for answer in answers]
        if None in answers:
            raise NotRecorded(f"The call asked for no such {name}", hint="The tool reads something else.")
        return msgspec.Raw(b"[" + b",".join(answer for answer in answers if answer is not None) + b"]")


def _about_and_items(question: bytes) -> tuple[bytes, list[bytes]]:
    *about, items = _RAWS.decode(question)
    return b",".join(map(bytes, about)), [bytes(item) for item in _RAWS.decode(items)]
