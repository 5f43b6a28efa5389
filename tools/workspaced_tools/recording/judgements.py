"""What users say of answers: which events can be judged, and the judgements of a log."""

from collections.abc import Iterable
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import AnswerJudged, Event, PromptAssembled, PromptOverlaid, ToolCalled

JUDGEABLE: Final = (PromptAssembled, PromptOverlaid, ToolCalled)
"""What was told without asking, or put into a request, is a call too."""


def judgement_of(event: Event | None, seq: int, verdict: str, wanted: str | None, why: str | None) -> AnswerJudged:
    """A judgement of the event that was found at `seq`.

    Raises:
        InvalidArgument: it is no prompt and no call, or the judgement says too much or too little.
    """
    hint = "`workspaced context show CONVERSATION --cache` lists prompts, `workspaced calls` the calls."
    if event is None:
        raise InvalidArgument(f"The log holds no event {seq}.", hint=hint)
    if not isinstance(event.data, JUDGEABLE):
        raise InvalidArgument(f"Event {seq} is {event.type}, no prompt and no call.", hint=hint)
    if wanted is not None and not wanted.strip():
        raise InvalidArgument("What a right answer says is empty.", hint="Say it in a few words.")
    said = {"of": seq, "verdict": verdict, "wanted": wanted, "why": why}
    try:
        return msgspec.convert({name: value for name, value in said.items() if value is not None}, AnswerJudged)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{error}.", hint="Say in a few words what a right answer holds.") from None


def judgements(events: Iterable[Event]) -> dict[int, AnswerJudged]:
    """The last judgement of each prompt and call, by its sequence, in the order of the sequences."""
    found = {event.data.of: event.data for event in events if type(event.data) is AnswerJudged}
    return dict(sorted(found.items()))
