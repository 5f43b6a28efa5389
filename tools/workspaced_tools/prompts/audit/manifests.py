"""Manifests of recorded prompts, unfiltered: what a client may not see the gate takes out."""

from collections.abc import Iterable
from typing import Final

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import ConversationId, VaultId
from workspaced_events.projections.conversations import Conversation, Conversations, Prompt

from ...errors import ArgumentInvalid, NotRecorded
from ...limits import ECHO_CHARS_MAX
from ...ports.manifest import NO_PROMPT_HINT, ShownManifest
from ..model.stored_texts import manifest_of_prompt
from ..model.types import Texts

_IDS_SHOWN_MAX: Final = 5


def manifest_at(
    conversations: Conversations,
    vault: VaultId | None,
    texts: Texts,
    conversation: str | None,
    message: str | None,
) -> ShownManifest:
    """The whole manifest that `ManifestOf` asks for, of the conversations of one vault at one position.

    Raises:
        WorkspacedError: as `ManifestOf`.
    """
    of_vault = {name: each for name, each in conversations.by_id.items() if each.vault == vault}
    prompt = _prompt(_conversation(of_vault, conversation), message)
    try:
        return ShownManifest(prompt.seq, manifest_of_prompt(prompt.manifest_sha256, texts))
    except (LogDamaged, NotRecorded) as error:
        raise NotRecorded("The prompt's manifest is not kept", hint=error.hint or error.message) from None


def _conversation(of_vault: dict[ConversationId, Conversation], name: str | None) -> Conversation:
    if name is None:
        found = next((each for each in reversed(of_vault.values()) if each.prompts), None)
        if found is None:
            raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
        return found
    try:
        return of_vault[ConversationId(name)]
    except KeyError:
        raise ArgumentInvalid(
            f"Argument 'conversation': there is no {name[:ECHO_CHARS_MAX]!r}.",
            hint=f"The latest: {_ids(of_vault)}.",
        ) from None


def _prompt(conversation: Conversation, message: str | None) -> Prompt:
    for prompt in reversed(conversation.prompts):
        if message is None or prompt.message == message:
            return prompt
    if message is None:
        raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
    raise ArgumentInvalid(
        f"Argument 'message': no prompt is remembered for {message[:ECHO_CHARS_MAX]!r}.",
        hint=f"The latest: {_ids(prompt.message for prompt in conversation.prompts)}.",
    )


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(ids))[-_IDS_SHOWN_MAX:]) or "none"
