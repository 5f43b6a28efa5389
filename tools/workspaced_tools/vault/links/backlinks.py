"""Finds the links to a note: the index returns links whose target could mean it, and the resolver decides."""

from workspaced_events.projections.workspace_state import VaultState

from ...ports.vault import IncomingLink, IncomingLinks, NoteRef
from ..index.entries import NamedNote, target_keys
from ..index.index import Index
from .link_targets import LinkResolver
from .resolver import IndexLookup


def incoming(note: NamedNote, limit: int, state: VaultState, index: Index, lookup: IndexLookup) -> IncomingLinks:
    """The first `limit` links to `note` by source and place, and the number of all."""
    keys = note.name_keys()
    for former, now in state.former.items():
        if now == note.id:
            keys.update(target_keys(former))
    links_of = LinkResolver(lookup, state)
    links: list[IncomingLink] = []
    total = 0
    for row in index.linking(keys):
        if row.source == note.id or lookup.is_withheld(row.source):
            continue
        target = links_of.target(row.source, row.target).note
        if target is not None and target.id == note.id:
            total += 1
            if len(links) < limit:
                source = NoteRef(row.source, row.title, row.source)
                links.append(IncomingLink(source, row.context, row.line, row.heading))
    return IncomingLinks(tuple(links), total, complete=not index.in_part())
