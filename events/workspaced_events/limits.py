"""Every bound of the recording floor, in one place. Units are the last word of a name."""

from typing import Final

# What one workspace remembers of each vault (../ARCHITECTURE.md, "The fold").
TEMPORARY_TABS_MAX: Final = 10
RECENT_NOTES_MAX: Final = 50
FORMER_PATHS_MAX: Final = 10_000
TAB_LIFETIME_HOURS: Final = 24
CLOCK_STEPS_MAX: Final = 100
"""So often the clock may have been set; what lies before the oldest of them is found by sequence alone."""

# What one action may carry.
NOTE_ID_CHARS_MAX: Final = 1_024
ID_CHARS_MAX: Final = 128
SOURCE_CHARS_MAX: Final = 64
TITLE_CHARS_MAX: Final = 512
SELECTION_INLINE_CHARS_MAX: Final = 4_096
SELECTION_CHARS_MAX: Final = 200_000
NOTES_PER_ACTION_MAX: Final = 1_000
SHARING_CLIENT_CHARS_MAX: Final = 200
SHARING_CLIENTS_MAX: Final = 1_000
"""For so many clients of the tools a level is kept; further ones get the default's."""

# What one publish may carry. A batch is one line of the log, so its bytes stay under a line's.
BATCH_ACTIONS_MAX: Final = 1_000
BATCH_BYTES_MAX: Final = 768 * 1024
LINE_BYTES_MAX: Final = 1024 * 1024
EVENT_DEPTH_MAX: Final = 128
"""Levels of JSON in an event of an export: what is imported must be readable on any stack."""
SEGMENT_BYTES_MAX: Final = 16 * 1024 * 1024

# A publisher that retries is recognised among at least this many latest events; about twice as
# many later its id counts as new (docs/reference/events.md).
ID_WINDOW_EVENTS: Final = 16_384

# A snapshot of the fold is taken once so many events; opening folds at most about as many.
SNAPSHOT_EVENTS: Final = 20_000

# The writer: how much may wait for it.
QUEUE_BATCHES_MAX: Final = 4_096
WAITING_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of all clients' batches together,"""
WAITING_CLIENT_BYTES_MAX: Final = 4 * 1024 * 1024
"""and of one client's."""
ACTION_BYTES: Final = 512
"""What an action takes in memory beside its text: a line of short ones is nine times as large once it is read."""
BUSY_RETRY_MS: Final = 100
HEAD_DELAY_S: Final = 0.02
"""How long HEAD may be behind what was acknowledged: it is written while nobody waits for the disk."""
HEAD_SYNC_INTERVAL_S: Final = 1.0
SLOW_SYNC_S: Final = 1.0
BUFFERED_DELAY_S: Final = 0.2
INTERRUPTIONS_MAX: Final = 100
"""So often in a row a system call of the writer may be interrupted (EINTR) before it counts as failed."""
INTERRUPTION_PAUSE_S: Final = 0.001

READ_EVENTS_MAX: Final = 10_000
READ_BYTES_MAX: Final = 512 * 1024
# One remembered offset per this many bytes of log lets a read start near its sequence.
INDEX_STRIDE_BYTES: Final = 64 * 1024

# What is remembered of where the user was (visits.py).
VISITS_MAX: Final = 5_000
"""Of one vault."""
HISTORY_EVENTS_MAX: Final = 50_000
"""Visits are taken out of this many latest events of the log."""
HISTORY_SLACK_EVENTS: Final = 5_000
"""How far behind the newest sequence a question may be and still be answered from memory."""

# A start reads the texts that so many of the last events name; `log verify` reads all.
BLOB_CHECK_EVENTS: Final = 1_000

# What is read of a bundle, which comes from somebody else.
BUNDLE_ENTRY_BYTES_MAX: Final = 64 * 1024 * 1024
BUNDLE_LOG_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Of its events, which are read one by one."""
