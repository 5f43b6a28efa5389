"""The images of a note in an answer: their names and sizes in the data, their bytes beside it."""

from workspaced_events.ids import NoteId

from ..answers import EmbeddedImage
from ..ports.asking import VaultPort
from ..ports.images import NoteImage
from ..ports.questions import Images


def images_of(note: NoteId, vault: VaultPort, warnings: list[str]) -> tuple[list[EmbeddedImage], list[NoteImage]]:
    """The entries for the images that a note embeds, and the images to send, in the same order.

    Adds a warning if the note embeds more images than are shown.
    """
    found = vault.ask(Images(note))
    if (more := found.total - len(found.images)) > 0:
        warnings.append(f"The note embeds {found.total} images; the last {more} are not shown.")
    entries: list[EmbeddedImage] = []
    shown: list[NoteImage] = []
    for image in found.images:
        if isinstance(image, NoteImage):
            entries.append(_entry(image))
            shown.append(image)
        else:
            entries.append(EmbeddedImage(image.address, code=image.code, error=image.message))
    return entries, shown


def _entry(image: NoteImage) -> EmbeddedImage:
    width, height = (None, None) if image.width is None or image.height is None else (image.width, image.height)
    return EmbeddedImage(
        path=image.path,
        media_type=image.media_type,
        bytes=len(image.content),
        sha256=image.sha256,
        width=width,
        height=height,
        scaled=image.scaled or None,
    )
