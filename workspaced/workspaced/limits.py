"""All bounds of the process floor. A name ends with its unit."""

import sys
from typing import Final

REQUEST_BYTES_MAX: Final = 1024 * 1024
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
JSON_DEPTH_MAX: Final = 64
IN_FLIGHT_MAX: Final = 32
PARTIAL_LINE_S: Final = 10.0
CONNECTIONS_MAX: Final = 512
ACCEPTS_PER_TURN: Final = 4
"""Connections accepted in one turn of the loop, so that many at once are refused before descriptors run out."""
DESCRIPTORS_RESERVED: Final = 24
"""File descriptors that clients never get: for the log, vaults, watchers, and files that tools open."""
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

# HTTP on the socket.
HTTP_HEAD_BYTES_MAX: Final = 32 * 1024
"""Of a request's target and headers. The header `Mcp-Name` may hold a long URI in base64."""
HTTP_AHEAD_BYTES_MAX: Final = 64 * 1024
"""What a client may send before its last request was answered; then the daemon reads nothing more."""
HTTP_CHUNKS_MAX: Final = 2_048
"""Of a request's body: each costs the parser some 10 us, however short it is."""
HTTP_SESSIONS_MAX: Final = 64
"""Sessions of MCP's versions with a handshake; beyond that the longest unused ends, if possible one
without a stream or an open request."""
STREAM_COMMENT_S: Final = 15.0
"""Interval of the comments in a stream: some clients give up one that says nothing for five minutes."""

MIN_SEQ_WAIT_S: Final = 2.0
VAULT_ANSWER_S: Final = 1.0
"""So long the log waits for a vault's folder to say whether a selection's text may be recorded."""
RECORD_WAIT_S: Final = 30.0
"""How long a write to the memory folder waits for its event to be synced."""
MEMORY_LOGGED_BYTES_PER_HOUR: Final = 256 * 1024 * 1024
"""Texts, former and new ones, of all agents' writes to the memory folder."""
MEMORY_CHANGES_PER_BATCH: Final = 64
"""Files of a moved or deleted folder that are recorded together: with the longest paths they fit a batch."""
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
TAB_EXPIRY_INTERVAL_S: Final = 600.0
RECONCILE_INTERVAL_S: Final = 60.0
SWITCH_INTERVAL_S: Final = 0.0001
"""The interpreter's thread switch interval. A call stats dozens of files and waits for the interpreter after each:
beside a thread that parses, 25 stats took 26 ms with Python's default of 5 ms, and 0.04 ms with this value."""
STOP_S: Final = 5.0
ROOM_CHECK_S: Final = 1.0
"""How often a daemon checks for room if the disk was full at its start."""
COMPARES_PER_CALL_MAX: Final = 3
"""How often one call reconciles its vault to find missing notes; then the notes stay withheld until the next
reconcile."""
TOOL_THREADS: Final = 4
NONBLOCKING_CALL_S: Final = 0.05
"""After a call on the event loop that took longer than this, the vault's calls run on threads for a while."""
NONBLOCKING_PAUSE_S: Final = 60.0
"""The longest such while; it begins at some tenths of a second (see vaults/loop_pause.py)."""
COMPLETIONS_MAX: Final = 500
"""Names in one answer to an editor."""
COMPLETION_PREFIX_CHARS_MAX: Final = 1_000
LINKS_MAX: Final = 1_000
"""Links in one answer to an editor, and in one request."""
EXCERPT_CHARS_MAX: Final = 2_000
"""Of a link's target, in an answer to an editor."""
WITHHELD_ASKED_MAX: Final = 1_000
"""Notes in one `workspaced/withheld`."""
LATENCY_SAMPLES: Final = 1_024

# Answers that are kept with what they rest on (calls/traced_answers.py).
TRACES_MAX: Final = 32
TRACES_BYTES_MAX: Final = 4 * 1024 * 1024
"""With the notes that they hold, which most often are those of the content cache."""

SOCKET_PATH_BYTES_MAX: Final = 103 if sys.platform == "darwin" else 107
CLIENT_NAME_CHARS_MAX: Final = 64

