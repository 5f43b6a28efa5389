"""The hidden tool `volunteer_context`: its answer is the text that an agent is told without asking.

No list shows it and no client may call it; the daemon calls it for a runtime's hook. As a tool it sees the
workspace through a `View`, so the share policy holds, and its answer is recorded and replayed as any other.
"""

from collections.abc import Container
from typing import Any, Final

import msgspec
from pydantic import Field

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import Selection

from ..answers import Part
from ..notes.note import Note
from ..ports.history import ChangedLines
from ..ports.questions import LinesChanged, Names, Read
from ..ports.view import View
from ..tools.line_changes import lines_of
from ..tools.linked_workspace import of_person
from ..tools.note_answers import served_vault
from ..tools.tool import Answer, PresentArguments, Tool
from .sight import Difference, Seen, Sight, difference, notes_of
from .wording import Form, SelectedText, block, changed_lines_of, textless_line, texts_of, vault_line, whole_lines


class VolunteerContext(PresentArguments):
    told: Sight | None = None
    """What the session was told last; without it, it is told everything."""
    form: Form = "tagged"
    selection: bool = True
    """Whether what is selected may be told."""
    active_text: bool = False
    """Whether the active note's text is told, too."""
    attached: list[str] = Field(default_factory=list)
    """Paths of other notes whose texts are told."""
    of_person: bool = False
    """Whether the user is followed to the machine of a link that they touched last, as tools do."""


class Volunteered(Part):
    text: str | None
    """Null: nothing changed."""
    sight: dict[str, Any]
    """The `Sight`: what the session has been told once it got the text."""
    notes: list[str]
    """Those that the text names."""
    textless: list[str]
    """Names of which it says that they have no text: also of notes that do not exist, or are withheld."""


class _Answer(msgspec.Struct, frozen=True):
    data: msgspec.Raw = msgspec.Raw(b"{}")


def text_told(tool: str, answer: bytes) -> bytes:
    """What somebody was told by an answer of a hidden tool: its text, or its values as JSON."""
    data = bytes(msgspec.json.decode(answer, type=_Answer).data)
    return (msgspec.json.decode(data).get("text") or "").encode() if tool == VOLUNTEER.name else data


def volunteer_context(view: View, arguments: VolunteerContext) -> Answer[Volunteered]:
    """
    Raises:
        NoActiveVault.
    """
    if arguments.of_person:
        view = of_person(view)
    vault, state = served_vault(view)
    seen = Seen(view, with_selection=arguments.selection)
    sight, told = seen.sight, arguments.told
    selected = selected_text(seen.selection, seen.notes.get(sight.active) if sight.active is not None else None)
    current = view.current
    assert current is not None, "A served vault is current."
    folder = current.path if view.sharing == "all" else None
    if told is None:
        lines = whole_lines(sight, selected, vault=current.name, folder=folder)
        notes = notes_of(sight)
    else:
        pins = {pin.id: pin.pinned_at for pin in state.pins.values()}
        changed = difference(told, sight, pins=pins, moved_to=lambda old: state.current_path(NoteId(old)))
        # Of the notes that went, those that exist, and are not withheld by now.
        gone = list(dict.fromkeys(map(NoteId, (*changed.unpinned, *changed.closed))))
        refs = view.vault.ask(Names(gone)) if gone else []
        nameable = {note for note, ref in zip(gone, refs, strict=True) if ref is not None}

        def edit_of(note: str, before: str) -> ChangedLines | None:
            return vault.ask(LinesChanged(NoteId(note), before))

        lines = changed_lines_of(changed, sight, selected, may_name=lambda note: note in nameable, edit_of=edit_of)
        notes = _named(changed, sight, nameable)
        if not told.vault:
            lines = [vault_line(current.name, folder), *lines]
    texts, textless = _texts(view, seen, arguments)
    lines += texts_of({note: found.body for note, found in texts.items()})
    if textless:
        lines.append(textless_line(textless))
    notes += [note for note in texts if note not in notes]
    sight = sight.model_copy(
        update={
            "texts": {
                **(told.texts if told is not None else {}),
                **{note: found.source_sha256 for note, found in texts.items()},
                **dict.fromkeys(textless, ""),
            }
        }
    )
    text = block(lines, as_of_seq=view.as_of_seq, form=arguments.form) if lines else None
    data = Volunteered(text, sight.model_dump(by_alias=True), notes, textless)
    return Answer(data, "Nothing changed." if text is None else f"{len(text)} characters.")


def _texts(view: View, seen: Seen, arguments: VolunteerContext) -> tuple[dict[str, Note], list[str]]:
    """The notes whose texts are asked for and were not told as they are now; and the names without a text of which
    that was not told."""
    active = [seen.sight.active] if arguments.active_text and seen.sight.active is not None else []
    wanted = list(dict.fromkeys(map(NoteId, (*active, *arguments.attached))))
    found: list[Any] = view.vault.ask(Read(wanted)) if wanted else []
    told = arguments.told.texts if arguments.told is not None else {}
    notes = {str(name): note if type(note) is Note else None for name, note in zip(wanted, found, strict=True)}
    return (
        {name: note for name, note in notes.items() if note is not None and told.get(name) != note.source_sha256},
        [name for name, note in notes.items() if note is None and told.get(name) != ""],
    )


def _named(changed: Difference, sight: Sight, nameable: Container[str]) -> list[str]:
    looked_at = [sight.active] if changed.looks_elsewhere and sight.active is not None else []
    gone = [note for note in (*changed.unpinned, *changed.closed) if note in nameable]
    moved = [name for names in changed.renamed for name in names]
    edited = [note for note, _ in changed.edited]
    return list(dict.fromkeys((*looked_at, *changed.pinned, *gone, *changed.opened, *moved, *edited)))


def selected_text(selection: Selection | None, note: Any) -> SelectedText | None:
    """The selection with its text: the editor's, which may not be saved yet, else the file's. What is no note (any
    more) has none."""
    if selection is None:
        return None
    text = selection.text if isinstance(note, Note) else None
    if text is None and isinstance(note, Note):
        text = "".join(lines_of(note.text)[selection.start_line - 1 : selection.end_line])
    return SelectedText(selection.start_line, selection.end_line, (text or "").rstrip("\n"))


VOLUNTEER: Final[Tool[Any]] = Tool(
    name="volunteer_context",
    description="What an agent is told without asking.",
    arguments=VolunteerContext,
    data=Volunteered,
    function=volunteer_context,
)
