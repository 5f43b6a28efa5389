"""The roles of one daemon: those of its settings, and for each client the notes of one folder that it may see.

A note is a role by its place: its path below the folder, without `.md`, is the name, its body the system prompt.
Notes are read through the client's view. So a withheld note is no role, and for a client that may see names only
no note is one, because a role is a text. A role of the settings hides a note of its name.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from pydantic import ValidationError

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import ConversationId, NoteId, note_id
from workspaced_events.journal.actions import Action
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NoteNotFound
from workspaced_tools.limits import ECHO_CHARS_MAX
from workspaced_tools.notes.note import Note, NoteFailure
from workspaced_tools.ports.questions import Members, Read
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.prompts.sources.pinned import checked_parameters, folder_id
from workspaced_tools.tools.registry import EVERY_TOOL, TOOLS

from ..errors import AgentInvalid, SettingsInvalid
from ..limits import PINS_PER_CONVERSATION_MAX, ROLE_NOTES_LISTED_MAX, ROLE_SYSTEM_CHARS_MAX, ROLES_IN_SETTINGS_MAX
from ..settings.role import Role, RolePin, Source

_ROLES_NAMED_MAX: Final = 20
"""Roles that an error names."""
_SUFFIX: Final = ".md"
_FIELDS: Final = ("tools", "pins")
"""What is read of a note's front matter; other fields are the user's own."""
ROLE_PINS: Final = "agent/"
"""What the ids of a role's pins begin with; the number follows, from 1 on."""


