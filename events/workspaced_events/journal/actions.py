"""Actions: parsing and checking a publisher's batch.

`parse_actions` makes every check that needs no state: type, data, paths, publisher, sizes. `admit` checks an
action against the state at the moment of its append. `Planned` is that state, as the writer will have it once the
actions of a plan are appended.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, inspect

from ..errors import ActionError, BatchTooLarge, InvalidArgument, Paused
from ..ids import EventId, VaultId, note_id
from ..limits import BATCH_ACTIONS_MAX, ID_CHARS_MAX, SELECTION_INLINE_CHARS_MAX
from ..projections.workspace_fold import apply, is_permutation
from ..projections.workspace_state import WorkspaceState
from ..schema import catalogue as c
from ..schema.catalogue import CATALOGUE, ENTRY_OF, Data, Entry


class ActionJson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The envelope of an action on the wire."""

    type: str
    data: dict[str, Any] = {}
    id: Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)] | None = None
    vault: Annotated[str, Meta(max_length=ID_CHARS_MAX)] | None = None


class Action(msgspec.Struct, frozen=True):
    """A checked action."""

    data: Data
    id: EventId | None = None
    """The publisher's idempotency key; None: the writer makes one."""
    vault: VaultId | None = None
    """None: the current vault at the moment of the append."""
    blobs: tuple[bytes, ...] = ()
    """Texts that `data` names by their sha256; stored as blobs, durably, before the append."""
    source: str | None = None
    """The event's source; None: that of the batch."""


def parse_actions(raw: Sequence[Any], *, keep_text: Callable[[bytes], str]) -> list[Action]:
    """Checks a UI's batch and returns its actions.

    Args:
        raw: JSON values as the publisher sent them.
        keep_text: returns the sha256 of a text that will be kept as a blob.

    Raises:
        ActionError: with the index of the first invalid action; nothing of the batch may be appended.
    """
    if not raw:
        raise InvalidArgument("Expected at least one action, got none.", hint=ENVELOPE_HINT)
    if len(raw) > BATCH_ACTIONS_MAX:
        raise BatchTooLarge(
            f"Expected at most {BATCH_ACTIONS_MAX} actions a batch, got {len(raw)}.", hint="Publish it in parts."
        )
    actions = []
    for index, each in enumerate(raw):
        try:
            actions.append(_parse(each, keep_text))
        except ActionError as error:
            raise error.at_index(index) from None
    return actions


def _parse(raw: Any, keep_text: Callable[[bytes], str]) -> Action:
    envelope = _convert(raw, ActionJson, "an action", lambda: ENVELOPE_HINT)
    entry = CATALOGUE.get(envelope.type)
    if entry is None:
        raise ActionError(
            f"There is no action {envelope.type[:ID_CHARS_MAX]!r}.",
            hint=actions_hint(envelope.type),
            code="UNKNOWN_ACTION",
        )
    if not entry.by_ui:
        raise ActionError(f"Only the daemon may publish {entry.name}.", hint=actions_hint(), code="NOT_ALLOWED")
    if not entry.fields.issuperset(envelope.data):
        unknown = min(envelope.data.keys() - entry.fields)
        raise InvalidArgument(f"{entry.name} has no field {unknown[:ID_CHARS_MAX]!r}.", hint=data_hint(entry))
    data = _convert(envelope.data, entry.data, f"the data of {entry.name}", lambda: data_hint(entry))
    changed = {}
    for name in ENTRY_OF[type(data)].notes:
        value = getattr(data, name)
        if isinstance(value, str):
            checked: Any = note_id(value)
        elif isinstance(value, tuple):
            checked = tuple(note_id(each) for each in value)
        else:
            continue
        if checked != value:
            changed[name] = checked
    data = msgspec.structs.replace(data, **changed) if changed else data
    blobs: tuple[bytes, ...] = ()
    if isinstance(data, c.ActiveNoteSet) and data.note is None:
        data = c.ActiveNoteCleared()
    elif isinstance(data, c.SelectionChanged):
        data, blobs = text_as_blob(data, keep_text)
    return Action(
        data,
        EventId(envelope.id) if envelope.id is not None else None,
        VaultId(envelope.vault) if envelope.vault is not None else None,
        blobs,
    )


def _convert(raw: Any, type_: Any, what: str, hint: Callable[[], str]) -> Any:
    try:
        return msgspec.convert(raw, type_)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"Cannot take {what}: {error}.", hint=hint()) from None


def text_as_blob(
    data: c.SelectionChanged, keep_text: Callable[[bytes], str]
) -> tuple[c.SelectionChanged, tuple[bytes, ...]]:
    """The data of a selection, with a long text as the blob that it names.

    Raises:
        InvalidArgument: it names a blob already.
    """
    if data.text_sha256 is not None:
        raise InvalidArgument("textSha256 is the daemon's to set.", hint="Send the selected text as `text`.")
    if data.text is None or len(data.text) <= SELECTION_INLINE_CHARS_MAX:
        return data, ()
    blob = data.text.encode()
    return msgspec.structs.replace(data, text=None, text_sha256=keep_text(blob)), (blob,)


