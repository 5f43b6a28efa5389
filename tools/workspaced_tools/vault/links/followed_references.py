"""Resolves a reference given with the note that it stands in: what a click on that link opens.

The rule is the one of links (`link_targets`), so a link that is listed and a link that is followed never differ.
The reference is a link as it is written (`[[Note#Heading]]`, `[text](note.md)`, or `[[#Heading]]` for the note
itself), or the target alone.
"""

import re
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from workspaced_events.projections.workspace_state import VaultState

from ...errors import NoteNotFound
from ...notes.markdown import parse_markdown
from ...ports.vault import NoteRef, Resolution
from .link_targets import LinkResolver
from .resolver import (
    Lookup,
    Reading,
    at_former_path,
    first_at,
    leads_out,
    named_readings,
    note_paths,
    reading_cut_at,
    resolve_reading,
    shown,
    unwrapped,
    without_hit,
)

_WITHIN: Final = re.compile(r"\[[^\]]*\]\((#[^()\s]*)\)")
"""A Markdown link to a heading or block of its own note."""


def resolve_from(reference: str, source: str, lookup: Lookup, state: VaultState) -> Resolution:
    """Resolves `reference` as a link that stands in the note `source`. `complete`: as for `resolve`.

    Args:
        source: the note's path, with or without `.md`; a former path counts.

    Raises:
        ReferenceOutsideVault, SymlinkNotFollowed, ArgumentInvalid: as `resolve`, of either; `..` may lead up
            within the vault.
        NoteNotFound: there is no note `source`.
    """
    origin = _origin(source, lookup, state)
    ways = _ways(reference)
    if not ways[-1].name:
        return Resolution(origin, "path", heading=ways[-1].heading, block=ways[-1].block)
    parts = ways[-1].name.split("/")
    up = next((at for at, part in enumerate(parts) if part not in (".", "..")), len(parts))
    if ".." in parts[up:] or parts[:up].count("..") > origin.id.count("/"):
        raise leads_out(reference)
    links = LinkResolver(lookup, state)
    for way in ways:
        plain = way is ways[-1]
        found = (links.resolve if plain else links.by_file)(origin.id, way.name)
        if found is not None and (found.note is not None or found.candidates):
            exact = way is ways[0] and found.resolved_by == "path"
            return replace(found, heading=way.heading, block=way.block, complete=exact)
    # No link leads anywhere by these names; a title with separators in it still may.
    for way in ways[:-1]:
        found = resolve_reading(way, lookup, state)
        if found is not None:
            return replace(found, complete=False)
    return without_hit(ways, lookup)


def _origin(source: str, lookup: Lookup, state: VaultState) -> NoteRef:
    path = unwrapped(source, "from")
    if path.startswith("/") or ".." in path.split("/"):
        raise leads_out(source, "from")
    note = first_at(note_paths(path), lookup) or at_former_path(path, lookup, state)
    if note is None:
        raise NoteNotFound(
            f"There is no note {shown(source)} for links to stand in",
            hint="Give `from` as the path of the note that holds the link, or leave it out.",
        )
    return note


def _ways(reference: str) -> list[Reading]:
    """The ways to read `reference`, as `readings`; a link that is written out has one. The name is empty for the
    source itself.

    Raises: as `resolve`.
    """
    text = unwrapped(reference)
    written = reference.strip()
    links = parse_markdown(written).links
    if len(links) == 1 and links[0].raw == written:
        return [Reading(links[0].target, links[0].heading, links[0].block)]
    within = _WITHIN.fullmatch(written)
    if within is not None:
        text = unquote(within[1])
    if text[:1] in ("#", "^"):
        return [reading_cut_at(text, 0)]
    return named_readings(text, reference)