class ListedRole(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A role in a list: what it would fill in, without its texts."""

    name: str
    source: Source
    path: NoteId | None = None
    """Of a role that is a note."""
    tools: tuple[str, ...] | None = None
    pins: tuple[str, ...] = ()
    """The kinds of its pins."""
    problem: str | None = None
    """Why it cannot be used."""


class ListedRoles(NamedTuple):
    agents: Sequence[ListedRole]
    """Those of the settings first; then the notes, by path."""
    total: int
    """Greater than the length of `agents` if there are more notes than are read for a list."""


class Roles:
    """Safe from any thread."""

    def __init__(
        self, configured: Mapping[str, Role] | None = None, folder: str | None = None, *, has_memory: bool = False
    ) -> None:
        """
        Args:
            configured: the roles of the settings, by name.
            folder: of the vault, for role notes; None: no note is a role.
            has_memory: whether the daemon has the tool `memory`.

        Raises:
            SettingsInvalid: a role names a tool that does not exist, or a pin lacks a parameter; there are too
                many roles; the folder is no folder in a vault.
        """
        self._configured = dict(configured or {})
        self._tools = EVERY_TOOL if has_memory else TOOLS
        if len(self._configured) > ROLES_IN_SETTINGS_MAX:
            raise SettingsInvalid(
                f"Setting 'agents': {len(self._configured)} roles; at most {ROLES_IN_SETTINGS_MAX} are taken.",
                hint="Write roles as notes, and name their folder in `agents_folder`.",
            )
        for name, role in self._configured.items():
            if (problem := self._problem(role)) is not None:
                raise SettingsInvalid(
                    f"Setting 'agents.{name}': {problem}", hint="Mend the role, and start again."
                )
        self._folder = _checked_folder(folder) if folder is not None else None

    @property
    def folder(self) -> str | None:
        """The folder of role notes in each vault."""
        return self._folder

    def find(self, view: View, name: str) -> Role:
        """The role of that name.

        Raises:
            WorkspacedError: there is none that the client may use; lists those that there are.
            AgentInvalid: its note cannot be used as a role.
        """
        if (role := self._configured.get(name)) is not None:
            return role
        if (note := self._note(view, name)) is None:
            notes, total = self._notes(view, _ROLES_NAMED_MAX)
            names = [*self._configured, *notes][:_ROLES_NAMED_MAX]
            more = len(self._configured) + total - len(names)
            listed = ", ".join(names) or "none"
            raise WorkspacedError(
                f"There is no role {name!r}.",
                hint=f"Roles: {listed}{f' and {more} more' if more > 0 else ''}.",
                code="UNKNOWN_AGENT",
            )
        return self._role_of(name, note)

    def list(self, view: View) -> ListedRoles:
        """The roles that the client may use. Reads at most ROLE_NOTES_LISTED_MAX notes, one at a time."""
        listed = [_listed(name, "settings", role) for name, role in self._configured.items()]
        notes, total = self._notes(view, ROLE_NOTES_LISTED_MAX)
        for name, path in notes.items():
            if (found := _read(view, path)) is None:
                continue  # deleted, or withheld, since the index was asked
            try:
                listed.append(_listed(name, "note", self._role_of(name, found), path))
            except AgentInvalid as error:
                listed.append(ListedRole(name, "note", path, problem=error.message))
        return ListedRoles(listed, len(self._configured) + total)

    def _note(self, view: View, name: str) -> Note | NoteFailure | None:
        """The note of that name, or why it cannot be read; None if there is none for this client."""
        if self._folder is None or not _shows_texts(view):
            return None
        try:
            path = note_id(f"{self._folder}/{name}{_SUFFIX}")
        except WorkspacedError:  # no path inside the folder
            return None
        return _read(view, path) if path.startswith(f"{self._folder}/") else None

    def _notes(self, view: View, limit: int) -> tuple[dict[str, NoteId], int]:
        """The names and paths of the first `limit` role notes, by path, and the number of all."""
        if self._folder is None or not _shows_texts(view):
            return {}, 0
        found = view.vault.ask(Members(self._folder, None, limit))
        begin = len(self._folder) + 1
        paths = {
            ref.path[begin:].removesuffix(_SUFFIX): ref.id for ref in found.notes if ref.path.endswith(_SUFFIX)
        }
        notes = {name: path for name, path in paths.items() if name not in self._configured}
        return notes, found.total - (len(found.notes) - len(notes))

    def _role_of(self, name: str, note: Note | NoteFailure) -> Role:
        """The role that a note is.

        Raises:
            AgentInvalid: it is none, or cannot be read; names the field.
        """
        if isinstance(note, NoteFailure):
            raise _invalid(name, f"its note cannot be read: {note.message}")
        if note.front_matter.problem is not None:
            raise _invalid(name, note.front_matter.problem)
        if len(note.body) > ROLE_SYSTEM_CHARS_MAX:  # before it is copied
            raise _invalid(name, f"its text has {len(note.body)} characters, of at most {ROLE_SYSTEM_CHARS_MAX}.")
        if not note.body.strip():
            raise _invalid(name, "its note has no text, which is the system prompt.")
        given = {field: note.fields[field] for field in _FIELDS if note.fields.get(field) is not None}
        try:
            role = Role.model_validate({**given, "system": note.body})
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))[:ECHO_CHARS_MAX]
            raise _invalid(name, f"`{field}`: {first['msg']}.") from None
        if (problem := self._problem(role)) is not None:
            raise _invalid(name, problem)
        return role

    def _problem(self, role: Role) -> str | None:
        """Why the role could not be followed; None if it can be."""
        for at, tool in enumerate(role.tools or ()):
            if tool not in self._tools:
                return f"`tools.{at}`: there is no tool {tool!r}; there are {', '.join(self._tools)}."
        for at, pin in enumerate(role.pins):
            try:
                checked_parameters(pin.kind, path=pin.path, folder=pin.folder, text=pin.text)
            except WorkspacedError as error:
                return f"`pins.{at}`: {error.message}"
        return None


def _checked_folder(folder: str) -> str:
    try:
        checked = folder_id(folder)
    except WorkspacedError as error:
        raise SettingsInvalid(f"Setting 'agents_folder': {error.message}", hint=error.hint) from None
    if not checked:
        raise SettingsInvalid(
            "Setting 'agents_folder': expected a folder of the vault, got all of it.",
            hint="Name a folder that holds nothing but roles, such as `Agents`.",
        )
    return checked


def _shows_texts(view: View) -> bool:
    return view.served and view.sharing == "all"


def _read(view: View, path: NoteId) -> Note | NoteFailure | None:
    """None: there is no such note for this client."""
    [found] = view.vault.ask(Read([path]))
    is_missing = isinstance(found, NoteFailure) and found.code == NoteNotFound.code
    return None if is_missing else found


def _invalid(name: str, problem: str) -> AgentInvalid:
    return AgentInvalid(
        f"The role {name!r} cannot be used: {problem}", hint="Mend its note, or name another role."
    )


def _listed(name: str, source: Source, role: Role, path: NoteId | None = None) -> ListedRole:
    return ListedRole(name, source, path, role.tools, tuple(pin.kind for pin in role.pins))


def pin_actions(role: Role, name: ConversationId, conversation: Conversation | None) -> list[Action]:
    """What makes the role's pins those of the conversation, in place of another role's. Other pins stay.

    Args:
        conversation: None: it is about to begin.

    Raises:
        InvalidArgument: the conversation would hold too many pins.
    """
    before = conversation.pins if conversation is not None else {}
    vault = conversation.vault if conversation is not None else None
    wanted = {f"{ROLE_PINS}{number}": pin for number, pin in enumerate(role.pins, start=1)}
    gone = [each for each in before if each.startswith(ROLE_PINS) and each not in wanted]
    count = len(before.keys() | wanted) - len(gone)
    if count > PINS_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"With those of its role the conversation has {count} pins, of at most {PINS_PER_CONVERSATION_MAX}.",
            hint="Unpin some first.",
        )
    actions = [Action(c.ContextUnpinned(conversation=name, id=each), vault=vault) for each in gone]
    for key, pin in wanted.items():
        staging = BlobStaging()
        data = _pinned(name, key, pin, staging)
        there = before.get(key)
        if there is None or (there.kind, there.path, there.folder, there.text_sha256) != (
            data.kind,
            data.path,
            data.folder,
            data.text_sha256,
        ):
            actions.append(Action(data, vault=vault, blobs=tuple(staging.blobs.values())))
    return actions


def _pinned(name: ConversationId, key: str, pin: RolePin, staging: BlobStaging) -> c.ContextPinned:
    path, folder, text = checked_parameters(pin.kind, path=pin.path, folder=pin.folder, text=pin.text)
    return c.ContextPinned(
        conversation=name,
        id=key,
        kind=pin.kind,
        path=path,
        folder=folder,
        text_sha256=staging.text(text) if text is not None else None,
    )
