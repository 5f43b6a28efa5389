"""Editors in a sandbox (Flatpak, Snap), which has a runtime directory and a temporary one of its own.

A socket there is another one than ours, so their plugins do not reach a daemon that listens in ours. They see the
user's home, a Snap only what is not hidden in it.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

EDITORS: Final = {
    "Obsidian": ("md.obsidian.Obsidian", "obsidian"),
    "VS Code": ("com.visualstudio.code", "code"),
    "VSCodium": ("com.vscodium.codium", "codium"),
}
"""By the editor's name: what Flatpak and Snap call it."""


class Sandbox(NamedTuple):
    """An editor that was run in a sandbox."""

    editor: str
    kind: str
    traces: Path
    """The directory by which it was noticed."""


def sandboxes(home: Path) -> list[Sandbox]:
    """The sandboxed editors of the user whose home this is."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    found = []
    for editor, (flatpak, snap) in EDITORS.items():
        traces = [("Flatpak", home / ".var" / "app" / flatpak), ("Snap", home / "snap" / snap)]
        if runtime:
            traces.append(("Flatpak", Path(runtime) / "app" / flatpak))
        kinds = {kind: path for kind, path in reversed(traces) if path.is_dir()}
        found += [Sandbox(editor, kind, path) for kind, path in sorted(kinds.items())]
    return found


def is_seen_by(sandbox: Sandbox, socket: Path, home: Path) -> bool:
    """Whether a socket lies where the sandbox sees it."""
    if not socket.is_relative_to(home):
        return False
    names = socket.relative_to(home).parts
    return sandbox.kind != "Snap" or not names[0].startswith(".")
