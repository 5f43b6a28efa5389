"""`Keyring`: this origin's keys and the roster, which together seal its messages and open those of its peers."""

from typing import Final

from workspaced_events.ids import OriginId

from .message import VERSION, Header, MessageRefused, header_of, open_frame, seal
from .origin_keys import OriginKeys
from .roster import Roster, epoch_keys


class Keyring:
    """One for each life of a link."""

    def __init__(self, keys: OriginKeys, roster: Roster) -> None:
        """Raises MessageRefused: the roster has no keys for this origin."""
        self.keys: Final = keys
        self.roster = roster
        self._epochs: dict[int, bytes] = {}
        self.replace_roster(roster)

    @property
    def origin(self) -> OriginId:
        return self.keys.origin

    @property
    def epoch(self) -> int:
        """What is sent now is sealed with the key of this epoch."""
        return self.roster.epoch

    def replace_roster(self, roster: Roster) -> None:
        """Takes a newer roster.

        Raises:
            MessageRefused: it has no keys for this origin; the former roster stays.
        """
        epochs = epoch_keys(roster, self.keys)
        if roster.epoch not in epochs:
            raise MessageRefused("DAMAGED", "A roster has no key for this machine.")
        self.roster, self._epochs = roster, epochs

    def seal(self, generation: int, n: int, previous: str, payload: bytes) -> bytes:
        """The frame of this origin's message.

        Raises:
            ValueError: the payload is too long.
        """
        header = Header(VERSION, self.roster.link, self.origin, generation, n, previous, self.epoch)
        return seal(header, payload, self._epochs[self.epoch], self.keys.signing)

    def open(self, frame: bytes, subject: str) -> tuple[Header, bytes]:
        """The header and the payload of a message that came on an origin's subject.

        Raises:
            MessageRefused: TOO_LARGE, DAMAGED, NEWER_VERSION, NOT_OURS, UNKNOWN_ORIGIN, REMOVED_ORIGIN,
                UNKNOWN_EPOCH, BAD_SIGNATURE.
        """
        header = header_of(frame)
        if header.link != self.roster.link or header.origin != subject:
            raise MessageRefused("NOT_OURS", "A message is of another link or origin.")
        key = self._epochs.get(header.epoch)
        if (member := self.roster.member(header.origin)) is not None:
            verify_key = member.verify_key
        elif (removed := self.roster.was_removed(header.origin)) is not None:
            if (header.generation, header.n) > (removed.last.generation, removed.last.n):
                raise MessageRefused("REMOVED_ORIGIN", f"{header.origin} was removed, and still sends.")
            verify_key = removed.verify_key
        else:
            raise MessageRefused("UNKNOWN_ORIGIN", f"{header.origin} is no member of the link.")
        if key is None:
            raise MessageRefused(
                "UNKNOWN_EPOCH",
                f"A message of {header.origin} is sealed with a key that this machine does not have.",
                "It comes with the next roster, or was used before this machine joined.",
            )
        return header, open_frame(frame, header, key, verify_key)
