"""What the daemon says of the editor, in the words of Claude Code's link. Pure.

Lines count from 0 here, and from 1 in the daemon. Names and fields are those of coder/claudecode.nvim, PROTOCOL.md
(2026-06-25), compared with what Claude Code 2.1.330 takes.
"""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from workspaced_events.ids import is_markdown

Json = dict[str, Any]
_NOWHERE: Final = {"line": 0, "character": 0}
_NOTHING: Final = {"start": _NOWHERE, "end": _NOWHERE, "isEmpty": True}
NO_SELECTION: Final[Json] = {"text": "", "filePath": "", "fileUrl": "", "selection": _NOTHING}
"""The parameters of `selection_changed` where no note is shown. Takes back what was told before."""


def selection_of(view: Json | None, folder: str) -> Json:
    """The parameters of `selection_changed`.

    Args:
        view: what the daemon lets be told; None: nothing.
        folder: of the vault.
    """
    if view is None or view["active"] is None:
        return NO_SELECTION
    path = PurePosixPath(folder, view["active"])
    selected = view["selection"]
    told = {"text": "", "filePath": str(path), "fileUrl": path.as_uri(), "selection": _NOTHING}
    if selected is None:
        return told
    start = {"line": selected["startLine"] - 1, "character": 0}
    end = {"line": selected["endLine"] - 1, "character": selected["endCharacter"]}
    return {**told, "text": selected["text"], "selection": {"start": start, "end": end, "isEmpty": False}}


def current_selection(view: Json | None, folder: str) -> Json:
    """The answer of `getCurrentSelection` and `getLatestSelection`."""
    told = selection_of(view, folder)
    if told is NO_SELECTION:
        return {"success": False, "message": "No active editor found"}
    return {"success": True, **told}


def open_editors(view: Json | None, folder: str) -> Json:
    """The answer of `getOpenEditors`. Whether a note is saved is not known, so none is called dirty."""
    if view is None:
        return {"tabs": []}
    return {
        "tabs": [
            {
                "uri": PurePosixPath(folder, note).as_uri(),
                "isActive": note == view["active"],
                "label": PurePosixPath(note).name,
                "languageId": "markdown" if is_markdown(note) else "plaintext",
                "isDirty": False,
            }
            for note in view["open"] or ()
        ]
    }


def workspace_folders(folders: Sequence[str]) -> Json:
    """The answer of `getWorkspaceFolders`; the first folder is the vault."""
    paths = [PurePosixPath(folder) for folder in folders]
    listed = [{"name": path.name, "uri": path.as_uri(), "path": str(path)} for path in paths]
    return {"success": True, "folders": listed, "rootPath": str(paths[0])}


def text_result(answer: Json | str, *, is_error: bool = False) -> Json:
    """The result of a tool: its answer as text."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
