"""A note that is forgotten leaves what other machines have shared of it."""

from support.random_log import V, event_of

from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.privacy.asked_notes import AskedNote, AskedNotes
from workspaced_events.privacy.tombstones import ConversationEraser, NoteEraser, Trail
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.peer_events import (
    AskedName,
    Forgetting,
    LinkMember,
    NewPin,
    Position,
    SharedActive,
    SharedPin,
    SharedPresence,
    SharedRename,
    SharedTab,
    SharedVault,
    VaultDifference,
    VaultMapping,
)

HERE, THERE = OriginId("a" * 32), OriginId("b" * 32)
L, OTHER = LinkedVaultId("c" * 32), LinkedVaultId("d" * 32)
SECRET, KEPT = NoteId("secret.md"), NoteId("kept.md")


def vault(linked: LinkedVaultId) -> SharedVault:
    pins = (SharedPin(SECRET, 1, 1, 1), SharedPin(KEPT, 2, 2, 1))
    renames = (SharedRename(SECRET, KEPT),)
    return SharedVault(linked, SharedActive(SECRET, 1), pins=pins, tabs=(SharedTab(SECRET, 1),), renames=renames)


def log(*more: c.Data) -> list[c.Event]:
    members = (LinkMember(HERE, "Ann", "desk"), LinkMember(THERE, "Ann", "laptop"))
    changed = VaultDifference(
        L, SharedPresence(SharedActive(SECRET, 3)), pinned=(NewPin(0, SECRET, 3, 3),), order=(SECRET, KEPT)
    )
    data: tuple[c.Data, ...] = (
        c.VaultOpened(V, "v", "/v"),
        c.LinkChanged(HERE, members, ()),
        c.RemoteEventsApplied(THERE, Position(1, 1), 1, True, (vault(L), vault(OTHER))),
        c.LinkChanged(HERE, members, (VaultMapping(V, L),)),
        c.RemoteEventsApplied(THERE, Position(1, 2), 2, changed=(changed,)),
        *more,
        c.LinkChanged(),
    )
    return [event_of(seq, each, source="workspaced") for seq, each in enumerate(data, 1)]


def test_no_event_of_a_peer_names_it_any_more_and_its_other_vaults_stay() -> None:
    trail = Trail(V, SECRET)
    trail.feed(log())
    assert trail.mentioned
    eraser = NoteEraser(V, trail, lambda _event: False, ConversationEraser(lambda _part: False))
    left = [eraser(event) for event in log()]
    first, second = left[2].data, left[4].data
    assert [pin.note for pin in first.view[0].pins] == [KEPT] and first.view[1] == vault(OTHER)
    assert b"secret" not in encode_event(left[4]) and second.position == Position(1, 2)
    assert [event.seq for event in left] == [1, 2, 3, 4, 5, 6], "also what came before its vault was mapped"


def asks(n: int, note: NoteId, vault: LinkedVaultId = L, ask: int = 0) -> c.RemoteEventsApplied:
    forgetting = Forgetting((AskedName(name_hash(vault, note), ask),))
    return c.RemoteEventsApplied(
        THERE, Position(2, n), n, n == 3, changed=(VaultDifference(vault, forgetting=forgetting),)
    )


def asked(*more: c.Data) -> list[AskedNote]:
    found = AskedNotes()
    found(log(*more)[:-1])
    return found.found()


def test_what_a_peer_asks_to_forget_is_found_by_what_the_log_names() -> None:
    assert asked(asks(3, SECRET)) == [AskedNote(SECRET, V, "laptop")]
    assert asked(asks(3, NoteId("never.md"))) == []
    assert asked(asks(3, SECRET, OTHER)) == [AskedNote(SECRET, None, "laptop")]
    assert asked(c.ActiveNoteSet(NoteId("own.md")), asks(3, NoteId("own.md"))) == [
        AskedNote(NoteId("own.md"), V, "laptop")
    ]


def test_what_is_named_after_the_ask_is_not_asked_for() -> None:
    again = c.ActiveNoteSet(SECRET)
    assert asked(asks(3, SECRET), again, asks(4, SECRET)) == [AskedNote(SECRET, V, "laptop")]
    own = NoteId("own.md")
    assert asked(asks(3, own), c.ActiveNoteSet(own), asks(4, own)) == []
    assert asked(asks(3, own), c.ActiveNoteSet(own), asks(4, own, ask=1)) == [AskedNote(own, V, "laptop")]


def test_a_log_that_has_forgotten_it_is_asked_no_more() -> None:
    events = log(asks(3, SECRET))[:-1]
    trail = Trail(V, SECRET)
    trail.feed(events)
    eraser = NoteEraser(V, trail, lambda _event: False, ConversationEraser(lambda _part: False))
    found = AskedNotes()
    found(map(eraser, events))
    assert [each.vault for each in found.found()] == []
