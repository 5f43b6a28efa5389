"""All that a vault's index holds, so that two indexes can be compared."""

from typing import Any

from workspaced_tools.vault.vault import Vault

_WHOLE = {
    "notes": "path, title, front_matter_id, aliases, stat, mtime_ns, sha256, withheld, has_text FROM notes",
    "tag counts": "tag, notes FROM tag_counts WHERE notes <> 0",
    "trigrams": "term, doc FROM gram_terms",
    "trigrams of names": "term, doc FROM name_gram_terms",
    "signs": "term, doc FROM sign_terms",
}
_BY_NOTE = {
    "names": "note, key FROM names",
    "links": "note, n, target, heading, line, context FROM links",
    "link keys": "note, n, key FROM link_keys",
    "tags": "note, tag, shown FROM tags",
    "texts": "note, text FROM texts",
}


def held(vault: Vault) -> dict[str, Any]:
    """By path instead of row; its full-text tables hold these texts and no others."""
    read = vault.index.file.read
    path = dict(read("SELECT note, path FROM notes"))
    found: dict[str, Any] = {what: sorted(read(f"SELECT {sql}"), key=repr) for what, sql in _WHOLE.items()}
    for what, sql in _BY_NOTE.items():
        found[what] = sorted(((path[row[0]], *row[1:]) for row in read(f"SELECT {sql}")), key=repr)
    found["counts"] = (vault.index.count(), vault.index.link_count, vault.index.withheld_count)
    found["spelled"] = {note: vault.root.stat_note(note).st_ino for note in sorted(path.values())}
    return found
