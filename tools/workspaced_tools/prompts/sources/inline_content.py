"""Attachments whose content was sent inline. Pure: read from the log, never through the View.

They give the same artifacts as in their own turn (attachments.py). So later prompts show the skills of that turn
as the turn's own prompt did.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, count, islice
from typing import Final

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of
from workspaced_events.schema.catalogue import ArtifactKind, Attachment

from ...errors import NotRecorded
from ...limits import ATTACHED_CHARS_MAX
from ..model.types import Artifact, Texts

NOT_GIVEN: Final = "NOT_GIVEN"
"""Only the runtime has the text, and it sent none."""
TOO_LARGE: Final = "TOO_LARGE"
"""Longer than ATTACHED_CHARS_MAX, or than ATTACHED_IMAGE_BYTES_MAX."""
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


def skills_of(message: Message, texts: Texts, lost: Collection[str]) -> tuple[Artifact, ...]:
    """The skills attached to the message.

    Raises:
        NotRecorded: a text is neither kept nor in `lost`.
    """
    return distinct(_inline(filter(_is_skill, message.attachments), texts, lost))


def lost_of(conversation: Conversation, message: MessageId, texts: Texts, *, with_turn: bool) -> tuple[str, ...]:
    """The sha256 of skills attached before the turn of `message` that are no longer kept.

    `with_turn`: includes the turn of `message`.
    """
    ids = list(conversation.messages)
    end = ids.index(message) + 1 if with_turn else ids.index(turn_of(conversation, message))
    found: dict[str, None] = {}
    for each in islice(conversation.messages.values(), end):
        for skill in filter(_is_skill, each.attachments):
            if skill.text_sha256 is not None:
                try:
                    texts(skill.text_sha256)
                except NotRecorded:
                    found[skill.text_sha256] = None
    return tuple(found)


def _is_skill(attachment: Attachment) -> bool:
    return attachment.kind == "skill"


def _inline(attachments: Iterable[Attachment], texts: Texts, lost: Collection[str]) -> Iterator[Artifact]:
    for attachment in attachments:
        sha256, artifact = attachment.text_sha256, named(attachment)
        if sha256 is None:
            yield replace(artifact, failed=NOT_GIVEN)
        elif sha256 in lost:
            yield replace(artifact, failed=NotRecorded.code)
        elif len(text := texts(sha256)) > ATTACHED_CHARS_MAX:
            yield replace(artifact, failed=TOO_LARGE)
        else:
            yield replace(artifact, revision=sha256, bytes=len(text.encode()))