RECORD_BYTES_MAX: Final = 64 * 1024
"""Of the file that names a daemon's socket."""
PROBE_S: Final = 1.0
START_S: Final = 30.0
"""Time in which a daemon started on demand must listen."""
OTHER_S: Final = 3.0
"""How long to wait for a daemon that holds the log but does not listen: it is starting or ending."""
ON_DEMAND_IDLE_MINUTES: Final = 30
START_LOG_BYTES_MAX: Final = 1024 * 1024
"""The log file of daemons started on demand is emptied above this size."""
BRIDGE_CHUNK_BYTES: Final = 64 * 1024
BRIDGE_LINGER_S: Final = 10.0
"""How long the bridge waits for answers after the agent has closed its output."""
BRIDGE_GREETING_S: Final = 10.0
"""How long a daemon may take to take a session up."""
BRIDGE_RESTART_S: Final = 10.0
"""For so long after a daemon has ended requests wait for the next one; later they are answered at once."""
BRIDGE_LOOK_S: Final = 0.05
"""How often a bridge looks for the next daemon in that time, and while requests wait."""
BRIDGE_IDLE_LOOK_S: Final = 1.0
"""How often it looks at other times."""
BRIDGE_HELD_BYTES_MAX: Final = REQUEST_BYTES_MAX
"""Of requests that wait for the next daemon; more are refused."""
BRIDGE_LINE_BYTES_MAX: Final = 2 * ANSWER_BYTES_MAX
"""Of a line of the daemon's to an agent that speaks MCP; one that is longer will never end."""
BRIDGE_ID_BYTES: Final = 1024
"""Of the beginning and the end of a line that is too long, where its id is looked for."""

# Recording calls of tools: bounds of the queue, and how long calls are collected.
CALL_RECORDER_DELAY_S: Final = 0.1
CALL_RECORDER_SLICE_S: Final = 0.002
CALL_RECORDER_PAUSE_S: Final = 0.03
CALL_RECORDER_HURRY: Final = 500
"""With so many calls queued, the recorder makes no more pauses."""
CALL_RECORDER_WAITING_MAX: Final = 2_000
CALL_RECORDER_WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
ARGUMENTS_INLINE_BYTES_MAX: Final = 4_096
"""Longest JSON of a call's arguments in the event; longer arguments are stored as a blob, like answers."""

# Sweeping recordings: how often the sweeper checks, and how often a sweep is due.
SWEEP_CHECK_S: Final = 60.0
SWEEP_INTERVAL_S: Final = 3_600.0
RECORD_BYTES: Final = 1024 * 1024 * 1024
RECORD_DAYS: Final = 90.0
RECORD_DAYS_MAX: Final = 36_500.0

# Conversations and prompts.
UPLOAD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of one text uploaded in parts."""
UPLOAD_PART_CHARS: Final = 128 * 1024
"""Of an upload in one request: JSON may need six bytes for each."""
UPLOADS_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of all uploads of all clients that are held in memory."""
UPLOAD_S: Final = 600.0
"""An upload that nobody touched for this long is no longer held."""
IMAGES_PER_RESULT_MAX: Final = 20
"""Images in one result of a tool."""
MESSAGES_PER_REQUEST_MAX: Final = 200
MESSAGES_PER_CONVERSATION_MAX: Final = 5_000
ATTACHMENTS_PER_MESSAGE_MAX: Final = 200
TOOL_CALLS_PER_MESSAGE_MAX: Final = 200
THINKING_PER_MESSAGE_MAX: Final = 200
PINS_PER_CONVERSATION_MAX: Final = 100
SKILLS_MAX: Final = 500
DOCUMENTS_PER_SEARCH_MAX: Final = 100
CONTEXT_NAME_CHARS_MAX: Final = 200
"""Names of providers, models, tools, skills and roles."""
ROLE_SYSTEM_CHARS_MAX: Final = 100_000
ROLE_TOOLS_MAX: Final = 100
ROLES_IN_SETTINGS_MAX: Final = 200
ROLE_NOTES_LISTED_MAX: Final = 200
"""Notes that are read for a list of roles. A note beyond them is a role too."""
ROLES_NAMED_MAX: Final = 20
"""Roles that an error names."""
SIGNATURE_CHARS_MAX: Final = 100_000
IMPORT_CONTEXT_WINDOW: Final = 128_000
"""Of an imported chat, where neither the file nor the request says it; its output reserve likewise."""
IMPORT_OUTPUT_RESERVE: Final = 8_000
ASSEMBLE_ATTEMPTS_MAX: Final = 4
"""Attempts at a prompt while its conversation changes each time; then the request fails."""
CONTEXT_TEXTS_CHARS_MAX: Final = 16 * 1024 * 1024
"""The log's texts that are cached in memory for later prompts."""

