"""The limits of floor 1 that several modules, a test or a document name. A name ends with its unit."""

from typing import Final

# What a workspace's state keeps of each vault.
TEMPORARY_TABS_MAX: Final = 10
RECENT_NOTES_MAX: Final = 50
FORMER_PATHS_MAX: Final = 10_000
CLOCK_STEPS_MAX: Final = 100
"""Clock steps kept; before the oldest one, events can be found by sequence only, not by time."""


# Fields of one action.
NOTE_ID_CHARS_MAX: Final = 1_024
ID_CHARS_MAX: Final = 128
SOURCE_CHARS_MAX: Final = 64
TITLE_CHARS_MAX: Final = 512
SELECTION_INLINE_CHARS_MAX: Final = 4_096
JUDGEMENT_CHARS_MAX: Final = 4_000
SELECTION_CHARS_MAX: Final = 200_000
NOTES_PER_ACTION_MAX: Final = 1_000
SHARING_CLIENT_CHARS_MAX: Final = 200
SHARING_CLIENTS_MAX: Final = 1_000
"""Share levels are kept for this many clients; further clients get the default level."""

# One publish. A batch is one line of the log, so its limit is below a line's.
BATCH_ACTIONS_MAX: Final = 1_000
BATCH_BYTES_MAX: Final = 768 * 1024
LINE_BYTES_MAX: Final = 1024 * 1024
EVENT_DEPTH_MAX: Final = 128
"""JSON levels in an imported event, so that every stack can parse it."""
SEGMENT_BYTES_MAX: Final = 16 * 1024 * 1024

# A publisher's retry is recognised within at least this many latest events; after about twice as many
# its id counts as new (docs/reference/events.md).
ID_WINDOW_EVENTS: Final = 16_384

# The writer takes a snapshot after this many events; opening a log folds at most about as many.
SNAPSHOT_EVENTS: Final = 20_000

HELD_BYTES_MAX: Final = 512 * 1024
"""Of the events at the end of a pause, which are one batch; renames take up to half of it."""

# What may wait for the writer.
QUEUE_BATCHES_MAX: Final = 4_096
WAITING_BYTES_MAX: Final = 16 * 1024 * 1024
"""For the batches of all clients together."""
WAITING_CLIENT_BYTES_MAX: Final = 4 * 1024 * 1024
"""For the batches of one client."""
ACTION_BYTES: Final = 512
"""Memory per action beside its text: decoding a line of short actions takes nine times its size."""
BUSY_RETRY_MS: Final = 100
SLOW_SYNC_S: Final = 1.0
BUFFERED_DELAY_S: Final = 0.2
INTERRUPTIONS_MAX: Final = 100
"""A system call of the writer fails after this many interruptions (EINTR) in a row."""
INTERRUPTION_PAUSE_S: Final = 0.001

READ_EVENTS_MAX: Final = 10_000
READ_BYTES_MAX: Final = 512 * 1024
# One remembered offset per this many bytes of log lets a read start near its sequence.
INDEX_STRIDE_BYTES: Final = 64 * 1024

# The history of visits (projections/visits.py).
VISITS_MAX: Final = 5_000
"""Per vault."""
HISTORY_EVENTS_MAX: Final = 50_000
"""Visits come from this many latest events."""
HISTORY_SLACK_EVENTS: Final = 5_000
"""A question this far behind the newest sequence is still answered from memory."""

# Reading a bundle, which is untrusted input.
BUNDLE_ENTRY_BYTES_MAX: Final = 64 * 1024 * 1024
BUNDLE_LOG_BYTES_MAX: Final = 1024 * 1024 * 1024
"""For all events of a bundle, which are read one by one."""
