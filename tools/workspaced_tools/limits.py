"""The limits of floor 2 that several modules, a test or a document name. The last word of a name is its unit."""

from typing import Final

NOTE_BYTES_MAX: Final = 16 * 1024 * 1024
"""The rest of a larger file is not read; the note has a warning. A file that is no Markdown is not read at all."""
BINARY_HEAD_BYTES: Final = 8 * 1024
"""A NUL among the first bytes of a file that is no Markdown shows that it is no text."""
CACHE_BYTES_MAX: Final = 64 * 1024 * 1024
UNCERTAIN_NS: Final = 2_000_000_000
"""A file changed less than this before it was read may still change without a new stat, so it is read again next
time."""
SETTLE_S: Final = 0.2
"""A file must stay unchanged for this long, by the monotonic clock, before a withheld note may be shown."""
SETTLE_EMPTY_S: Final = 2.0
"""The same for an empty file, which an editor leaves while it saves."""
RENAME_SETTLE_S: Final = 2.0
"""For this long `a (1).md` is no renamed `a.md`, which may come back."""
READ_THREADS: Final = 8
READ_INLINE_S: Final = 0.001
"""Once reading one note took this long, threads read the rest of a call's notes."""
YOUNG_BYTES_MAX: Final = 16 * 1024
"""So many bytes of notes that changed a moment ago are read for one question without a thread."""

CONTENT_CHARS_MAX: Final = 50_000
LINK_CONTEXT_CHARS_MAX: Final = 240
NEAR_TITLES_MAX: Final = 5
CANDIDATES_MAX: Final = 20
ECHO_CHARS_MAX: Final = 200
INDEX_WAIT_S: Final = 2.0
DIRECTORY_DEPTH_MAX: Final = 64
FOLDERS_ENTERED_MAX: Final = 32
"""Folders held open at once while notes are stat'ed."""

FRONT_MATTER_CHARS_MAX: Final = 65_536
FRONT_MATTER_DEPTH_MAX: Final = 64
FRONT_MATTER_EXPANDED_MAX: Final = 262_144
"""Values, and characters in them, that aliases may expand to. Without aliases there are fewer."""
MARKDOWN_WINDOW_BYTES: Final = 1_048_576
"""So much of a text is parsed at once, or more where one block is longer."""
MARKDOWN_BLOCK_BYTES_MAX: Final = 2_097_152
"""A longer block is parsed in parts, a longer line in windows. The parser takes at least 48 times their bytes."""
CONTAINERS_PER_LINE_MAX: Final = 100
"""Quotes and lists that begin in one line. The parser visits each of them for every following line."""
LINK_BYTES_MAX: Final = 4_096
"""A longer text in brackets is no link."""
LINK_TARGET_CHARS_MAX: Final = 1_024
LINKS_PER_NOTE_MAX: Final = 50_000
HEADINGS_PER_NOTE_MAX: Final = 50_000
BLOCK_IDS_MAX: Final = 500
"""Blocks of one note that completion of a link offers."""
HEADING_CHARS_MAX: Final = 1_000
TAGS_PER_NOTE_MAX: Final = 10_000
TAG_CHARS_MAX: Final = 200
NOTE_TITLE_CHARS_MAX: Final = 512
READ_ATTEMPTS_MAX: Final = 4
"""A note that changes during this many reads is returned as last read."""
SEPARATORS_MAX: Final = 8
"""The number of `#`, `^` and `|` in a reference that are tried as the end of its name."""
SCAN_REPORT_NAMES_MAX: Final = 100
"""The number of names that a scan reports for each kind of file that is no note. The rest are only counted."""

# The parts of an answer other than content, so that the whole answer stays near CONTENT_CHARS_MAX.
LISTED_MAX: Final = 500
"""Headings of an outline; outgoing links."""
WARNINGS_MAX: Final = 20
WARNINGS_CHARS_MAX: Final = 4_000
REFERENCE_CHARS_MAX: Final = 2_048