def check_not_paused(state: WorkspaceState) -> None:
    """Raises Paused: the user has paused the workspace."""
    if state.paused is None:
        return
    until = f" until {state.paused.until}" if state.paused.until is not None else ""
    raise Paused(
        f"The user has paused the workspace{until}.",
        hint="Nothing is answered or recorded until they run `workspaced resume`, or the pause ends.",
        since=state.paused.since,
        until=state.paused.until,
    )


def admit(state: WorkspaceState, action: Action, *, during_pause: bool = False) -> VaultId | None:
    """Checks an action against the log's folded `state`, and returns the vault of its event.

    Args:
        during_pause: whether to check an action that is held, not appended, while the workspace is paused.

    Raises:
        Paused: the workspace is paused, and such an event is not recorded meanwhile.
        ActionError: the vault is unknown or closed, or the order is no permutation of the present items.
    """
    data = action.data
    entry = ENTRY_OF[type(data)]
    # A starting daemon itself switches to a vault that it serves.
    if not (during_pause or entry.in_pause or type(data) is c.VaultSwitched):
        check_not_paused(state)
    if isinstance(data, c.VaultOpened | c.VaultClosed | c.VaultSwitched):
        return data.vault_id if isinstance(data, c.VaultOpened) else _open_vault(state, data.vault_id)
    if not entry.by_ui and action.vault is None:
        return state.current
    vault = _open_vault(state, action.vault if action.vault is not None else state.current)
    if isinstance(data, c.PinnedNotesReordered):
        _check_order(data.notes, list(state.of(vault).pins), "notes", "pinned notes")
    elif isinstance(data, c.TemporaryTabsReordered):
        tabs = [tab.id for tab in state.of(vault).tabs.values()]
        _check_order(data.tab_ids, tabs, "tabIds", "temporary tabs")
    return vault


def _open_vault(state: WorkspaceState, vault_id: VaultId | None) -> VaultId:
    if vault_id is None:
        raise InvalidArgument(
            "No vault is open, so there is nothing to publish to.", hint="Start the daemon with --vault DIR."
        )
    vault = state.vaults.get(vault_id)
    if vault is None or not vault.open:
        known = ", ".join(each.id for each in state.vaults.values() if each.open)
        raise InvalidArgument(
            f"There is no open vault {vault_id[:ID_CHARS_MAX]!r}.", hint=f"Open vaults: {known or 'none'}."
        )
    return vault_id


def _check_order(order: Sequence[str], of: Sequence[str], field: str, things: str) -> None:
    if not is_permutation(order, of):
        raise InvalidArgument(
            f"`{field}` is no permutation of the {len(of)} {things}; it names {len(order)}.",
            hint="Name each exactly once; read the state first, since another client may have changed them.",
        )


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A state, and the moment at which the next action is appended to it."""

    state: WorkspaceState
    seq: int
    """The last sequence; new tabs are named by sequences."""
    time: str
    """Of the events to append."""

    def then(self, data: c.Data, vault: VaultId | None, source: str) -> "Planned":
        """After an action with `data`, folded as the writer folds its event."""
        seq = self.seq + 1
        event = c.ENTRY_OF[type(data)].event(seq, "", self.time, source, vault, data)
        return Planned(apply(self.state, event), seq, self.time)

    def after(self, actions: Sequence[Action], source: str) -> "Planned":
        """After `actions`; those that name no source are of `source`."""
        planned = self
        for action in actions:
            planned = planned.then(action.data, action.vault, action.source or source)
        return planned


Plan = Callable[[Planned], Sequence[Action]]
"""Chooses the actions at the moment of the append."""


ENVELOPE_HINT: Final = (
    'An action is {"type": "note_pinned", "data": {"note": "work/plan.md"}}, with "id" and "vault" where needed.'
)
_NEAR_MAX: Final = 3


def actions_hint(wanted: str = "") -> str:
    """The actions that a client may publish; first those of a name near to `wanted`."""
    names = sorted(name for name, entry in CATALOGUE.items() if entry.by_ui)
    near = get_close_matches(wanted, names, _NEAR_MAX)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}Actions: {', '.join(names)}."


def data_hint(entry: Entry) -> str:
    """The fields of an action's data, each with what it may hold."""
    fields = inspect.type_info(entry.data).fields  # type: ignore[attr-defined]  # data are structs
    words = [_field(each, each.name in entry.notes) for each in fields]
    return f"{entry.name} takes {'; '.join(words) or 'no fields'}."


def _field(field: inspect.Field, is_note: bool) -> str:
    optional = "" if field.required else " (optional)"
    type_ = _type(field.type)
    if is_note:
        type_ = type_.replace("text", "a note's path")
    return f"{field.encode_name}: {type_}{optional}"


def _type(type_: Any) -> str:
    match type_:
        case inspect.Metadata():
            return _type(type_.type)
        case inspect.UnionType():
            return " or ".join(_type(each) for each in type_.types)
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, type_.values))}"
        case inspect.EnumType():
            return f"one of {', '.join(str(each.value) for each in type_.cls)}"
        case inspect.IntType():
            return "a whole number" + (f" of at least {type_.ge}" if type_.ge is not None else "")
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list of {_type(type_.item_type)}"
        case inspect.StrType():
            return "text"
        case _:
            return "a value"
