"""The client's side of `workspaced/context/*`: a conversation told, and its prompts asked for.

The same methods serve both clients: those of `SyncClient.context` give the result, those of `Client.context` are
awaited for it. A result is JSON values, as docs/reference/methods.md says it.
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
Pipeline = Literal["chat", "completion", "refactor", "compression"]


class Skill(TypedDict, total=False):
    """One that the model may ask for. Needs `name`."""

    name: str
    description: str


class Document(TypedDict):
    """What a search found. `source` is the path of a note, or a URL."""

    title: str
    source: str
    text: str


class Search(TypedDict):
    """A search and what it found."""

    query: str
    documents: Sequence[Document]


class Attachment(TypedDict, total=False):
    """What a user's message was given to look at. Needs `kind`, and `id` where the workspace does not tell it.

    A `search` is a tool's result instead of its `text`; `before` and `after` are what a selected text stands
    between.
    """

    kind: AttachmentKind
    id: str
    text: str
    title: str
    search: Search
    before: str
    after: str


class ToolCall(TypedDict, total=False):
    """Needs `id` and `name`. Arguments as a string are JSON as the model wrote it."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


class ToolResult(TypedDict, total=False):
    """Needs `id` (that of the call), `name`, and `text` or `search`."""

    id: str
    name: str
    text: str
    search: Search
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
        composer: str | None = None,
        adapter: str | None = None,
        history_turns: int | None = None,
    ) -> Result:
        """Begins a conversation, or gives one other settings: `{conversation, clock}`.

        Args:
            composer: stands once behind the user's words of each turn; `adapter` behind that.
            history_turns: so many of the last turns at least stay word for word.
        """
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
            composer=composer,
            adapter=adapter,
            historyTurns=history_turns,
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
        self,
        conversation: str,
        message: str | None = None,
        *,
        rebase: bool = False,
        layers: bool = True,
        pipeline: Pipeline | None = None,
        shape: str | None = None,
        cached_content: str | None = None,
    ) -> Result:
        """The prompt up to a message, by default the last one: the envelope with `seq` and `clock`.

        Args:
            rebase: whether the library is to hold what the attached notes are now.
            layers: whether the layers' texts come along, besides the messages.
            pipeline: what the prompt is for; by default a chat.
            shape: gives the provider's `body` instead of the messages, with its `changes` and `toolNames`: openai,
                anthropic, gemini, or a template of one's own.
            cached_content: the provider's resource that holds the first two layers, for a body without them.
        """
        return self._ask(
            "assemble",
            conversation=conversation,
            message=message,
            rebase=rebase,
            layers=layers,
            pipeline=pipeline,
            shape=shape,
            cachedContent=cached_content,
        )

    def usage(
        self,
        conversation: str,
        *,
        report: Mapping[str, Any] | None = None,
        input_tokens: int | None = None,
        cached_tokens: int | None = None,
        output_tokens: int | None = None,
        message: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        shape: str | None = None,
    ) -> Result:
        """Tells what the provider counted of a prompt, by default of the last one: estimates get better by it.

        Args:
            report: the usage as the provider's answer has it, instead of the tokens.
            shape: whose it is; by default as the prompt was shaped, or as the provider is called.
        """
        return self._ask(
            "usage",
            conversation=conversation,
            report=report,
            inputTokens=input_tokens,
            cachedTokens=cached_tokens,
            outputTokens=output_tokens,
            message=message,
            provider=provider,
            model=model,
            shape=shape,
        )

    def cite(self, conversation: str, text: str, *, message: str | None = None) -> Result:
        """An answer to a prompt, by default to the last one, with the sources that it cites:
        `{text, sources, unknown, fallback}`."""
        return self._ask("cite", conversation=conversation, text=text, message=message)

    def plan(self, conversation: str, *, message: str | None = None, answer: str | None = None) -> Result:
        """What to ask a model for, that is to say which tools a message needs: `{schema, prompt}`; with what it
        answered, `{calls, problems}`."""
        return self._ask("plan", conversation=conversation, message=message, answer=answer)

    def rebase(self, conversation: str) -> Result:
        """Gives the library what its notes are now: `{refreshed, clock}`."""
        return self._ask("rebase", conversation=conversation)

    def summary(self, conversation: str, text: str, *, up_to: str) -> Result:
        """Sets what stands for the messages up to one, that one included."""
        return self._ask("summary", conversation=conversation, text=text, upTo=up_to)

    def end(self, conversation: str) -> Result:
        """Nothing more will be asked about it."""
        return self._ask("end", conversation=conversation)

    def export(self, conversation: str) -> Result:
        """The conversation as a chat file: `{text, fileName, withheld, warnings, clock}`."""
        return self._ask("export", conversation=conversation)

    def import_chat(
        self,
        text: str,
        *,
        conversation: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        context_window: int | None = None,
        output_reserve: int | None = None,
    ) -> Result:
        """A conversation from a chat file: `{conversation, messages, warnings, clock}`.

        Settings that the file does not say are given here.
        """
        return self._ask(
            "import",
            text=text,
            conversation=conversation,
            provider=provider,
            model=model,
            contextWindow=context_window,
            outputReserve=output_reserve,
        )

    def _ask(self, method: str, **params: Any) -> Result:
        given = {name: value for name, value in params.items() if value is not None}
        return self._call(f"workspaced/context/{method}", given)