QUERY_WORDS_MAX: Final = 32
CANDIDATES_VERIFIED_MAX: Final = 1_000
"""Of the notes that may hold the words of a search this many are read from the index and verified."""
CHARS_VERIFIED_MAX: Final = 8_388_608
QUESTION_WORDS: Final = 4
"""A search for so many words is a question: notes are ranked by the words that they hold, whether all or some."""
WHOLE_HITS_ENOUGH: Final = 3
"""Where fewer notes hold all the words of a search, notes that hold some follow."""
PIECES_LISTED_MAX: Final = 20_000
"""Rows of the index that may have a piece of a word, over all pieces."""
PARTIAL_WEIGHED_MAX: Final = 2_000
"""Of the notes that may hold some words of a search this many are weighed by their length too."""
PARTIAL_COMPARED_MAX: Final = 100
"""Of these so many are compared on their text, and as many of those that weigh most for their length."""
PARTIAL_CHARS_COMPARED_MAX: Final = 4_194_304
HITS_COMPARED_MAX: Final = 200
"""Of the hits of a search this many are compared with the disk, also beyond the limit of the query."""
SNIPPETS_CHARS_NORMALISED_MAX: Final = 2_097_152
"""The snippets of an answer are looked for in so many characters, best hit first; lines of ASCII do not count."""
COMPLETIONS_COMPARED_MAX: Final = 200
"""Of the workspace's notes, of those whose name begins like what the user has written, and of those whose names
hold it, so many are compared."""
NAMES_COMPARED_MAX: Final = 10_000
NAMES_VERIFIED_MAX: Final = 200
WORDS_WEIGHED_MAX: Final = 1_000
"""Of a note's words so many, the most frequent ones, are looked up for notes like it."""
WORDS_COMPARED_MAX: Final = 300
"""Of these the most telling ones are compared."""
WORDS_LISTED_MAX: Final = 80
"""Notes with any of so many words, the rarest ones, may be like it."""
SIMILAR_WORDS_MAX: Final = 10
"""Words that are given as the reason."""
SIMILAR_COMPARED_MAX: Final = 100
"""Of the notes that may be similar this many are compared."""
TELLING_NOTES_MAX: Final = 1_000
"""A word that occurs in more notes is not distinctive."""
TAGGED_NOTES_MAX: Final = 500
"""The number of notes with one tag that are compared."""

# Images that a note embeds.
IMAGES_SHOWN_MAX: Final = 4
IMAGES_LOOKED_AT_MAX: Final = 16
"""So many are looked for until those are found."""
IMAGE_BYTES_MAX: Final = 1024 * 1024
"""A larger image is sent smaller, if Pillow is installed."""
IMAGE_SIDE_PIXELS_MAX: Final = 1_568
"""The longest side of an image that was made smaller: providers shrink longer ones themselves."""
IMAGE_FILE_BYTES_MAX: Final = 20 * 1024 * 1024
"""A larger file is not read."""
IMAGE_PIXELS_MAX: Final = 50_000_000
"""An image with more is not sent, however few bytes it has: who decodes it needs four bytes for each."""
EMBEDDERS_COMPARED_MAX: Final = 2_000
"""The notes that embed an image are compared with the disk before it is shown. More: not shown."""

# Answers about visits, manifests and the workspace.
MANIFEST_CHARS_MAX: Final = 24_000
"""All entries of one prompt's manifest, as JSON."""

# Search and related notes.
QUERY_CHARS_MAX: Final = 500
RESULTS_LISTED_MAX: Final = 50
"""Notes in one answer about hits or related notes."""
RESULTS_CHARS_MAX: Final = 48_000
"""The notes of such an answer, or the suggestions for a reference, as JSON."""

# The inputs of one prompt.
ATTACHED_CHARS_MAX: Final = 400_000
"""A longer text is not attached."""
ATTACHED_IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024
MEMBERS_ATTACHED_MAX: Final = 200
"""Notes of one attached folder or tag."""
ATTACHED_AT_ONCE: Final = 16
"""The number of these notes that are read and held in memory at once."""
IMAGES_BYTES_MAX: Final = 3 * 1024 * 1024
"""Of all images in a prompt: more of the active note are only named, since a body has a third more as base64."""
PROVIDED_NOTES_MAX: Final = 100
"""Notes that one pinned provider lists."""
PROVIDED_CHANGES_MAX: Final = 10
CONTEXT_TOKENS_MAX: Final = 1_000_000_000
"""Of a context window, and of one count of a provider's."""

# What an agent is told without asking.
VOLUNTEERED_BYTES_MAX: Final = 6_000
"""Of one text. Above 10,000 characters one runtime shows its model a file's name instead."""
VOLUNTEERED_SELECTION_CHARS_MAX: Final = 1_000

# The memory folder. An agent's own texts: small, few, and each one readable in one answer.
MEMORY_FILE_BYTES_MAX: Final = 64 * 1024
"""Of a file that an agent writes or reads."""
MEMORY_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of all files together."""
MEMORY_FILES_MAX: Final = 500
MEMORY_DEPTH_MAX: Final = 8
"""Folders above a file, below the memory folder."""
MEMORY_ENTRIES_SEEN_MAX: Final = 5_000
"""A folder of more entries than this, made by others, is refused instead of listed."""

# Outlines of source code.
OUTLINE_BYTES_MAX: Final = 1024 * 1024
"""A larger file has no outline."""

# The text of PDFs.
PDF_BYTES_MAX: Final = 200 * 1024 * 1024
"""Of a larger file only name and size are known."""
PDF_S: Final = 10
"""How long an agent waits for the text, and how much of a processor it may take."""
PDF_MEMORY_BYTES: Final = 2 * 1024 * 1024 * 1024
"""The address space of a reader's process."""
PDF_TEXT_CHARS_MAX: Final = 2_000_000
"""Of one PDF; the pages after it are not read."""
PDF_TEXTS_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of the texts that are kept."""
