"""The bounds of the process floor that several modules, a test or a document name. A name ends with its unit."""

from typing import Final

REQUEST_BYTES_MAX: Final = 1024 * 1024
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
JSON_DEPTH_MAX: Final = 64
IN_FLIGHT_MAX: Final = 32
PARTIAL_LINE_S: Final = 10.0
CONNECTIONS_MAX: Final = 512
SUBSCRIPTIONS_PER_CONNECTION_MAX: Final = 64

UNREAD_BYTES_MAX: Final = 1024 * 1024
"""Unread answers of one client; above this bound the daemon reads nothing more from the client."""
UNREAD_S: Final = 10.0
"""A client whose unread answers stay above their bound for this long is disconnected."""
STEP_S: Final = 1.0
"""The time of UNREAD_S and PARTIAL_LINE_S is counted in steps of this length."""
LATE_S: Final = 1.0
"""A step that ends later than this was a sleep of the daemon or machine, and is not counted."""
FLUSH_BYTES: Final = 64 * 1024
"""A larger buffer is written at once: only a write shows whether the client reads."""

MIN_SEQ_WAIT_S: Final = 2.0
RECORD_WAIT_S: Final = 30.0
"""How long a write to the memory folder waits for its event to be synced."""
MEMORY_LOGGED_BYTES_PER_HOUR: Final = 256 * 1024 * 1024
"""Texts, former and new ones, of all agents' writes to the memory folder."""
RECENT_EVENTS: Final = 4_096
GAP_EVENTS: Final = 10_000
"""A subscriber further behind than this gets a gap instead of the events."""
NOTIFICATION_EVENTS_MAX: Final = 500
LAST_SEEN_EVENTS_MAX: Final = 100_000
"""The latest events among which `workspaced/clients` looks for calls."""
CLIENTS_LISTED_MAX: Final = 1_000
CATCH_UPS_MAX: Final = 2
"""Subscribers that read the log at a time: each holds one notification's events in memory, and uses a thread."""
COALESCE_S: Final = 0.05

FREE_PAGES_INTERVAL_S: Final = 30.0
"""Interval at which free memory is returned to the system."""
PUBLISHER_GRACE_S: Final = 30.0
"""How long the view of a publisher stays after its last connection is gone."""
SOURCES_PER_CONNECTION_MAX: Final = 64
"""Sources whose views one connection shows."""
PAUSE_S_MIN: Final = 0.001
PAUSE_S_MAX: Final = 366 * 86_400.0
SWITCH_INTERVAL_S: Final = 0.0001
"""The interpreter's thread switch interval. A call stats dozens of files and waits for the interpreter after each:
beside a thread that parses, 25 stats took 26 ms with Python's default of 5 ms, and 0.04 ms with this value."""
STOP_S: Final = 5.0
NONBLOCKING_CALL_S: Final = 0.05
"""After a call on the event loop that took longer than this, the vault's calls run on threads for a while."""
NONBLOCKING_PAUSE_S: Final = 60.0
"""The longest such while; it begins at some tenths of a second (see vaults/served_vault.py)."""

# Answers that are kept with what they rest on (calls/answers.py).
TRACES_MAX: Final = 32
TRACES_BYTES_MAX: Final = 4 * 1024 * 1024
"""With the notes that they hold, which most often are those of the content cache."""

CLIENT_NAME_CHARS_MAX: Final = 64

RECORD_BYTES_MAX: Final = 64 * 1024
"""Of the file that names a daemon's socket."""
PROBE_S: Final = 1.0
START_S: Final = 30.0
"""Time in which a daemon started on demand must listen."""
ON_DEMAND_IDLE_MINUTES: Final = 30
BRIDGE_LINGER_S: Final = 10.0
"""How long the bridge waits for answers after the agent has closed its output."""
BRIDGE_GREETING_S: Final = 10.0
"""How long a daemon may take to take a session up."""
BRIDGE_RESTART_S: Final = 10.0
"""For so long after a daemon has ended requests wait for the next one; later they are answered at once."""
BRIDGE_HELD_BYTES_MAX: Final = REQUEST_BYTES_MAX
"""Of requests that wait for the next daemon; more are refused."""
BRIDGE_LINE_BYTES_MAX: Final = 2 * ANSWER_BYTES_MAX
"""Of a line of the daemon's to an agent that speaks MCP; one that is longer will never end."""

