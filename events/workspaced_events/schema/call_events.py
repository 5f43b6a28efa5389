"""The agents' part of the catalogue (entered by catalogue.py): what they asked, were told, and answered."""

from functools import partial
from itertools import islice
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from ..limits import JUDGEMENT_CHARS_MAX
from .registry import Data, Entry, Number, Redact, record

_ARGUMENTS_SHOWN: Final = 3
_ARGUMENT_CHARS_MAX: Final = 60
Verdict = Literal["right", "wrong"]

_call: Final = partial(record, by="caller", erased="whole")


def _called(data: "ToolCalled") -> str:
    given = [f"{name}={_short(value)}" for name, value in islice(data.arguments.items(), _ARGUMENTS_SHOWN)]
    more = ["…"] if len(data.arguments) > _ARGUMENTS_SHOWN or data.arguments_sha256 is not None else []
    return f"called {data.tool}({', '.join(given + more)}){'' if data.ok else ', which failed'}"


def _short(value: Any) -> str:
    text = f"“{value}”" if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _ARGUMENT_CHARS_MAX else text[:_ARGUMENT_CHARS_MAX] + "…"


def _what(data: "ContextVolunteered") -> str:
    return "everything" if data.from_seq is None else f"what differs from event {data.from_seq}"


@_call("tool_called", says=_called, lane="calls")
class ToolCalled(Data, frozen=True):
    """What an agent asked and was shown. The hashes name blobs where recording is on."""

    tool: Annotated[str, Redact.PUBLIC]
    caller: Annotated[str, Redact.CLIENT]
    arguments: Annotated[dict[str, Any], Redact.CONTENT]
    """Empty if `arguments_sha256` is set."""
    as_of_seq: Number
    result_sha256: Annotated[str, Redact.HASH]
    bytes: Number
    duration_us: Number
    ok: bool
    now: Annotated[str, Redact.PUBLIC]
    """The present time as the tool saw it, in an event's form."""
    tail_seq: Number | None = None
    """The log's tail at the call, the end of the history it saw. Absent: equal to `asOfSeq`."""
    inputs_sha256: Annotated[str, Redact.HASH] | None = None
    """Names the recording of the call's reads; absent if they were not recorded."""
    arguments_sha256: Annotated[str, Redact.HASH] | None = None
    """Names the JSON of arguments too long for a line of the log."""
    answer_version: Number = 1
    """ANSWER_VERSION at the call; answers of different versions are not compared byte for byte."""
    traceparent: Annotated[str, Redact.ID] | None = None
    """The client's span that it was a part of, as W3C Trace Context writes it."""

    @property
    def names_moment(self) -> bool:
        """Whether the arguments name the moment that the call is about. Null, kept as it came, is none."""
        return self.arguments.get("at") is not None

    @property
    def tail(self) -> int:
        """The last sequence the call could see."""
        return self.as_of_seq if self.tail_seq is None else max(self.tail_seq, self.as_of_seq)


@_call(
    "context_volunteered",
    says=lambda data: (
        f"was told {_what(data)} without asking, at {data.event}{'' if data.ok else ', which failed'}"
    ),
    lane="volunteered",
)
class ContextVolunteered(ToolCalled, frozen=True, kw_only=True):
    """What an agent was told without asking.

    The text is the answer of the tool `volunteer_context`, which no list shows, so it is recorded and replayed as
    a call is. Appended after the agent's runtime had taken the text.
    """

    session: Annotated[str, Redact.ID]
    """The runtime's name of the agent's session."""
    event: Annotated[str, Redact.CLIENT]
    """The runtime's name of the moment, such as `UserPromptSubmit`."""
    from_seq: Number | None = None
    """The `asOfSeq` of what the session had been told before; absent: it was told everything."""
    text_sha256: Annotated[str, Redact.HASH]
    """Of the text that the agent was given."""


Insertion = Annotated[str, Redact.PUBLIC]
"""`KEY-NUMBER`: the key of its turn, a keyed hash of the chat so far which confirms no guess; and a number."""


@_call("context_inserted", says=lambda data: f"put {_what(data)} into a request", lane="volunteered")
class ContextInserted(ContextVolunteered, frozen=True, kw_only=True):
    """What was put into an agent's request to a provider, once the request had left.

    It stands in all later requests of the chat. The session is a keyed hash of the chat's name, or of its first
    words; the event is the request's form, such as `anthropic`.
    """

    near: Annotated[str, Redact.PUBLIC]
    """A keyed hash of the turn's words and of the answer before it: they find a chat whose older words changed."""
    insertion: Insertion
    after: Insertion | None = None
    """The one before it in its chat."""


@record(
    "context_withdrawn",
    says=lambda data: f"takes {len(data.insertions)} texts out of later requests: their notes are withheld",
    lane="prompts",
)
class ContextWithdrawn(Data, frozen=True, gc=False):
    """Insertions that name notes which are withheld by now: no later request has them."""

    insertions: tuple[Insertion, ...]


@record("prompt_overlaid", says="sent a request with what was put into it up to {0.insertion}", lane="prompts")
class PromptOverlaid(Data, frozen=True, gc=False):
    """A request left with insertions: the last one, and those before it in its chat."""

    caller: Annotated[str, Redact.CLIENT]
    insertion: Insertion
    body_hash: Annotated[str, Redact.HASH]
    """Of the body as it was sent, keyed as the insertions are."""
    without: tuple[Insertion, ...] = ()
    """Of these insertions those that had been withdrawn."""
    traceparent: Annotated[str, Redact.ID] | None = None
    """As in `tool_called`."""


@record(
    "prompt_answered",
    says=lambda data: (
        "was answered"
        if data.input_tokens is None
        else f"cost {data.input_tokens} tokens in, {data.cached_tokens} of them cached, {data.output_tokens} out"
    ),
    lane="prompts",
)
class PromptAnswered(Data, frozen=True, gc=False):
    """A provider answered a request with insertions."""

    caller: Annotated[str, Redact.CLIENT]
    insertion: Insertion
    body_hash: Annotated[str, Redact.HASH]
    """As in its `prompt_overlaid`."""
    input_tokens: Number | None = None
    """All that were read, those from the cache among them; absent: it reported no count."""
    cached_tokens: Number = 0
    output_tokens: Number = 0
    response: Annotated[str, Redact.PUBLIC] | None = None
    """A keyed hash of the name by which a later request continues the chat without sending it again."""
    without: tuple[Insertion, ...] = ()
    """As in its `prompt_overlaid`."""


@Entry(
    "answer_judged",
    says=lambda data: (
        f"judged the answer of event {data.of} {data.verdict}"
        + (f", wanted “{data.wanted}”" if data.wanted else "")
    ),
    lane="prompts",
    changes_state=False,
    erased="whole",
)
class AnswerJudged(Data, frozen=True, gc=False):
    """What the user says of the answer to a prompt, or of what a call was answered."""

    of: Number
    """The sequence of the prompt or call. A later judgement of it replaces an earlier one."""
    verdict: Verdict
    wanted: Annotated[str, Meta(max_length=JUDGEMENT_CHARS_MAX), Redact.CONTENT] | None = None
    """What a right answer says. A wrong one must have it."""
    why: Annotated[str, Meta(max_length=JUDGEMENT_CHARS_MAX), Redact.CONTENT] | None = None

    def __post_init__(self) -> None:
        if self.verdict == "wrong" and self.wanted is None:
            raise ValueError("Expected `wanted`, what a right answer says, with the verdict `wrong`")
