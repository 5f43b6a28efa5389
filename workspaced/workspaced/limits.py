"""Every bound of the process floor, in one place. Units are the last word of a name."""

import sys
from typing import Final

REQUEST_BYTES_MAX: Final = 1024 * 1024
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
JSON_DEPTH_MAX: Final = 64
IN_FLIGHT_MAX: Final = 32
PARTIAL_LINE_S: Final = 10.0
CONNECTIONS_MAX: Final = 512
ACCEPTS_PER_TURN: Final = 4
"""Connections taken in one turn of the loop: a crowd must not use up the descriptors before it can be refused."""
DESCRIPTORS_RESERVED: Final = 24
"""Never given to clients: log, vaults, watchers, and what tools open."""
SUBSCRIPTIONS_PER_CONNECTION_MAX: Final = 64

UNREAD_BYTES_MAX: Final = 1024 * 1024
"""Of answers a client has not read yet: above it nothing more is read from that client."""
UNREAD_S: Final = 10.0
"""A client that lets its answers lie this long is disconnected."""
STEP_S: Final = 1.0
"""What a client may take is counted in steps of this;"""
LATE_S: Final = 1.0
"""one that ends later than this was the daemon's own sleep, and is not counted."""
FLUSH_BYTES: Final = 64 * 1024
"""More than this is written at once: only then is it known whether the client reads."""

MIN_SEQ_WAIT_S: Final = 2.0
RECENT_EVENTS: Final = 4_096
GAP_EVENTS: Final = 10_000
"""A subscriber further behind than this gets a gap instead of the events."""
NOTIFICATION_EVENTS_MAX: Final = 500
CATCH_UPS_MAX: Final = 2
"""So many subscribers read the log at a time: each has a notification's events in memory, and takes a thread."""
COALESCE_S: Final = 0.05

FREE_PAGES_INTERVAL_S: Final = 30.0
"""Between two times that free memory goes back to the system."""
TAB_EXPIRY_INTERVAL_S: Final = 600.0
RECONCILE_INTERVAL_S: Final = 60.0
SWITCH_INTERVAL_S: Final = 0.0001
"""A call looks at dozens of files and asks for the interpreter anew after each: beside a thread that parses, 25
stats took 26 ms at Python's default of 5 ms, and 0.04 ms so."""
STOP_S: Final = 5.0
ROOM_CHECK_S: Final = 1.0
"""How often a log that found no room at the start tries again."""
COMPARES_PER_CALL_MAX: Final = 3
"""So often a call has its vault compared because notes are missing; then they stay withheld for a while."""
TOOL_THREADS: Final = 4
NONBLOCKING_CALL_S: Final = 0.05
"""A call made on the event loop that took longer than this sends the vault's calls to threads,"""
NONBLOCKING_PAUSE_S: Final = 60.0
"""for this long."""
LATENCY_SAMPLES: Final = 1_024

SOCKET_PATH_BYTES_MAX: Final = 103 if sys.platform == "darwin" else 107
CLIENT_NAME_CHARS_MAX: Final = 64

RECORD_BYTES_MAX: Final = 64 * 1024
"""Of the file that says where a daemon is."""
PROBE_S: Final = 1.0
START_S: Final = 30.0
"""Until a daemon that was started on demand must listen."""
OTHER_S: Final = 3.0
"""For a daemon that holds the log and does not listen: it is about to, or about to be gone."""
ON_DEMAND_IDLE_MINUTES: Final = 30
START_LOG_BYTES_MAX: Final = 1024 * 1024
"""The log of daemons started on demand begins anew above this."""
BRIDGE_CHUNK_BYTES: Final = 64 * 1024
BRIDGE_LINGER_S: Final = 10.0
"""How long answers may still come once the agent has said its last."""

# Recording calls of tools: how much may wait for it, and how long it lets calls come together.
CALL_RECORDER_DELAY_S: Final = 0.1
CALL_RECORDER_SLICE_S: Final = 0.002
CALL_RECORDER_PAUSE_S: Final = 0.03
CALL_RECORDER_HURRY: Final = 500
"""With so many waiting it pauses no more."""
CALL_RECORDER_WAITING_MAX: Final = 2_000
CALL_RECORDER_WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
ARGUMENTS_INLINE_BYTES_MAX: Final = 4_096
"""Of the JSON of a call's arguments; longer ones are kept beside the log, like what was answered."""

# Forgetting them: how often that is looked after, and how often it is due.
SWEEP_CHECK_S: Final = 60.0
SWEEP_INTERVAL_S: Final = 3_600.0
RECORD_BYTES: Final = 1024 * 1024 * 1024
RECORD_DAYS: Final = 90.0
RECORD_DAYS_MAX: Final = 36_500.0

# Conversations, and the prompts made of them.
MESSAGES_PER_REQUEST_MAX: Final = 200
MESSAGES_PER_CONVERSATION_MAX: Final = 5_000
ATTACHMENTS_PER_MESSAGE_MAX: Final = 200
TOOL_CALLS_PER_MESSAGE_MAX: Final = 200
THINKING_PER_MESSAGE_MAX: Final = 200
PINS_PER_CONVERSATION_MAX: Final = 100
SKILLS_MAX: Final = 500
DOCUMENTS_PER_SEARCH_MAX: Final = 100
CONTEXT_NAME_CHARS_MAX: Final = 200
"""Of providers, models, tools and skills."""
CONTEXT_TOKENS_MAX: Final = 1_000_000_000
SIGNATURE_CHARS_MAX: Final = 100_000
ASSEMBLE_ATTEMPTS_MAX: Final = 4
"""How often a prompt is made while its conversation keeps moving; then it fails."""
CONTEXT_TEXTS_CHARS_MAX: Final = 16 * 1024 * 1024
"""Of the log's texts that are kept in memory for the next prompt."""
