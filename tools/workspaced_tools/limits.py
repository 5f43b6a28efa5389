"""Every bound of the reading floor, in one place. Units are the last word of a name."""

from typing import Final

NOTE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a larger file only this much is read, with a warning."""
CACHE_BYTES_MAX: Final = 64 * 1024 * 1024
UNCERTAIN_NS: Final = 2_000_000_000
"""A version younger than this when read may still change without its stat changing: read again next time."""
SETTLE_S: Final = 0.2
"""So long our own clock must have seen the same version of a file before it may show what was withheld;"""
SETTLE_EMPTY_S: Final = 2.0
"""of an empty one, which an editor leaves while it saves, so long."""
READ_THREADS: Final = 8
READ_INLINE_S: Final = 0.001
"""Once a note took this long, the rest of a call's notes is read by threads."""

CONTENT_CHARS_MAX: Final = 50_000
INCOMING_LINKS_MAX: Final = 100
LINK_CONTEXT_CHARS_MAX: Final = 240
NEAR_TITLES_MAX: Final = 5
CANDIDATES_MAX: Final = 20
ECHO_CHARS_MAX: Final = 200
INDEX_WAIT_S: Final = 2.0
DIRECTORY_DEPTH_MAX: Final = 64

FRONT_MATTER_CHARS_MAX: Final = 65_536
FRONT_MATTER_ALIASES_MAX: Final = 8
FRONT_MATTER_OPEN_MAX: Final = 1_000
"""Brackets that are open at once: the loader takes time by their square before it refuses more than 128."""
FRONT_MATTER_NODES_MAX: Final = 50_000
"""What a text with few aliases may expand to; a list of the most characters has fewer values."""
MARKDOWN_CHARS_MAX: Final = 1_048_576
"""Headings, links and tags are looked for in this much of a body: the parser takes up to 50 times its text."""
CONTAINERS_PER_LINE_MAX: Final = 100
"""Quotes and lists that begin in one line: the parser looks at each of them for every line that follows."""
LINK_BYTES_MAX: Final = 4_096
"""A longer thing in brackets is no link."""
LINK_TARGET_CHARS_MAX: Final = 1_024
LINKS_PER_NOTE_MAX: Final = 20_000
HEADINGS_PER_NOTE_MAX: Final = 10_000
HEADING_CHARS_MAX: Final = 1_000
TAGS_PER_NOTE_MAX: Final = 2_000
TAG_CHARS_MAX: Final = 200
NOTE_TITLE_CHARS_MAX: Final = 512
READ_ATTEMPTS_MAX: Final = 4
"""How often a note that changes while it is read is read anew before it is served as it came."""
SEPARATORS_MAX: Final = 8
"""How many `#`, `^` and `|` of a reference are tried as the end of its name."""
SCAN_REPORT_NAMES_MAX: Final = 100
"""Of each kind of thing that is no note, a scan names this many and counts the rest."""

# What an answer may hold beside content, so that its whole stays near CONTENT_CHARS_MAX.
FRAME_CHARS_MAX: Final = 20_000
"""Names and metadata of all notes of the workspace, where the answer holds content too; without, twice that."""
RECENT_NOTES_SHOWN_MAX: Final = 10
CUSTOM_FIELDS_CHARS_MAX: Final = 8_000
TAGS_CHARS_MAX: Final = 4_000
NOTE_TYPE_CHARS_MAX: Final = 100
LISTED_MAX: Final = 500
"""Headings of an outline, outgoing links."""
WARNINGS_MAX: Final = 20
WARNINGS_CHARS_MAX: Final = 4_000
REFERENCE_CHARS_MAX: Final = 2_048

INDEXED_CHARS_MAX: Final = 1_048_576
"""Of a longer body search knows this much."""
QUERY_WORDS_MAX: Final = 32
WORDS_WEIGHED_MAX: Final = 64
"""Of a note's words this many, the most frequent ones, are weighed for what tells it from others."""
SIMILAR_WORDS_MAX: Final = 10
TELLING_NOTES_MAX: Final = 1_000
"""A word that more notes have tells nothing."""
TAGGED_NOTES_MAX: Final = 500
"""Of the notes with one tag this many are looked at."""

# What the two tools over visits show.
HISTORY_CHARS_MAX: Final = 48_000
"""Of all visits of one answer, as JSON; the rest of it is a frame of a few hundred."""
MANIFEST_CHARS_MAX: Final = 24_000
"""Of all entries of one prompt's manifest, as JSON."""
SUMMARY_CHARS_MAX: Final = 20_000
"""Of the lists of notes as JSON, and as much again of open questions; tags and warnings come on top."""
SUMMARY_LISTED_MAX: Final = 10
"""Notes, or tags, of each list."""
QUESTIONS_LISTED_MAX: Final = 20
"""Open questions of each kind."""
SUMMARY_SOURCES_MAX: Final = 50
"""Notes whose links are looked at."""
SUMMARY_LINKS_PER_NOTE_MAX: Final = 2_000
MOST_VISITED_DAYS: Final = 30
UNTOUCHED_DAYS: Final = 30
"""A pin not visited for so long is an open question."""

# Search and what notes have to do with each other.
QUERY_CHARS_MAX: Final = 500
SEARCH_TAGS_MAX: Final = 10
RESULTS_LISTED_MAX: Final = 50
"""Notes of an answer of search, or of related notes."""
RESULTS_CHARS_MAX: Final = 48_000
"""Of those notes, or of what a reference may have meant, as JSON; the rest of the answer is a frame."""
RELATED_LOOKED_AT_MAX: Final = 50
"""Notes that are weighed of each kind: with shared tags, similar text, common visits."""
RELATED_INCOMING_MAX: Final = 500
"""Links to a note that are counted."""
REASON_WORDS_MAX: Final = 5
"""Tags, or words, that a reason names."""
VISITED_TOGETHER_VISITS: Final = 3
"""So many visits before and after one of a note are close to it,"""
VISITED_TOGETHER_S: Final = 1_800
"""if no more than this lies between the end of the one and the beginning of the other."""

# What is read for one prompt.
ATTACHED_CHARS_MAX: Final = 400_000
"""A longer text is not attached."""
ATTACHED_IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024
MEMBERS_ATTACHED_MAX: Final = 200
"""Notes of one attached folder or tag."""
ATTACHED_AT_ONCE: Final = 16
"""Of those so many are read, and held, at a time."""
IMAGES_NAMED_MAX: Final = 20
"""Images of the active note."""
PROVIDED_NOTES_MAX: Final = 100
"""Notes that one pinned provider lists."""
PROVIDED_CHANGES_MAX: Final = 10
SURROUNDINGS_CHARS_MAX: Final = 12_000
"""Shown of what stands before a selection or a cursor, and as much of what stands after it."""
SUMMARY_TOKENS_MAX: Final = 300
"""A longer summary of a conversation is shown whole, with a warning."""
