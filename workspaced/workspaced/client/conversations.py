"""The client side of `workspaced/context/*`: conversations and their prompts.

Both clients share these methods: those of `SyncClient.context` return the result, those of `Client.context` an
awaitable of it. A result is JSON values, as documented in docs/reference/methods.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Required, TypedDict, TypeVar, Unpack

from ..ipc.jsonrpc import camel

if TYPE_CHECKING:  # since commands start without the events' schema
    from workspaced_events.schema.catalogue import AttachmentKind, Pipeline, Promotion, ProviderKind

Result = TypeVar("Result")
"""The return type of a client's call: JSON values, or an awaitable of them."""


class Attachment(TypedDict, total=False):
    """An attachment of a user's message. Needs `kind`, and `id` unless the workspace determines it."""

    kind: "AttachmentKind"
    id: str
    text: str
    textSha256: str
    title: str


class ToolCall(TypedDict, total=False):
    """Needs `id` and `name`. `arguments` as a string is the JSON written by the model."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


class Image(TypedDict, total=False):
    """A data URI, given or uploaded."""

    text: str
    textSha256: str


class ToolResult(TypedDict, total=False):
    """Needs `id` (that of the call), `name`, and `text` or `images`."""

    id: str
    name: str
    text: str
    textSha256: str
    isError: bool
    images: Sequence[Image]


class Thinking(TypedDict, total=False):
    """Needs `text` or `redacted`."""

    text: str
    signature: str
    redacted: str


class Message(TypedDict, total=False):
    """Needs `role`. A message with its own `id` may be sent again and is recorded once.

    `textSha256`, here and in parts, names a text that `upload` of the client sent before.
    """

    role: Literal["user", "assistant"]
    id: str
    text: str
    textSha256: str
    attachments: Sequence[Attachment]
    toolCalls: Sequence[ToolCall]
    toolResults: Sequence[ToolResult]
    thinking: Sequence[Thinking]
    replaces: str


class ConversationSettings(TypedDict, total=False):
    """What `ContextMethods.start` takes."""

    provider: Required[str]
    model: Required[str]
    context_window: Required[int]
    output_reserve: Required[int]
    conversation: str | None
    vault: str | None
    system: str | None
    memory: str | None
    environment: bool | None
    tools: Sequence[Mapping[str, Any]] | None
    promotion: "Promotion | None"


class ContextMethods(Generic[Result]):
    """Methods for conversations.

    Every method raises the same errors as the client's `call`.
    """

    def __init__(self, call: Callable[[str, dict[str, Any]], Result]) -> None:
        self._call = call

    def start(self, **settings: Unpack[ConversationSettings]) -> Result:
        """Begins a conversation, or changes one's settings: `{conversation, clock}`.

        Args:
            vault: the vault that the conversation is about; by default the current one when it begins.
            promotion: when the context library takes over what turns brought; default: `at_fold`, and `each_turn`
                once a prompt names Gemini's `cached_content`.
        """
        return self._ask("start", **settings)

    def message(
        self, conversation: str, *messages: Message, remove: str | None = None, following: bool = False
    ) -> Result:
        """Adds or replaces messages: `{messages: [id], clock}`.

        Args:
            remove: a message to remove first; with `following`, all after it too.
        """
        removal = {"message": remove, "following": following} if remove is not None else None
        return self._ask("message", conversation=conversation, messages=messages, remove=removal)

    def pin(
        self,
        conversation: str,
        pin: str,
        kind: "ProviderKind",
        *,
        path: str | None = None,
        folder: str | None = None,
        text: str | None = None,
    ) -> Result:
        """Pins content for every prompt, read again each time; an existing `pin` id is replaced in its place."""
        return self._ask("pin", conversation=conversation, id=pin, kind=kind, path=path, folder=folder, text=text)

    def unpin(self, conversation: str, pin: str) -> Result:
        """Removes a pin; a missing one is no error."""
        return self._ask("unpin", conversation=conversation, id=pin)

    def assemble(
        self,
        conversation: str,
        message: str | None = None,
        *,
        rebase: bool = False,
        layers: bool = True,
        pipeline: "Pipeline | None" = None,
        shape: str | None = None,
        cached_content: str | None = None,
    ) -> Result:
        """The prompt up to a message, by default the last one: the envelope with `seq` and `clock`.

        Args:
            rebase: updates the library to the present text of the attached notes first.
            layers: includes the layers' texts beside the messages.
            pipeline: the prompt's purpose; default: a chat.
            shape: returns the provider's `body` instead of the messages, with its `changes` and `toolNames`:
                openai, responses, anthropic, gemini, or a template of one's own.
            cached_content: the provider's resource with the first two layers, which the body then omits.
        """
        return self._ask(
            "assemble",
            conversation=conversation,
            message=message,
            rebase=rebase,
            layers=layers,
            pipeline=pipeline,
            shape=shape,
            cached_content=cached_content,
        )

    def usage(
        self, conversation: str, report: Mapping[str, Any], *, message: str | None = None, shape: str | None = None
    ) -> Result:
        """Reports what the provider counted of a prompt, by default the last one, which improves later estimates.

        Args:
            report: the usage in the provider's answer.
            shape: the report's provider; by default from the prompt's shape, or from the provider's name.
        """
        return self._ask("usage", conversation=conversation, report=report, message=message, shape=shape)

    def summary(self, conversation: str, text: str, *, up_to: str) -> Result:
        """Sets the summary that replaces the messages up to and including `up_to`."""
        return self._ask("summary", conversation=conversation, text=text, up_to=up_to)

    def end(self, conversation: str) -> Result:
        """Ends a conversation; no more requests about it follow."""
        return self._ask("end", conversation=conversation)

    def export(self, conversation: str) -> Result:
        """The conversation as Markdown: `{text, withheld, clock}`."""
        return self._ask("export", conversation=conversation)

    def _ask(self, method: str, **params: Any) -> Result:
        set_params = {camel(name): value for name, value in params.items() if value is not None}
        return self._call(f"workspaced/context/{method}", set_params)
