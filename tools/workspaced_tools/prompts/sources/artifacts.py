"""The artifacts of one message's attachments: what each is called, and each once. Pure."""

from collections.abc import Iterable, Mapping
from itertools import chain, count
from typing import Final

from msgspec.structs import replace

from workspaced_events.schema.catalogue import ArtifactKind, Attachment

from ..model.types import Artifact

DUPLICATE_ID: Final = "DUPLICATE_ID"
"""An earlier attachment has the same id and another text."""


def named(attachment: Attachment) -> Artifact:
    """The artifact of an attachment without its text; for a folder or tag, an artifact named after it."""
    title = attachment.title or attachment.id or attachment.kind
    if attachment.kind == "folder":
        return Artifact("note", f"{attachment.id.strip('/')}/", title)
    if attachment.kind == "tag":
        return Artifact("note", f"#{attachment.id.removeprefix('#')}", title)
    return Artifact(attachment.kind, attachment.id or attachment.text_sha256 or "", title)


def distinct(artifacts: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """The artifacts, each once. An artifact fails if an earlier one of the same id has another text."""
    found: list[Artifact] = []
    shown: dict[tuple[ArtifactKind, str], Artifact] = {}
    for artifact in artifacts:
        if artifact.kind == "dataview":
            artifact = _own_query(artifact, shown)
        known = shown.get((artifact.kind, artifact.id))
        if known is None or (known.failed is not None and artifact.failed is None):
            shown[artifact.kind, artifact.id] = artifact
            found.append(artifact)
        elif artifact.note is not None and artifact.kind != "selected_text":
            continue  # a note that is read twice is one thing
        elif artifact.revision and artifact.revision != known.revision:
            nothing = replace(artifact, revision="", media_type=None, bytes=0)
            found.append(replace(nothing, failed=DUPLICATE_ID))
    return tuple(found)


def _own_query(query: Artifact, shown: Mapping[tuple[ArtifactKind, str], Artifact]) -> Artifact:
    """The query with an id of its own, where an earlier one of the same note gave another text."""
    form = "{} ({})" if "#" in query.id else "{}#{}"
    ids = chain([query.id], (form.format(query.id, number) for number in count(2)))
    known = ((each, shown.get((query.kind, each))) for each in ids)
    is_free = (name for name, one in known if one is None or one.failed or one.revision == query.revision)
    return replace(query, id=next(is_free)) if query.failed is None else query
