"""What messages were given with its text, told from the log alone: no View is asked, so the assembler may use it.

It comes to the same artifacts as in the turn that it was given in (attachments.py); so whatever later prompts say
of that turn, such as its skills and the numbers of its sources, is what the turn's own prompt said.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of
from workspaced_events.schema.catalogue import ArtifactKind, Attachment

from ...errors import NotRecorded
from ...limits import ATTACHED_CHARS_MAX
from ..model.types import Artifact, Texts

NOT_GIVEN: Final = "NOT_GIVEN"
"""Only the runtime has its text, and gave none."""
TOO_LARGE: Final = "TOO_LARGE"
"""Longer than ATTACHED_CHARS_MAX, or than ATTACHED_IMAGE_BYTES_MAX."""
DUPLICATE_ID: Final = "DUPLICATE_ID"
"""Another text was attached under the same id before."""


def named(attachment: Attachment) -> Artifact:
    """What the attachment alone tells: an artifact without its text; of a folder or tag, one that says so."""
    title = attachment.title or attachment.id or attachment.kind
    if attachment.kind == "folder":
        return Artifact("note", f"{attachment.id.strip('/')}/", title)
    if attachment.kind == "tag":
        return Artifact("note", f"#{attachment.id.removeprefix('#')}", title)
    return Artifact(attachment.kind, attachment.id or attachment.text_sha256 or "", title, form=attachment.form)


def distinct(artifacts: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """The artifacts, each once; one that has another text than an earlier one of its id is failed."""
    found: list[Artifact] = []
    shown: dict[tuple[ArtifactKind, str], Artifact] = {}
    for artifact in artifacts:
        known = shown.get((artifact.kind, artifact.id))
        if known is None or (known.failed is not None and artifact.failed is None):
            shown[artifact.kind, artifact.id] = artifact
            found.append(artifact)
        elif _is_given(artifact) and artifact.revision and _said(artifact) != _said(known):
            nothing = replace(artifact, revision="", before="", after="", media_type=None, bytes=0)
            found.append(replace(nothing, failed=DUPLICATE_ID))
    return tuple(found)


def _is_given(artifact: Artifact) -> bool:
    """Whether two of one id may be two things: a note, read twice, is one."""
    return artifact.note is None or artifact.kind == "selected_text"


def _said(artifact: Artifact) -> tuple[str, str, str]:
    return artifact.revision, artifact.before, artifact.after


def skills_of(message: Message, texts: Texts, lost: Collection[str]) -> tuple[Artifact, ...]:
    """The skills that the message was given.

    Raises:
        NotRecorded: a text is neither kept nor among the `lost`.
    """
    return distinct(_given(filter(_is_skill, message.attachments), texts, lost))


def searches_of(message: Message, texts: Texts, lost: Collection[str]) -> tuple[Artifact, ...]:
    """The results of searches that the message was given.

    Raises:
        NotRecorded: as `skills_of`.
    """
    found = distinct(_given((each for each in message.attachments if each.kind == "tool_result"), texts, lost))
    return tuple(each for each in found if each.form == "search")


def lost_of(
    conversation: Conversation, message: MessageId, texts: Texts, *, with_turn: bool = False
) -> tuple[str, ...]:
    """What the turns before that of `message` were given of these and what is not kept any more.

    `with_turn`: that one belongs to them.
    """
    ids = list(conversation.messages)
    end = ids.index(message) + 1 if with_turn else ids.index(turn_of(conversation, message))
    found: dict[str, None] = {}
    for each in map(conversation.messages.__getitem__, ids[:end]):
        searched = any(attachment.form == "search" for attachment in each.attachments)
        for attachment in each.attachments:
            sha256 = attachment.text_sha256
            if sha256 is not None and (_is_skill(attachment) or (searched and attachment.kind == "tool_result")):
                try:
                    texts(sha256)
                except NotRecorded:
                    found[sha256] = None
    return tuple(found)


def _is_skill(attachment: Attachment) -> bool:
    return attachment.kind == "skill"


def _given(attachments: Iterable[Attachment], texts: Texts, lost: Collection[str]) -> Iterator[Artifact]:
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
