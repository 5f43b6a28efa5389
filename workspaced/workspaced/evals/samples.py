"""The samples of a log: what was judged, with all that a test of it needs; and what cannot be one, with why."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, note_id
from workspaced_events.projections.note_visibility import Visibility, VisibilityFold
from workspaced_events.schema.catalogue import AnswerJudged, Event, PromptOverlaid, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.recording.judgements import judgements
from workspaced_tools.recording.shown_notes import names_any, shows

from .. import replay

Json = dict[str, Any]
SHAPE: Final = "openai"
"""The form of every sample's request: test programs and servers of models know it best."""


class RecordedAnswer(msgspec.Struct, frozen=True):
    """What a tool answered then."""

    tool: str
    arguments: Json
    answer: str
    """The JSON text that the agent got."""


class Sample(msgspec.Struct, frozen=True):
    """One judged answer."""

    seq: int
    log: str
    """The log's id."""
    verdict: str
    wanted: str
    why: str
    notes: dict[str, str]
    """The notes that it was shown whole, by their paths then."""
    body: Json
    """Of a prompt: the request in SHAPE. Of a call: empty."""
    answers: list[RecordedAnswer] = []
    """Of a prompt: what its agent's tools answered from then on."""
    tool: str = ""
    """Of a call; `arguments` likewise."""
    arguments: Json = {}

    @property
    def name(self) -> str:
        return f"{'call' if self.tool else 'prompt'}_{self.seq}"


class LeftOut(msgspec.Struct, frozen=True):
    """A judged answer that is no sample."""

    seq: int
    code: str
    """WITHHELD, NO_WANTED, or that of the error."""
    why: str


def samples(log: replay.Log) -> tuple[list[Sample], list[LeftOut]]:
    """The samples of all judged prompts and calls, and what had to be left out.

    A note that the log says is withheld at its end is in no sample, whatever it was when it was shown.
    """
    found: list[Sample] = []
    left_out: list[LeftOut] = []
    withheld = Withheld(log)
    for seq, judged in judgements(log.events_of(("answer_judged",))).items():
        try:
            if judged.wanted is None:
                left_out.append(
                    LeftOut(seq, "NO_WANTED", "It was judged right, without words that a test could want.")
                )
            elif withheld.is_in(log.event(seq), judged.wanted, judged.why):
                left_out.append(LeftOut(seq, "WITHHELD", "It shows or names a note that is withheld by now."))
            else:
                found.append(_sample(log, log.event(seq), judged, judged.wanted, withheld))
        except WorkspacedError as error:
            why = f"{error.message.rstrip('.')}. {error.hint or ''}".strip()
            left_out.append(LeftOut(seq, error.code, why))
    return found, left_out


class Withheld:
    """The notes that are withheld at the log's end, by all their names."""

    def __init__(self, log: replay.Log) -> None:
        self._log = log
        fold = VisibilityFold()
        fold.feed(log.events_of(("note_shown", "note_withheld", "note_renamed")))
        self._names: Mapping[str | None, set[NoteId]] = {
            vault: _with_former(log, vault, {note for note, seen in found.items() if seen is not Visibility.SHOWN})
            for vault, found in fold.by_vault.items()
        }

    def is_in(self, event: Event, *words: str | None) -> bool:
        """Whether one is shown or named: by the prompt or call, or in the words of its judgement.

        Raises:
            NotRecorded, LogDamaged: what says so is not kept, or damaged.
        """
        said = msgspec.json.encode([*words, getattr(event.data, "arguments", None)]).decode()
        return names_any(said, self._names.get(event.vault, ())) or self.is_shown_by(event)

    def is_shown_by(self, event: Event) -> bool:
        """Whether the prompt or call shows one of them.

        Raises:
            NotRecorded, LogDamaged: what says so is not kept, or damaged.
        """
        if isinstance(event.data, PromptOverlaid):
            return False
        names = self._names.get(event.vault, set())
        return bool(names) and shows(event, names, self._log.blob, texts_in(self._log.blob))


def _with_former(log: replay.Log, vault: Any, notes: set[NoteId]) -> set[NoteId]:
    former = log.end.state.of(vault).former
    return notes | {old for old, new in former.items() if new in notes}


def _sample(log: replay.Log, event: Event, judged: AnswerJudged, wanted: str, withheld: Withheld) -> Sample:
    """
    Raises:
        WorkspacedError: what it was made from is not kept.
    """
    of: Any = {
        "seq": event.seq,
        "log": log.log_id,
        "verdict": judged.verdict,
        "wanted": wanted,
        "why": judged.why or "",
    }
    if isinstance(event.data, ToolCalled):
        call = log.call(event.seq)
        call.again()
        return Sample(**of, notes=_checked(call.notes()), body={}, tool=call.tool, arguments=call.arguments)
    if isinstance(event.data, PromptOverlaid):
        raise NotRecorded(
            "Of a request through the proxy only what was put into it is recorded",
            hint="Judge that: `workspaced calls --tool volunteer_context` lists it.",
        )
    prompt = log.prompt(event.seq)
    body = prompt.body(shape=SHAPE)
    return Sample(**of, notes=_checked(prompt.notes()), body=body, answers=recorded_answers(log, event, withheld))


def _checked(notes: dict[str, str]) -> dict[str, str]:
    """The notes, whose names a bundle may have made up: they become paths of files."""
    return {note_id(name): text for name, text in notes.items()}


def recorded_answers(log: replay.Log, prompt: Event, withheld: Withheld) -> list[RecordedAnswer]:
    """What tools answered the prompt's agent after it: of each question the first answer that is kept, and neither
    shows nor was asked by the name of a note that is withheld."""
    first: dict[tuple[str, bytes], RecordedAnswer] = {}
    for event in log.events_of(("tool_called",), after=prompt.seq):
        called: ToolCalled = event.data
        key = called.tool, msgspec.json.encode(called.arguments, order="deterministic")
        if called.caller != prompt.source or called.arguments_sha256 is not None or key in first:
            continue
        try:
            is_told = not withheld.is_in(event)
        except NotRecorded:
            continue  # nothing says what it showed
        if is_told and (answer := log.blob(called.result_sha256)) is not None:
            first[key] = RecordedAnswer(called.tool, called.arguments, answer.decode())
    return list(first.values())
