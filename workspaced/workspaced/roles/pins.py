"""The pins that a role gives to a conversation. Pure."""

from typing import Final

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import ConversationId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.model.text_store import BlobStaging
from workspaced_tools.prompts.sources.pinned import checked_parameters

from ..limits import PINS_PER_CONVERSATION_MAX
from .role import Role, RolePin

ROLE_PINS: Final = "agent/"
"""What the ids of a role's pins begin with; the number follows, from 1 on."""


def pin_actions(role: Role, name: ConversationId, conversation: Conversation | None) -> list[Action]:
    """What makes the role's pins those of the conversation, in place of another role's. Other pins stay.

    Args:
        conversation: None: it is about to begin.

    Raises:
        InvalidArgument: the conversation would hold too many pins.
    """
    before = conversation.pins if conversation is not None else {}
    vault = conversation.vault if conversation is not None else None
    wanted = {f"{ROLE_PINS}{number}": pin for number, pin in enumerate(role.pins, start=1)}
    gone = [each for each in before if each.startswith(ROLE_PINS) and each not in wanted]
    count = len(before.keys() | wanted) - len(gone)
    if count > PINS_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"With those of its role the conversation has {count} pins, of at most {PINS_PER_CONVERSATION_MAX}.",
            hint="Unpin some first.",
        )
    actions = [Action(c.ContextUnpinned(conversation=name, id=each), vault=vault) for each in gone]
    for key, pin in wanted.items():
        staging = BlobStaging()
        data = _pinned(name, key, pin, staging)
        there = before.get(key)
        if there is None or (there.kind, there.path, there.folder, there.text_sha256) != (
            data.kind,
            data.path,
            data.folder,
            data.text_sha256,
        ):
            actions.append(Action(data, vault=vault, blobs=tuple(staging.blobs.values())))
    return actions


def _pinned(name: ConversationId, key: str, pin: RolePin, staging: BlobStaging) -> c.ContextPinned:
    path, folder, text = checked_parameters(pin.kind, path=pin.path, folder=pin.folder, text=pin.text)
    return c.ContextPinned(
        conversation=name,
        id=key,
        kind=pin.kind,
        path=path,
        folder=folder,
        text_sha256=staging.text(text) if text is not None else None,
    )
