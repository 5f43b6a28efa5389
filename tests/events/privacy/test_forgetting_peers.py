"""A note that is forgotten leaves what other machines have shared of it."""

from workspaced_events.ids import EventId, LinkedVaultId, NoteId, OriginId, VaultId
from workspaced_events.privacy.conversation_erasure import ConversationEraser
from workspaced_events.privacy.tombstones import NoteEraser, Trail
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.peer_events import (
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
V, L, OTHER = VaultId("v"), LinkedVaultId("c" * 32), LinkedVaultId("d" * 32)
SECRET, KEPT = NoteId("secret.md"), NoteId("kept.md")


def vault(linked: LinkedVaultId) -> SharedVault:
    pins = (SharedPin(SECRET, 1, 1, 1), SharedPin(KEPT, 2, 2, 1))
    renames = (SharedRename(SECRET, KEPT),)
    return SharedVault(linked, SharedActive(SECRET, 1), pins=pins, tabs=(SharedTab(SECRET, 1),), renames=renames)


def log() -> list[c.Event]:
    members = (LinkMember(HERE, "Ann", "desk"), LinkMember(THERE, "Ann", "laptop"))
    changed = VaultDifference(
        L, SharedPresence(SharedActive(SECRET, 3)), pinned=(NewPin(0, SECRET, 3, 3),), order=(SECRET, KEPT)
    )
    data: tuple[c.Data, ...] = (
        c.VaultOpened(V, "v", "/v"),
        c.LinkChanged(HERE, members, (VaultMapping(V, L),)),
        c.RemoteEventsApplied(THERE, Position(1, 1), 1, True, (vault(L), vault(OTHER))),
        c.RemoteEventsApplied(THERE, Position(1, 2), 2, changed=(changed,), forget=(SECRET,)),
        c.LinkChanged(),
    )
    rows = {row.data: row for row in c.CATALOGUE.values()}
    return [
        rows[type(each)].event(seq, EventId(str(seq)), f"2026-03-01T12:00:0{seq}.000000Z", "workspaced", V, each)
        for seq, each in enumerate(data, 1)
    ]


def test_no_event_of_a_peer_names_it_any_more_and_its_other_vaults_stay() -> None:
    trail = Trail(V, SECRET)
    trail.feed(log())
    assert trail.mentioned
    eraser = NoteEraser(V, trail, lambda _event: False, ConversationEraser(lambda _part: False))
    left = [eraser(event) for event in log()]
    first, second = left[2].data, left[3].data
    assert [pin.note for pin in first.view[0].pins] == [KEPT] and first.view[1] == vault(OTHER)
    assert b"secret" not in encode_event(left[3]) and second.position == Position(1, 2)
    assert [event.seq for event in left] == [1, 2, 3, 4, 5]
