"""The client's side of `workspaced/context/*`: a conversation told, and its prompts asked for.

The same methods serve both clients: those of `SyncClient.context` give the result, those of `Client.context` are
awaited for it. A result is JSON values, as docs/reference.md says it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

Result = TypeVar("Result")
"""What a client's call gives: JSON values, or what is awaited for them."""

AttachmentKind = Literal[
    "note",
    "active_note",
    "folder",
    "tag",
    "selected_text",
    "url",
    "pdf",
    "file",
    "image",
    "dataview",
    "skill",
    "tool_result",
]
PinKind = Literal["text", "note", "folder", "workspace", "linked-files", "open-files", "recent-changes"]


class Skill(TypedDict, total=False):
    """One that the model may ask for. Needs `name`."""

    name: str
    description: str


class Attachment(TypedDict, total=False):
    """What a user's message was given to look at. Needs `kind`, and `id` where the workspace does not tell it."""

    kind: AttachmentKind
    id: str
    text: str
    title: str


class ToolCall(TypedDict, total=False):
    """Needs `id` and `name`. Arguments as a string are JSON as the model wrote it."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


class ToolResult(TypedDict, total=False):
    """Needs `id` (that of the call), `name` and `text`."""

    id: str
    name: str
    text: str
    isError: bool


class Thinking(TypedDict, total=False):
    """Needs `text`."""

    text: str
    signature: str


class Message(TypedDict, total=False):
    """Needs `role`. With an `id` of its own it may be sent again and is recorded once."""

    role: Literal["user", "assistant", "system"]
    id: str
    text: str
    attachments: Sequence[Attachment]
    toolCalls: Sequence[ToolCall]
    toolResults: Sequence[ToolResult]
    thinking: Sequence[Thinking]
    replaces: str


class ContextMethods(Generic[Result]):
    """Conversations, as one client tells them.

    Every method raises what the client's `call` does.
    """

    def __init__(self, call: Callable[[str, dict[str, Any]], Result]) -> None:
        self._call = call

    def start(
        self,
        *,
        provider: str,
        model: str,
        context_window: int,
        output_reserve: int,
        conversation: str | None = None,
        system: str | None = None,
        memory: str | None = None,
        project: str | None = None,
        environment: bool | None = None,
        skills: Sequence[Skill] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        cached_in_input: bool | None = None,
    ) -> Result:
        """Begins a conversation, or gives one other settings: `{conversation, clock}`."""
        return self._ask(
            "start",
            provider=provider,
            model=model,
            contextWindow=context_window,
            outputReserve=output_reserve,
            conversation=conversation,
            system=system,
            memory=memory,
            project=project,
            environment=environment,
            skills=skills,
            tools=tools,
            cachedInInput=cached_in_input,
        )

    def message(
        self,
        conversation: str,
        *messages: Message,
        remove: str | None = None,
        following: bool = False,
    ) -> Result:
        """Adds messages, or replaces some: `{messages: [id], clock}`.

        Args:
            remove: a message that goes first, with `following` all after it, too.
        """
        gone = {"message": remove, "following": following} if remove is not None else None
        return self._ask("message", conversation=conversation, messages=messages, remove=gone)

    def pin(
        self,
        conversation: str,
        pin: str,
        kind: PinKind,
        *,
        path: str | None = None,
        folder: str | None = None,
        text: str | None = None,
    ) -> Result:
        """Pins under the id `pin` what every prompt gets anew; the same id replaces it in its place."""
        return self._ask("pin", conversation=conversation, id=pin, kind=kind, path=path, folder=folder, text=text)

    def unpin(self, conversation: str, pin: str) -> Result:
        """Takes a pin away; one that is not there is no error."""
        return self._ask("unpin", conversation=conversation, id=pin)

    def assemble(
        self, conversation: str, message: str | None = None, *, rebase: bool = False, layers: bool = True
    ) -> Result:
        """The prompt up to a message, by default the last one: the envelope with `seq` and `clock`.

        Args:
            rebase: whether the library is to hold what the attached notes are now.
            layers: whether the layers' texts come along, besides the messages.
        """
        return self._ask("assemble", conversation=conversation, message=message, rebase=rebase, layers=layers)

    def usage(
        self,
        conversation: str,
        *,
        input_tokens: int,
        cached_tokens: int | None = None,
        output_tokens: int | None = None,
        message: str | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> Result:
        """Tells what the provider counted of a prompt, by default of the last one: estimates get better by it."""
        return self._ask(
            "usage",
            conversation=conversation,
            inputTokens=input_tokens,
            cachedTokens=cached_tokens,
            outputTokens=output_tokens,
            message=message,
            provider=provider,
            model=model,
        )

    def rebase(self, conversation: str) -> Result:
        """Gives the library what its notes are now: `{refreshed, clock}`."""
        return self._ask("rebase", conversation=conversation)

    def summary(self, conversation: str, text: str, *, up_to: str) -> Result:
        """Sets what stands for the messages up to one, that one included."""
        return self._ask("summary", conversation=conversation, text=text, upTo=up_to)

    def end(self, conversation: str) -> Result:
        """Nothing more will be asked about it."""
        return self._ask("end", conversation=conversation)

    def _ask(self, method: str, **params: Any) -> Result:
        given = {name: value for name, value in params.items() if value is not None}
        return self._call(f"workspaced/context/{method}", given)
