"""Every bound of the reading floor, in one place. Units are the last word of a name."""

from typing import Final

NOTE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a larger file only this much is read, with a warning."""
CACHE_BYTES_MAX: Final = 64 * 1024 * 1024
UNCERTAIN_NS: Final = 2_000_000_000
"""A version younger than this when read may still change without its stat changing: read again next time."""
READ_THREADS: Final = 8

CONTENT_CHARS_MAX: Final = 50_000
INCOMING_LINKS_MAX: Final = 100
LINK_CONTEXT_CHARS_MAX: Final = 240
NEAR_TITLES_MAX: Final = 5
CANDIDATES_MAX: Final = 20
ECHO_CHARS_MAX: Final = 200
INDEX_WAIT_S: Final = 2.0
DIRECTORY_DEPTH_MAX: Final = 64