# HTTP on a port: the proxy and the inspector.
HTTP_IDLE_S: Final = 120
"""How long a connection without a request stays open: longer than clients keep theirs, so that they close it."""
HTTP_DRAIN_S: Final = 2
"""How long answers that are still streamed may go on after Ctrl-C. Whole seconds: uvicorn takes no others."""

# The inspector.
INSPECTOR_BODY_BYTES_MAX: Final = REQUEST_BYTES_MAX
INSPECTOR_IDLE_S: Final = 600.0
"""How long the inspector goes on without a page or a request."""
INSPECTOR_TAILS_MAX: Final = 256
"""Pages that follow the log at once."""
TAIL_MESSAGES_MAX: Final = 32
"""What waits for a page that does not read; beyond it the page is told of a gap."""
TAIL_EVENTS_MAX: Final = 50
"""Events that one message shows; the page asks for the others."""
TAIL_PACE_S: Final = 0.1
"""Pause between two messages about a log that grows, so that a burst becomes few messages."""
TAIL_RETRY_S: Final = 1.0
"""How often a daemon that is gone is looked for."""
INSPECTOR_SEARCH_S: Final = 600.0
"""How long one search for a predicate may take."""
INSPECTOR_SHRINK_EVENTS_MAX: Final = 200_000
"""They are all in memory while they are shrunk."""

# The proxy.
TURNS_PER_REQUEST_MAX: Final = 7_000
"""Of a chat; as many as a line of the socket holds."""
PROXY_PORT: Final = 7410
"""Unless another one is asked for, so that the URL stays the same."""
PROXY_READ_AT_ONCE_BYTES: Final = 262_144
"""Longer bodies are read on a thread of their own."""
PROXY_BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of a request that gets context: as long as the longest that Anthropic takes."""
PROXY_USAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of an answer, or of one event of a streamed one, in which the provider's usage is looked for."""
PROXY_REASON_CHARS_MAX: Final = 300
UNCHANGED_REASONS_MAX: Final = 64
"""Codes for which requests went on without context, in the daemon's memory; others are counted as `OTHER`."""
UPSTREAM_TIMEOUT_S: Final = 600.0
"""The longest silence of a provider; the SDKs of OpenAI and Anthropic wait as long."""
DAEMON_ANSWER_S: Final = 5.0
"""How long a prompt waits for its context."""
DAEMON_PAUSE_S: Final = 10.0
"""How long prompts go on without context after the daemon left one waiting."""
DAEMON_RETRY_S: Final = 1.0
"""How often the proxy looks for a daemon that did not run when it started."""

