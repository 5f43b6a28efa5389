"""What is done at the machines of a link, for `workspaced watch --of`."""

from collections.abc import Iterator
from typing import Any

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import OriginId
from workspaced_events.peers.differences import SharedView, apply_difference, difference, view_of
from workspaced_events.schema.peer_events import LinkChanged, RemoteEventsApplied, SharedVault


class Machines:
    """Takes the events of this machine's log in order."""

    def __init__(self, link: dict[str, Any] | None, of: str) -> None:
        """
        Args:
            link: its status.
            of: `everyone`, or a person.

        Raises:
            InvalidArgument: there is no link, or nobody of that name.
        """
        members = link["members"] if link is not None else []
        persons = {each["person"] for each in members}
        if of != "everyone" and of not in persons:
            known = ", ".join(sorted(persons)) or "nobody: this daemon takes part in no link"
            raise InvalidArgument(f"Nobody of the link is called {of[:200]!r}.", hint=f"Known: {known}.")
        self._of = of
        self._members: dict[str, tuple[str, str]] = {
            each["origin"]: (each["person"], each["machine"]) for each in members
        }
        self._own: str | None = next((each["origin"] for each in members if each["here"]), None)
        self._views: dict[OriginId, SharedView] = {}

    def done(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """An own event as it is; what a peer shared as the events that it tells of, with person and machine."""
        if event["type"] == "link_changed":
            link = msgspec.convert(event["data"], LinkChanged)
            self._own = link.origin
            self._members = {each.origin: (each.person, each.machine) for each in link.members}
        if event["type"] != "remote_events_applied":
            if self._is_meant(self._own):
                yield event
            return
        heard = msgspec.convert(event["data"], RemoteEventsApplied)
        before = self._views.get(heard.origin, {})
        after = view_of(heard.view) if heard.whole else before
        after = self._views[heard.origin] = apply_difference(after, heard.changed, heard.position.n)
        if self._is_meant(heard.origin):
            person, machine = self._members.get(heard.origin, ("?", heard.origin))
            for type_, data in _told(before, after):
                source = f"{person} on {machine}"
                yield {
                    **event,
                    "source": source,
                    "type": type_,
                    "data": data,
                    "person": person,
                    "machine": machine,
                }

    def _is_meant(self, origin: str | None) -> bool:
        return self._of == "everyone" or self._members.get(origin or "", ("", ""))[0] == self._of


def _told(before: SharedView, after: SharedView) -> Iterator[tuple[str, dict[str, Any]]]:
    for changed in difference(before, after):
        former = before.get(changed.vault, SharedVault(changed.vault)).active
        if changed.presence is not None and changed.presence.active != former:
            active = changed.presence.active
            yield ("active_note_cleared", {}) if active is None else ("active_note_set", {"note": active.note})
        yield from (("note_unpinned", {"note": note}) for note in changed.unpinned)
        yield from (("note_pinned", {"note": pin.note}) for pin in changed.pinned)
