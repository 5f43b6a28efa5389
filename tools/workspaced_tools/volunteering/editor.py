"""The hidden tool `show_editor`: what an agent's program is told of the editor, over its link to one.

As `volunteer_context`, nobody may call it: the daemon calls it for `workspaced ide`, and its answer is what was
told. The share policy, the recording, the replay and redaction then hold for the link as for any tool.
"""

from typing import Any, Final, Literal

from workspaced_events.projections.workspace_fold import visible_tabs

from ..answers import Part
from ..limits import VOLUNTEERED_SELECTION_CHARS_MAX
from ..ports.questions import Read
from ..ports.view import View
from ..prompts.model.untrusted_text import escape_body
from ..tools.note_answers import served_vault
from ..tools.tool import Answer, PresentArguments, Tool
from .sight import recent_selection
from .tool import VOLUNTEER, selected_text
from .wording import BLOCKS, CUT

EditorPart = Literal["selection", "editors"]
"""What of the editor is told: what is selected in the active note, or which notes are open."""


class ShowEditor(PresentArguments):
    part: EditorPart = "selection"
    selection: bool = True
    """Whether what is selected may be told."""


class SelectedLines(Part):
    """Whole lines of the active note, counted from 1."""

    start_line: int
    end_line: int
    end_character: int
    """Length of the last line in UTF-16 units, as far as it is selected."""
    text: str
    """At most VOLUNTEERED_SELECTION_CHARS_MAX characters, and a mark where it was cut."""


class ShownEditor(Part):
    active: str | None
    selection: SelectedLines | None
    open: list[str] | None
    """The active note and the tabs; null unless the part is `editors`."""


def show_editor(view: View, arguments: ShowEditor) -> Answer[ShownEditor]:
    """
    Raises:
        NoActiveVault.
    """
    _, state = served_vault(view)
    active = state.active.id if state.active is not None and _is_plain(state.active.id) else None
    selection, notes = None, None
    if arguments.part == "editors":
        tabs = [tab.note_id for tab in visible_tabs(state, view.now, view.state.clock_steps)]
        notes = [note for note in dict.fromkeys([*([active] if active else ()), *tabs]) if _is_plain(note)]
    elif active is not None and arguments.selection:
        selection = _selected_lines(view, active)
    data = ShownEditor(active=active, selection=selection, open=notes)
    return Answer(data, "No note is open." if active is None else "The active note.")


def _selected_lines(view: View, active: Any) -> SelectedLines | None:
    selection = recent_selection(view)
    if selection is None or selection.note != active:
        return None
    selected = selected_text(selection, view.vault.ask(Read([active]))[0])
    assert selected is not None, "a selection has lines"
    shown = selected.text[:VOLUNTEERED_SELECTION_CHARS_MAX]
    mark = f"\n{CUT} (of {len(selected.text)} characters)" if len(shown) < len(selected.text) else ""
    last = selected.text.rpartition("\n")[2]
    return SelectedLines(
        start_line=selected.start_line,
        end_line=selected.end_line,
        end_character=len(last.encode("utf-16-le", "surrogatepass")) // 2,
        text=escape_body(shown, blocks=BLOCKS) + mark,
    )


def _is_plain(note: str) -> bool:
    """Whether a name can stand in a prompt as it is. A path that were escaped would lead nowhere."""
    return "\n" not in note and "\t" not in note and escape_body(note, blocks=BLOCKS) == note


SHOW_EDITOR: Final[Tool[Any]] = Tool(
    name="show_editor",
    description="What an agent's program is told of the editor.",
    arguments=ShowEditor,
    data=ShownEditor,
    function=show_editor,
)
HIDDEN: Final[dict[str, Tool[Any]]] = {tool.name: tool for tool in (VOLUNTEER, SHOW_EDITOR)}
"""The tools that no list shows and no client may call, by name."""
