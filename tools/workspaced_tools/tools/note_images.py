"""The images of a note in an answer: their names and sizes in the data, their bytes beside it."""

from workspaced_events.ids import NoteId

from ..ports.asking import VaultPort
from ..ports.images import NoteImage
from ..ports.questions import Images
from .tool import Json, Model


class EmbeddedImage(Model):
    """An image that comes with the answer, or one that is only named: then `code` and `error` say why.

    The bytes of those that come stand after the answer's text, in this order.
    """

    path: str
    """In the vault; of an image that is only named as the note has it."""
    media_type: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    """Of the bytes that are sent."""
    width: int | None = None
    height: int | None = None
    scaled: bool | None = None
    """True if the file is larger: what is sent was made smaller."""
    code: str | None = None
    error: str | None = None


def images_of(note: NoteId, vault: VaultPort, warnings: list[str]) -> tuple[list[Json], list[NoteImage]]:
    """The entries for the images that a note embeds, and the images to send, in the same order.

    Adds a warning if the note embeds more images than are shown.
    """
    found = vault.ask(Images(note))
    if (more := found.total - len(found.images)) > 0:
        warnings.append(f"The note embeds {found.total} images; the last {more} are not shown.")
    entries: list[Json] = []
    shown: list[NoteImage] = []
    for image in found.images:
        if isinstance(image, NoteImage):
            entries.append(_entry(image))
            shown.append(image)
        else:
            entries.append({"path": image.address, "code": image.code, "error": image.message})
    return entries, shown


def _entry(image: NoteImage) -> Json:
    entry: Json = {
        "path": image.path,
        "mediaType": image.media_type,
        "bytes": len(image.content),
        "sha256": image.sha256,
    }
    if image.width is not None and image.height is not None:
        entry |= {"width": image.width, "height": image.height}
    return {**entry, "scaled": True} if image.scaled else entry
