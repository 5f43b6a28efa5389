"""Writes a conversation as Markdown, for a person to read and keep.

    ---
    conversation: "talk-1"
    provider: "anthropic"
    model: "large"
    ---

    **user** · 2026-03-01 12:00
    [Context: work/plan.md]

    What is left to do?

What was attached, called and answered is named; the texts of it are in the log alone. An attachment that names a
note which is withheld from the calling client is left out and counted. A line of a text that reads like a heading
of the file gets a backslash.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.note_names import notes_of
from workspaced_tools.prompts.model.types import Texts

from . import params as p
from .commands import known
from .visibility import WithheldNotes, with_conversation_view

if TYPE_CHECKING:
    from ..service.service import Service

NOT_KEPT: Final = "[Text not kept]"
"""Replaces a text that was forgotten."""
_LIKE_HEADING: Final = re.compile(r"^(\\*\*\*(user|assistant|summary)\*\*)", re.MULTILINE)


async def export(service: "Service", params: p.Named, caller: str) -> dict[str, Any]:
    """A conversation, ended or not, as a chat file: `{text, withheld, clock}`.

    Raises:
        WorkspacedError: UnknownConversation, SharingOff.
    """

    def make(view: View, withheld_notes: WithheldNotes) -> tuple[str, int]:
        return write_chat(_conversation(view.state, params.conversation), service.texts, withheld_notes)

    text, withheld = await with_conversation_view(
        service, _conversation(service.tail.state, params.conversation), make, caller, works_paused=True
    )
    return {"text": text, "withheld": withheld, "clock": service.tail.clock()}


def _conversation(state: WorkspaceState, name: str) -> Conversation:
    """The conversation with that id, ended or not.

    Raises:
        UnknownConversation: there is none.
    """
    return state.conversations.by_id.get(ConversationId(name)) or known(state, name)


def write_chat(conversation: Conversation, texts: Texts, withheld_notes: WithheldNotes) -> tuple[str, int]:
    """The text of the file, and how many attachments it leaves out. Linear in the size of the chat."""
    settings, summary, messages = conversation.settings, conversation.summary, conversation.messages.values()
    attached = [each for message in messages for each in message.attachments]
    withheld_notes.refresh_flags(note for each in attached for note in notes_of(each.kind, each.id).every)
    hidden = {each for each in attached if withheld_notes.hides(notes_of(each.kind, each.id))}
    fields = {"conversation": conversation.id, "provider": settings.provider, "model": settings.model}
    parts = ["\n".join(["---", *(f"{name}: {_yaml(value)}" for name, value in fields.items()), "---", ""])]
    if summary is not None:
        parts.append(_section("**summary**", {}, _text(texts, summary.text_sha256)))
    for message in messages:
        named = {
            "Context": [each.id or each.kind for each in message.attachments if each not in hidden],
            "Called": [each.name for each in message.tool_calls],
            "Answered": [each.name for each in message.tool_results],
        }
        parts.append(
            _section(
                f"**{message.role}** · {message.at[:16].replace('T', ' ')}",
                named,
                _text(texts, message.text_sha256) if message.text_sha256 is not None else "",
            )
        )
    return "".join(parts), sum(each in hidden for each in attached)


def _text(texts: Texts, sha256: str) -> str:
    try:
        return texts(sha256)
    except NotRecorded:
        return NOT_KEPT


def _yaml(value: str) -> str:
    escaped = (each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08x}" for each in value)
    return f'"{"".join(escaped)}"'


def _section(heading: str, named: dict[str, list[str]], text: str) -> str:
    lines = (f"[{what}: {', '.join(names)}]" for what, names in named.items() if names)
    head = ["".join(each if each.isprintable() else " " for each in line) for line in lines]
    body = _LIKE_HEADING.sub(r"\\\1", text.strip("\n"))
    return "\n".join(["", heading, *head, *(["", body] if body else []), ""])
