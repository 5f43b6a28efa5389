"""A recorded prompt, as it was or with other notes, given to models: what becomes of it, and of the answer."""

import difflib
from collections.abc import Callable, Sequence

import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.schema.catalogue import MessageAdded, PromptAssembled
from workspaced_tools.prompts.audit.prices import Prices, Tokens
from workspaced_tools.prompts.audit.supposed import Notes

from .. import replay
from .models import Answer, Json, Models
from .samples import SHAPE, Withheld, recorded_answers


class Fork(msgspec.Struct, rename="camel"):
    """A recorded prompt, and what models answer to it."""

    prompt: int
    attached: list[str]
    """The notes that the prompt did not show, and would."""
    changes: list[str]
    """How the prompt differs from the recorded one, as lines of a unified diff."""
    recorded: str | None
    """What was answered then; None: it was not recorded."""
    answers: list[Answer]


def fork(
    log: replay.Log,
    seq: int,
    notes: Notes,
    models: Models | None,
    names: Sequence[str],
    *,
    check: Callable[[str], bool | None] | None = None,
    prices: Prices | None = None,
) -> Fork:
    """Asks each of the models `names`.

    Args:
        notes: as `replay.Prompt.body` takes them.
        check: says whether an answer is right; None: it cannot tell.

    Raises:
        InvalidArgument: there is no such prompt, it does not show a note whole that it should be without, or it
            shows one that is withheld.
        NotRecorded, LogDamaged: what it was made from is not kept, or damaged.
    """
    prompt = log.prompt(seq)
    before = prompt.text().splitlines()
    after = prompt.text(notes).splitlines()
    changes = [*difflib.unified_diff(before, after, "the prompt", "as it would be", lineterm="")]
    shown = prompt.notes() if notes else {}  # their texts may not be kept, though the prompt is
    attached = [note for note, text in notes.items() if text is not None and note not in shown]
    made = Fork(seq, attached, changes, answer_of(log, prompt), [])
    if models is None:
        return made
    withheld = Withheld(log)
    if withheld.is_shown_by(prompt.event):
        raise InvalidArgument(
            f"Prompt {seq} shows a note that is withheld by now, so no model is given it.",
            hint="Without --model the prompt is only shown, here.",
        )
    body = prompt.body(notes, shape=SHAPE)
    known = {
        (each.tool, _key(each.arguments)): each.answer for each in recorded_answers(log, prompt.event, withheld)
    }
    for name in names:
        answer = models.ask(name, body, lambda tool, given: known.get((tool, _key(given))))
        answer.cost = _cost(answer, prices)
        if check is not None and answer.state == "answered":
            _judge(answer, check)
        made.answers.append(answer)
    return made


def answer_of(log: replay.Log, prompt: replay.Prompt) -> str | None:
    """The words of the assistant that follow the prompt in its conversation; None: none were recorded, or kept."""
    for event in log.events_of(("message_added", "prompt_assembled"), after=prompt.seq):
        if event.data.conversation != prompt.conversation:
            continue
        if isinstance(event.data, PromptAssembled) or event.data.role != "assistant":
            return None
        said: MessageAdded = event.data
        content = log.blob(said.text_sha256) if said.text_sha256 is not None else None
        return content.decode() if content is not None else None
    return None


def _key(arguments: Json) -> bytes:
    return msgspec.json.encode(arguments, order="deterministic")


def _cost(answer: Answer, prices: Prices | None) -> float | None:
    """By the first price whose model fits, whoever hosts it."""
    if prices is None or not answer.input_tokens:
        return None
    tokens = Tokens(answer.input_tokens, answer.cached_tokens, answer.output_tokens)
    return prices.amount(None, answer.model, system_clock(), tokens)


def _judge(answer: Answer, check: Callable[[str], bool | None]) -> None:
    try:
        is_right = check(answer.text)
    except WorkspacedError as error:
        answer.verdict, answer.why = "unknown", f"{error.message} {error.hint}".strip()
        return
    answer.verdict = "unknown" if is_right is None else "right" if is_right else "wrong"
