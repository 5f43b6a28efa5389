"""What each session of an agent was told last, in memory.

A session that is not known, such as after a start of the daemon, is told everything: rather twice than never.
"""

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from workspaced_events.ids import VaultId
from workspaced_events.projections.workspace_state import client_key

SESSIONS_MAX: Final = 1_000
"""Of all clients; beyond that the longest unused is forgotten."""


class SessionKey(NamedTuple):
    """One session of one client, as far as one vault is concerned."""

    client: str
    session: str
    vault: VaultId

    @classmethod
    def of(cls, client: str, session: str, vault: VaultId) -> "SessionKey":
        return cls(client_key(client), session, vault)


class Told(NamedTuple):
    """What a session was told last."""

    sight: dict[str, Any]
    """As the tool `volunteer_context` gave it."""
    as_of_seq: int


class Sessions:
    """Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._told: OrderedDict[SessionKey, Told] = OrderedDict()

    def told(self, key: SessionKey) -> Told | None:
        """What the session was told; None: nothing, or it is not known any more."""
        found = self._told.get(key)
        if found is not None:
            self._told.move_to_end(key)
        return found

    def tell(self, key: SessionKey, told: Told) -> None:
        """Remembers that the session was told."""
        self._told[key] = told
        self._told.move_to_end(key)
        if len(self._told) > SESSIONS_MAX:
            self._told.popitem(last=False)

    def forget(self, key: SessionKey) -> None:
        """The agent has lost what it was told."""
        self._told.pop(key, None)

    def latest_of(self, client: str) -> SessionKey | None:
        """The client's session that was told last."""
        key = client_key(client)
        return next((each for each in reversed(self._told) if each.client == key), None)
