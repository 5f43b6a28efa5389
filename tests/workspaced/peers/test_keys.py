"""Who may read and write in a link, and who may not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced.peers.keys.invitation import code_of, new_invitation, open_request, read_code, seal_request
from workspaced.peers.keys.keyring import Keyring
from workspaced.peers.keys.message import FRAME_BYTES_MAX, FRAME_BYTES_MIN, Header, MessageRefused, header_of, seal
from workspaced.peers.keys.origin_keys import OriginKeys, load_keys, new_keys, save_keys
from workspaced.peers.keys.roster import (
    Member,
    Roster,
    new_roster,
    open_roster,
    rotated,
    seal_roster,
    with_member,
    with_vault,
    without_member,
)
from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.peer_events import Position

LINK = "1" * 32
NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANN, BOB, EVE = new_keys(), new_keys(), new_keys()


def member(keys: OriginKeys, person: str = "Bob") -> Member:
    return Member(keys.origin, person, "a machine", keys.verify_key, keys.box_key)


def both() -> Roster:
    return with_member(new_roster(LINK, ANN, "Ann", "laptop"), member(BOB), ANN)


def refused(code: str) -> "pytest.RaisesExc[MessageRefused]":
    return pytest.RaisesExc(MessageRefused, check=lambda error: error.code == code)


# -- messages --

ROSTER = both()
READER = Keyring(BOB, ROSTER)
FRAME = Keyring(ANN, ROSTER).seal(1, 1, "", b"hello")


@given(st.binary(max_size=3_000))
def test_a_message_is_read_by_members_and_its_length_is_a_power_of_two(payload: bytes) -> None:
    frame = Keyring(ANN, ROSTER).seal(1, 2, "", payload)
    header, opened = READER.open(frame, ANN.origin)
    assert (header.generation, header.n, opened) == (1, 2, payload)
    assert FRAME_BYTES_MIN <= len(frame) <= FRAME_BYTES_MAX and len(frame) & (len(frame) - 1) == 0


@given(st.integers(0, FRAME_BYTES_MIN * 8 - 1))
def test_no_bit_of_a_message_can_be_changed(bit: int) -> None:
    frame = bytearray(FRAME)
    frame[bit // 8] ^= 1 << bit % 8
    with pytest.raises(MessageRefused):
        READER.open(bytes(frame), ANN.origin)


@given(st.binary(max_size=2_000))
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(MessageRefused):
        READER.open(data, ANN.origin)


def test_a_member_cannot_write_in_the_name_of_another() -> None:
    roster = both()
    bob = Keyring(BOB, roster)
    header = Header(1, LINK, ANN.origin, 9, 9, "", roster.epoch)
    forged = seal(header, b"x", bob._epochs[roster.epoch], BOB.signing)
    with refused("BAD_SIGNATURE"):
        bob.open(forged, ANN.origin)
    with refused("NOT_OURS"):
        bob.open(bob.seal(1, 1, "", b"x"), ANN.origin)


def test_who_is_no_member_is_refused() -> None:
    roster = both()
    stranger = Keyring(EVE, with_member(roster, member(EVE, "Eve"), ANN))
    with refused("UNKNOWN_ORIGIN"):
        Keyring(BOB, roster).open(stranger.seal(1, 1, "", b"x"), EVE.origin)


def test_a_message_of_a_newer_form_says_so() -> None:
    header = Header(2, LINK, ANN.origin, 1, 1, "", 1)
    with refused("NEWER_VERSION"):
        header_of(seal(header, b"", bytes(32), ANN.signing))


def test_a_payload_that_no_message_can_hold_is_refused_before_it_is_sealed() -> None:
    with pytest.raises(ValueError, match="too long"):
        Keyring(ANN, both()).seal(1, 1, "", bytes(FRAME_BYTES_MAX))


# -- members come and go --


def test_who_joins_reads_nothing_of_before() -> None:
    early = both()
    later = with_member(rotated(early), member(EVE, "Eve"), ANN)
    eve = Keyring(EVE, later)
    with refused("UNKNOWN_EPOCH"):
        eve.open(Keyring(ANN, early).seal(1, 1, "", b"before"), ANN.origin)
    assert eve.open(Keyring(ANN, later).seal(1, 2, "", b"after"), ANN.origin)[1] == b"after"


def test_who_was_removed_reads_nothing_new_and_is_heard_no_more() -> None:
    roster = both()
    bob = Keyring(BOB, roster)
    until, after = bob.seal(3, 7, "", b"until"), bob.seal(3, 8, "", b"after")
    left = without_member(roster, BOB.origin, Position(3, 7))
    ann = Keyring(ANN, left)
    with refused("UNKNOWN_EPOCH"):
        bob.open(ann.seal(1, 1, "", b"new"), ANN.origin)
    assert ann.open(until, BOB.origin)[1] == b"until"
    with refused("REMOVED_ORIGIN"):
        ann.open(after, BOB.origin)
    assert open_roster(seal_roster(left, ANN), LINK, ANN.verify_key, BOB) is None


def test_a_roster_shows_the_server_no_name_and_only_the_creator_makes_one() -> None:
    roster = with_vault(both(), "secret vault")
    sealed = seal_roster(roster, ANN)
    assert not any(word in sealed for word in (b"Bob", b"laptop", b"secret"))
    assert open_roster(sealed, LINK, ANN.verify_key, BOB) == roster
    with refused("BAD_SIGNATURE"):
        open_roster(seal_roster(roster, BOB), LINK, ANN.verify_key, BOB)
    with refused("NOT_OURS"):
        open_roster(sealed, "2" * 32, ANN.verify_key, BOB)
    for data in (b"", b"garbage", sealed[:-1], bytes(600_000)):
        with pytest.raises(MessageRefused):
            open_roster(data, LINK, ANN.verify_key, BOB)


# -- invitations --


def test_a_code_brings_its_machine_to_the_creator_and_nobody_elses() -> None:
    invitation = new_invitation("Bob", NOW)
    code = read_code(f" {code_of(LINK, ANN.verify_key, invitation)}\n")
    request = seal_request(code, BOB, "server")
    assert open_request(request, invitation, BOB.origin).person == "Bob"
    assert b"server" not in request
    sly = open_request(seal_request(code, BOB, "x\x1b[2J\n" * 99), invitation, BOB.origin).machine
    assert sly.isprintable() and len(sly) == 64, "terminals and agents read it"
    with refused("DAMAGED"):
        open_request(request, new_invitation("Eve", NOW), BOB.origin)
    with refused("NOT_OURS"):
        open_request(request, invitation, EVE.origin)


def test_an_invitation_is_valid_once_and_for_fifteen_minutes() -> None:
    invitation = new_invitation("Bob", NOW)
    assert invitation.is_valid(NOW + timedelta(minutes=14), BOB.origin)
    assert not invitation.is_valid(NOW + timedelta(minutes=15), BOB.origin)
    used = type(invitation)(invitation.secret, "Bob", invitation.expires, BOB.origin)
    assert used.is_valid(NOW + timedelta(days=1), BOB.origin) and not used.is_valid(NOW, EVE.origin)


@pytest.mark.parametrize("change", [lambda code: code[:-4], lambda code: "x" + code, lambda _code: "", str.upper])
def test_a_code_that_was_not_pasted_whole_is_refused(change: "object") -> None:
    assert callable(change)
    with pytest.raises(InvalidArgument, match="code"):
        read_code(change(code_of(LINK, ANN.verify_key, new_invitation("Bob", NOW))))


# -- on the disk --


def test_keys_are_kept_for_their_owner_only(tmp_path: Path) -> None:
    assert load_keys(tmp_path) is None
    save_keys(tmp_path, ANN)
    [file] = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    found = load_keys(tmp_path)
    assert found is not None and (found.origin, found.verify_key) == (ANN.origin, ANN.verify_key)
    file.chmod(0o644)
    with pytest.raises(PermissionError, match="others"):
        load_keys(tmp_path)