# The link that Claude Code has to an editor.
LINK_PORTS: Final = (10_000, 65_535)
"""The first and the last port that Claude Code looks for."""
LINK_PORT_TRIES_MAX: Final = 50
LINK_TOKEN_BYTES: Final = 32
LINK_LOCK_BYTES_MAX: Final = 64 * 1024
"""A longer lock file is none of ours."""
LINK_SESSIONS_MAX: Final = 16
"""Sessions of Claude Code at once."""
LINK_CONNECTIONS_MAX: Final = 64
"""Connections at once, with those that have not said yet who they are."""
LINK_OPEN_S: Final = 5.0
"""How long a connection may take to say who it is."""
LINK_MESSAGE_BYTES_MAX: Final = 256 * 1024
LINK_MESSAGES_WAITING_MAX: Final = 16
"""Of one session; one that sends more is not read from meanwhile."""
LINK_BATCH_MAX: Final = 32
"""Requests in one message."""
LINK_LISTENS_S: Final = 0.3
"""After this time a session that has said hello listens, mostly."""
LINK_REPEAT_S: Final = 2.0
"""A session that was told nothing new for so long at its beginning is told the present again."""
LINK_PAUSE_S: Final = 0.05
"""Between two messages about what is selected."""
LINK_LOOK_AGAIN_S: Final = 30.0
"""How often a link looks without an event: a selection grows old, and rules in files change, without one."""
LINK_ANSWER_S: Final = 5.0
"""How long a link waits for the daemon."""
LINK_RETRY_S: Final = 1.0
"""How often a link looks for a daemon that is gone."""
LINK_PING_S: Final = 20.0
"""A session that does not answer a ping for so long is ended."""
LINK_END_S: Final = 2.0
"""How long sessions may take to end with the link."""
LSP_COALESCE_S: Final = 0.05
"""What happens in an editor within this time is one view."""
LSP_ANSWER_S: Final = 2.0
"""How long a request of an editor waits for the daemon; then the answer is empty."""
LSP_EDIT_S: Final = 10.0
"""The same for a request that the user made explicitly, such as a rename."""
LSP_CONNECT_S: Final = 5.0
"""How long a daemon may take to greet, and to take a view."""
LSP_TICK_S: Final = 1.0
"""How often a connection is looked at, whether its daemon is another one or gone."""
LSP_RETRY_FIRST_S: Final = 0.2
LSP_RETRY_MAX_S: Final = 10.0
"""Pauses between looks for daemons; each is twice as long as the one before."""
LSP_DOCUMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""A longer document is shown to the daemon, but nothing in it is read."""
LSP_TABS_MAX: Final = 10
LSP_WAITING_MAX: Final = 1_000
"""Pins and renames that wait for a daemon, and notes of one renamed folder."""
LSP_USED_MAX: Final = 50
"""Documents that are remembered for having been worked in."""
LSP_NAMES_MAX: Final = 30
LSP_LINKS_MAX: Final = 1_000
LSP_LINKS_CHARS_MAX: Final = 100_000
"""Of the links in one request to a daemon, which takes at most a mebibyte; a character is up to 6 bytes there."""
LSP_HOVER_CHARS: Final = 800
LSP_SELECTION_CHARS: Final = 65_536
"""Of a longer selection only the lines are told."""
LSP_DIAGNOSE_S: Final = 0.5
"""A text is looked through for broken links once it has not changed for this long."""
LSP_LEAVE_S: Final = 2.0
"""How long the end waits until every daemon has taken the view back."""

# Several machines: the server that carries messages between them, and the process that holds the connection to it.
CARRIED_BYTES_MAX: Final = 512 * 1024
"""Of one message."""
CARRIED_HEADER_BYTES: Final = 4_096
"""What a message on the server may have beside its bytes: the server counts both against the stream's limit."""
CARRIER_ANSWER_S: Final = 5.0
"""How long the server may take for an answer."""
CARRIER_CONNECT_S: Final = 10.0
CARRIER_RETRY_S_MIN: Final = 0.1
CARRIER_RETRY_S_MAX: Final = 30.0
"""Pauses between attempts to connect: each is twice the last one."""
CARRIER_PING_S: Final = 10.0
"""How often a quiet connection is asked whether it is there; lost after the second silence."""
CARRIER_HEARTBEAT_S: Final = 2.0
"""How often the server tells who listens that it is there; deliveries have stopped after the third silence."""
CARRIER_MEMORY_BYTES: Final = 256 * 1024 * 1024
"""Address space that the process of the connection may take beyond what it has when it starts."""
CARRIER_PENDING_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of deliveries that wait in that process, twice what a server sends ahead; later ones are dropped, and missed."""
CARRIER_READ_BYTES_MAX: Final = 64 * 1024 * 1024
CARRIER_READ_MESSAGES_MAX: Final = 8_192
"""Of one subject."""
CARRIER_SUBJECTS_MAX: Final = 16_384
CARRIER_REPORTS_MAX: Final = 64
"""Reports that nobody has read yet; later ones are dropped."""
CARRIER_PIPE_FRAME_BYTES_MAX: Final = 2 * CARRIED_BYTES_MAX
CARRIER_RESTART_S: Final = 1.0
"""Pause before a process that died is started again."""
CARRIER_MISBEHAVED_S: Final = 60.0
"""The same after one that the server brought to its memory limit."""

# One workspace on several machines.
LINK_NAME_CHARS_MAX: Final = 64
"""Of a person, a machine, a linked vault."""
LINK_SERVER_CHARS_MAX: Final = 512
LINK_SERVERS_MAX: Final = 16
LINK_CODE_CHARS_MAX: Final = 512
"""Of an invitation."""