# Recording calls of tools: bounds of the queue, and how long calls are collected.
CALL_RECORDER_DELAY_S: Final = 0.1
CALL_RECORDER_WAITING_MAX: Final = 2_000
CALL_RECORDER_WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
ARGUMENTS_INLINE_BYTES_MAX: Final = 4_096
"""Longest JSON of a call's arguments in the event; longer arguments are stored as a blob, like answers."""

SWEEP_INTERVAL_S: Final = 3_600.0
"""How often a sweep of recordings is due."""

# Conversations and prompts.
UPLOAD_PART_CHARS: Final = 128 * 1024
"""Of an upload in one request: JSON may need six bytes for each."""
MESSAGES_PER_REQUEST_MAX: Final = 200
MESSAGES_PER_CONVERSATION_MAX: Final = 5_000
ATTACHMENTS_PER_MESSAGE_MAX: Final = 200
PINS_PER_CONVERSATION_MAX: Final = 100
CONTEXT_NAME_CHARS_MAX: Final = 200
"""Names of providers, models and tools."""
ASSEMBLE_ATTEMPTS_MAX: Final = 4
"""Attempts at a prompt while its conversation changes each time; then the request fails."""

# HTTP on a port: the proxy and the inspector.
HTTP_DRAIN_S: Final = 2
"""How long answers that are still streamed may go on after Ctrl-C. Whole seconds: uvicorn takes no others."""

# The inspector.
INSPECTOR_BODY_BYTES_MAX: Final = REQUEST_BYTES_MAX

# The proxy.
PROXY_USAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of an answer, or of one event of a streamed one, in which the provider's usage is looked for."""
UNCHANGED_REASONS_MAX: Final = 64
"""Codes for which requests went on without context, in the daemon's memory; others are counted as `OTHER`."""
DAEMON_ANSWER_S: Final = 5.0
"""How long a prompt waits for its context."""
DAEMON_PAUSE_S: Final = 10.0
"""How long prompts go on without context after the daemon left one waiting."""

# The link that Claude Code has to an editor.
LINK_SESSIONS_MAX: Final = 16
"""Sessions of Claude Code at once."""
LINK_CONNECTIONS_MAX: Final = 64
"""Connections at once, with those that have not said yet who they are."""
LINK_OPEN_S: Final = 5.0
"""How long a connection may take to say who it is."""
LINK_MESSAGE_BYTES_MAX: Final = 256 * 1024
LINK_BATCH_MAX: Final = 32
"""Requests in one message."""
LINK_LISTENS_S: Final = 0.3
"""After this time a session that has said hello listens, mostly."""
LINK_REPEAT_S: Final = 2.0
"""A session that was told nothing new for so long at its beginning is told the present again."""
LINK_PAUSE_S: Final = 0.05
"""Between two messages about what is selected."""
LSP_ANSWER_S: Final = 2.0
"""How long a request of an editor waits for the daemon; then the answer is empty."""
LSP_EDIT_S: Final = 10.0
"""The same for a request that the user made explicitly, such as a rename."""
LSP_TICK_S: Final = 1.0
"""How often a connection is looked at, whether its daemon is another one or gone."""
LSP_WAITING_MAX: Final = 1_000
"""Pins and renames that wait for a daemon, and notes of one renamed folder."""
LSP_NAMES_MAX: Final = 30

# Several machines: the server that carries messages between them.
CARRIED_BYTES_MAX: Final = 512 * 1024
"""Of one message."""
CARRIER_ANSWER_S: Final = 5.0
"""How long the server may take for an answer."""
CARRIER_CONNECT_S: Final = 10.0

# One workspace on several machines.
LINK_NAME_CHARS_MAX: Final = 64
"""Of a person, a machine, a linked vault."""
