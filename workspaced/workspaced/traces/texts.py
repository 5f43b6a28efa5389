"""The texts that spans have where the user wants them: what calls asked and answered, and what agents were told.

The log remembers what was shown, which may be withheld by now. So a text leaves only if each note that it names
may be shown unasked at present, as the log's findings and the vault's rules say. What they do not know counts as
withheld. Of a call that failed nothing leaves: its arguments may name what is withheld. Prompts have no texts.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, VaultId, is_markdown
from workspaced_events.projections.note_visibility import Visibility, VisibilityFold
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event, ToolCalled
from workspaced_tools.notes.note import Level
from workspaced_tools.recording.format import arguments_of
from workspaced_tools.recording.recorded_calls import result_of
from workspaced_tools.recording.shown_notes import texts_of
from workspaced_tools.vault.files.ignore_rules import Policy, RulesStore
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.volunteering.tool import text_told

from ..vaults.served_vault import rules_file
from .spans import Attributes

TEXT_CHARS_MAX: Final = 16_384
"""Of each text; a longer one is cut, and says so."""
_NAME_CHARS_MAX: Final = 1_024
"""No path is longer."""


class Texts:
    """Of one data directory. `feed` has its events before `of` is asked."""

    def __init__(self, data: Path, deny: Sequence[str], on_request: Sequence[str]) -> None:
        """`deny`, `on_request`: as the settings have them."""
        self._data = data
        self._blob = EvictableBlobStore(data).get
        self._globs = deny, on_request
        self._findings = VisibilityFold()
        self._folders: dict[VaultId, str] = {}
        self._policies: dict[VaultId, Policy] = {}

    def feed(self, events: Sequence[Event]) -> None:
        """Takes what the log found out about notes, and where vaults are."""
        self._findings.feed(events)
        for event in events:
            if isinstance(event.data, c.VaultOpened) and self._folders.get(event.data.vault_id) != event.data.path:
                self._folders[event.data.vault_id] = event.data.path
                self._policies.pop(event.data.vault_id, None)

    def of(self, event: Event) -> Attributes:
        """The texts of a call, as attributes of its span; none where one of them may not leave, or is not kept."""
        called: ToolCalled = event.data
        result = result_of(called, self._blob)
        if result is None or not called.ok or event.vault is None:
            return {}
        with suppress(WorkspacedError, msgspec.MsgspecError):
            arguments = arguments_of(called, self._blob)
            names = texts_of([arguments, msgspec.json.decode(result)])
            if self._may_leave(event.vault, names):
                if isinstance(called, c.ContextVolunteered):
                    return {"workspaced.context.text": _cut(text_told(called.tool, result).decode())}
                return {
                    "gen_ai.tool.call.arguments": _cut(msgspec.json.encode(arguments).decode()),
                    "gen_ai.tool.call.result": _cut(result.decode()),
                }
        return {}

    def _may_leave(self, vault: VaultId, names: Iterable[str]) -> bool:
        policy = self._policy(vault)
        findings = self._findings.by_vault.get(vault, {})
        if policy is None:
            return False
        for name in names:
            if len(name) > _NAME_CHARS_MAX:
                continue
            finding = findings.get(NoteId(name))
            if policy.level(name) is not Level.VOLUNTEER:
                return False
            if finding is not Visibility.SHOWN and (finding is not None or is_markdown(name)):
                return False
        return True

    def _policy(self, vault: VaultId) -> Policy | None:
        """The rules of the vault as they are now."""
        policy = self._policies.get(vault)
        if policy is None and vault in self._folders:
            keeper = RulesStore(rules_file(self._data, vault))
            policy = self._policies[vault] = Policy(VaultRoot(self._folders[vault]), *self._globs, keeper=keeper)
        elif policy is not None:
            policy.refresh()
        return policy


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARS_MAX else f"{text[:TEXT_CHARS_MAX]}... ({len(text)} characters)"
