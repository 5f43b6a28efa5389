"""Methods that publish actions and snapshots of views, and warn of notes that the vault does not hold."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final

import anyio
import msgspec
from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.journal.submissions import Outcome, Receipt
from workspaced_events.journal.view_diff import Snapshot
from workspaced_events.limits import SOURCE_CHARS_MAX
from workspaced_events.schema.catalogue import CATALOGUE
from workspaced_tools.errors import SharingOff, ToolError
from workspaced_tools.notes.note import NoteFailure
from workspaced_tools.ports.questions import Read, Resolve
from workspaced_tools.ports.vault import NoteRef
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.verdicts import Verdicts

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..journal.publishing import Published
from ..service.service import Service
from ..service.session import DEFERRED, Method, Session
from ..vaults.served_vault import ServedVault

_NOTES_MAX: Final = 20
"""So many notes of one batch are looked at."""


class Publish(Params, frozen=True):
    actions: list[Any]
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)] | None = None
    check: bool = False
    """Whether the answer warns of notes that are not in the vault."""


def publish(session: Session, request_id: RequestId | None, params: Publish) -> Any:
    if params.check:
        return _checked(session, params)
    session.service.publishing.publish(
        params.actions,
        params.source or session.client,
        _receipts_to(session, request_id),
        client=session,
        line_bytes=session.line_bytes,
    )
    return DEFERRED


async def _checked(session: Session, params: Publish) -> Any:
    service, client = session.service, session.client
    finished = anyio.Event()
    outcomes: list[tuple[Outcome, bool]] = []

    def done(outcome: Outcome, is_held: bool) -> None:
        outcomes.append((outcome, is_held))
        finished.set()

    service.publishing.publish(
        params.actions, params.source or client, done, client=session, line_bytes=session.line_bytes
    )
    await finished.wait()
    [(outcome, is_held)] = outcomes
    if isinstance(outcome, WorkspacedError):
        raise outcome
    warnings = await missing_notes(service, params.actions, outcome, client) if not is_held else []
    return {**_receipts(service, outcome, is_held), "warnings": warnings}


def snapshot(session: Session, request_id: RequestId | None, params: Snapshot) -> Any:
    is_empty = params.active is None and not params.tabs and not params.pins
    session.service.views.shown(params.source, session, params.vault, is_empty=is_empty)
    done = _receipts_to(session, request_id)
    session.service.publishing.publish_snapshot(
        params, done, inferred=session.inferred, client=session, line_bytes=session.line_bytes
    )
    return DEFERRED


def _receipts_to(session: Session, request_id: RequestId | None) -> Published:
    def done(outcome: Outcome, is_held: bool) -> None:
        if isinstance(outcome, WorkspacedError):
            session.fail(request_id, outcome)
        else:
            session.answer(request_id, _receipts(session.service, outcome, is_held))

    return done


def _receipts(service: Service, receipts: list[Receipt], is_held: bool) -> dict[str, Any]:
    # The log's clock at this answer, which covers at least these events.
    answer = {"events": receipts, "clock": service.tail.clock(), "durability": "none" if is_held else "synced"}
    return {**answer, "paused": True} if is_held else answer


class MissingNote(msgspec.Struct, frozen=True):
    """A recorded action's note that the vault does not hold."""

    seq: int
    note: NoteId
    message: str
    near: list[NoteRef]
    """Notes of near names, best first."""


async def missing_notes(
    service: Service, actions: Sequence[Any], receipts: Sequence[Receipt], caller: str
) -> list[MissingNote]:
    """The notes of recorded actions that are not in their vaults, in the order of the actions.

    A note of a vault that is not served, or that is withheld from every agent, is never missing.
    """
    warnings: list[MissingNote] = []
    for vault, notes in _named(service, actions, receipts).items():
        served = service.served.get(vault)
        if served is None:
            continue
        try:
            warnings += await service.calls.with_view(partial(_missing, served, notes), caller, vault)
        except SharingOff:
            continue
    return sorted(warnings, key=lambda each: each.seq)


def _named(
    service: Service, actions: Sequence[Any], receipts: Sequence[Receipt]
) -> dict[VaultId, dict[NoteId, int]]:
    """For each vault the notes that the actions bring into the state, with the sequence of the first of them."""
    named: dict[VaultId, dict[NoteId, int]] = {}
    for action, receipt in zip(actions, receipts, strict=True):
        vault = action.get("vault") or service.tail.state.current
        note = (action.get("data") or {}).get(CATALOGUE[action["type"]].brings)
        notes = named.setdefault(VaultId(vault), {}) if vault is not None else {}
        if note is not None and len(notes) < _NOTES_MAX:
            notes.setdefault(note_id(note), receipt.seq)
    return named


def _missing(
    served: ServedVault, notes: dict[NoteId, int], view: View, _withheld: Verdicts
) -> Iterator[MissingNote]:
    """The missing ones of `notes`, through a client's view of their vault."""
    found = view.vault.ask(Read(list(notes))) if notes else []
    for (note, seq), each in zip(notes.items(), found, strict=True):
        if not isinstance(each, NoteFailure) or each.code != "NOTE_NOT_FOUND":
            continue
        if all(reason.kind == "unknown" for reason in served.vault.why(note)):  # else it is withheld
            message = f"The vault {served.id} holds no note {note!r}; the action is recorded all the same."
            yield MissingNote(seq, note, message, _near(view, note))


def _near(view: View, note: NoteId) -> list[NoteRef]:
    try:
        resolution = view.vault.ask(Resolve(note))
    except ToolError:
        return []
    found = [resolution.note] if resolution.note is not None else []
    return [*found, *resolution.candidates, *resolution.near]


METHODS: Final = {
    "workspaced/publish": Method(Publish, publish, works_paused=True, writes=True),
    "workspaced/snapshot": Method(Snapshot, snapshot, works_paused=True, writes=True),
}
