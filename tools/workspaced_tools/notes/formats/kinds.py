"""What kind of file a path names, by its ending."""

from typing import Final

from ...code.languages import language_of

CANVAS: Final = "canvas"
PDF: Final = "pdf"
IMAGE: Final = "image"
_IMAGES: Final = frozenset({"avif", "bmp", "gif", "heic", "jpeg", "jpg", "png", "svg", "webp"})
"""Images for us, even if no agent is sent images of such a type."""
_KINDS: Final = {
    "canvas": CANVAS,
    "base": "base",
    "pdf": PDF,
    **dict.fromkeys(_IMAGES, IMAGE),
    **dict.fromkeys(("aac", "flac", "m4a", "mp3", "oga", "ogg", "opus", "wav"), "audio"),
    **dict.fromkeys(("3gp", "avi", "mkv", "mov", "mp4", "ogv", "webm"), "video"),
    **dict.fromkeys(("doc", "docx", "epub", "odp", "ods", "odt", "ppt", "pptx", "rtf", "xls", "xlsx"), "document"),
}
"""By ending: what a user looks at, and no language."""
ATTACHED: Final = frozenset(_KINDS) - {"canvas", "base"}
"""The endings of files that belong to the notes that name them: they are withheld with those."""


def ending_of(path: str) -> str:
    """What stands behind the last dot of a file's name, in lower case; empty if there is none."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot else ""


def kind_of(path: str) -> str:
    """The kind of a file that is no Markdown: one of the above, `text` for a known language, else `file`."""
    return _KINDS.get(ending_of(path)) or ("text" if language_of(path) is not None else "file")


def is_image_name(name: str) -> bool:
    """Whether a file's name or path ends as an image's."""
    return ending_of(name) in _IMAGES


def is_canvas(path: str) -> bool:
    return path[-7:].lower() == ".canvas"
