"""The note that the vault's owner means: by its path, its name, or as agents name notes.

Withheld ones are found too, which agents find by no name.
"""

import re
from typing import Final

from workspaced_events.ids import NoteId, note_id
from workspaced_tools.errors import AmbiguousReference, NoteNotFound, SharingOff, ToolError
from workspaced_tools.notes.name_keys import stem, without_case, without_ending
from workspaced_tools.ports.view import View
from workspaced_tools.tools.read_note import only_note
from workspaced_tools.tools.references import resolved

from ..calls.calls import Calls
from ..vaults.served_vault import ServedVault

_LINK: Final = re.compile(r"!?\[\[([^\]|#]+)[^\]]*\]\]")
"""A wikilink, with the name of its note."""
_NEAR_MAX: Final = 5
_NEAR_SCORE_MIN: Final = 60


async def owners_note(calls: Calls, served: ServedVault, named: str, caller: str) -> NoteId:
    """The note.

    Raises:
        AmbiguousReference: several notes have the name, listed in the hint.
        NoteNotFound: none has; the hint lists near ones.
    """
    known = sorted(served.vault.known_to_owner())
    link = _LINK.fullmatch(named)
    name = without_case(link[1].strip() if link else named)
    same = [path for path in known if name in (without_case(path), without_case(without_ending(path)))]
    same = same or [path for path in known if without_case(stem(path)) == stem(name)]
    if len(same) > 1:
        raise AmbiguousReference(f"{named!r} names {len(same)} notes.", hint=f"Give one: {_listed(same)}.")
    if same:
        return note_id(same[0])
    try:
        found = await calls.with_views(
            lambda shown, _requested: _as_agents_name_it(shown[0], named), caller, served.id, works_paused=True
        )
    except SharingOff:
        found = None
    if found is not None:
        return found
    near = _near(name, known)
    hint = f"Near: {_listed(near)}." if near else "Check the spelling, or give a path from the vault's root."
    raise NoteNotFound(f"There is no note {named!r}, and the log remembers none.", hint=hint, near=near)


def _as_agents_name_it(view: View, named: str) -> NoteId | None:
    try:
        return NoteId(only_note(resolved(view, named), named, view.vault).id)
    except ToolError:
        return None


def _near(name: str, known: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process  # it takes its time, and is seldom needed

    names = {path: without_case(stem(path)) for path in known}
    found = process.extract(stem(name), names, scorer=fuzz.ratio, limit=_NEAR_MAX, score_cutoff=_NEAR_SCORE_MIN)
    return [path for _name, _score, path in found]


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:_NEAR_MAX]) + (", ..." if len(paths) > _NEAR_MAX else "")
