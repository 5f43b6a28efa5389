"""`RecordedSessions`: what each session had been told at the moment, by the log."""

from typing import TYPE_CHECKING, Any

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import ContextVolunteered, Event
from workspaced_tools.volunteering.tool import VOLUNTEER

from ..volunteering.volunteering import SessionKey, Sessions, Told
from .recorded_log import RecordedLog

if TYPE_CHECKING:
    pass


class _Sight(msgspec.Struct):
    sight: dict[str, Any]


class _Answer(msgspec.Struct):
    data: _Sight


class RecordedSessions(Sessions):
    """As `Sessions`, which also knows who was told something before the moment. It reads the log once, when it is
    first asked."""

    def __init__(self, log: RecordedLog) -> None:
        super().__init__()
        self._log = log
        self._recorded: dict[SessionKey, Event] | None = None
        """The last event of each session, in the order of the log."""

    def told(self, key: SessionKey) -> Told | None:
        found = super().told(key)
        if found is None and (event := self._before().pop(key, None)) is not None:
            found = self._told_by(event)
            if found is not None:
                self.tell(key, found)
        return found

    def forget(self, key: SessionKey) -> None:
        self._before().pop(key, None)
        super().forget(key)

    def latest_of(self, client: str) -> SessionKey | None:
        found = super().latest_of(client)
        if found is None:
            wanted = client_key(client)
            found = next((key for key in reversed(self._before()) if key.client == wanted), None)
        return found

    def _before(self) -> dict[SessionKey, Event]:
        if self._recorded is None:
            self._recorded = {}
            for event in self._log.events_of(ContextVolunteered, until=self._log.here.seq):
                data: ContextVolunteered = event.data
                if data.tool == VOLUNTEER.name and event.vault is not None:
                    key = SessionKey.of(data.caller, data.session, event.vault)
                    self._recorded.pop(key, None)
                    self._recorded[key] = event
        return self._recorded

    def _told_by(self, event: Event) -> Told | None:
        """None: it is not kept what the session was told, so it is told everything."""
        try:
            content = self._log.blob(event.data.result_sha256)
            sight = msgspec.json.decode(content, type=_Answer).data.sight if content is not None else None
        except (LogDamaged, msgspec.MsgspecError):
            return None
        return Told(sight, event.data.as_of_seq) if sight is not None else None
