"""`workspaced hook RUNTIME`: reads a hook's JSON from standard input, asks the daemon what to tell the agent, and
writes the runtime's answer.

It is never in the way: whatever fails, it prints nothing and exits with 0, at the latest after GIVE_UP_S. It
starts no daemon. The prompt and the transcript's path never leave this process.

Imports only a small part of the standard library, because it runs at every prompt.
"""

import fcntl
import json
import os
import signal
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..bridge.target import plain_options
from ..discovery.records import running, serving
from ..ipc.peer import open_socket

SESSION_CHARS_MAX: Final = 200


class Runtime(NamedTuple):
    """What one runtime's hooks send and take."""

    client: str
    """The name of its MCP client, whose sharing level governs its hooks too."""
    moments: dict[str, str]
    """What is told at each event, or at an event with a source (`SessionStart compact`): `difference`, `whole`, or
    `nothing` if the agent is about to lose what it was told."""
    session: str = "session_id"
    event: str = "hook_event_name"
    form: str = "tagged"
    text: str | None = None
    """The field of the answer that is the text; None: `additionalContext` in `hookSpecificOutput`."""


_PROMPTS: Final = {"UserPromptSubmit": "difference", "SessionStart compact": "whole"}
RUNTIMES: Final = {
    "claude": Runtime("claude-code", _PROMPTS),
    "codex": Runtime("codex-mcp-client", _PROMPTS),
    "gemini": Runtime(
        "gemini-cli-mcp-client", {"BeforeAgent": "difference", "PreCompress manual": "nothing"}, form="plain"
    ),
    "copilot": Runtime("copilot-cli", _PROMPTS, text="additionalContext"),
    "cursor": Runtime(
        "cursor-vscode",
        {"sessionStart": "difference", "postToolUse": "difference"},
        session="conversation_id",
        text="additional_context",
    ),
    "vscode": Runtime(
        "Visual Studio Code",
        {"SessionStart": "difference", "PostToolUse": "difference"},
        session="sessionId",
        event="hookEventName",
    ),
}
"""The hooks of agents' runtimes: where each takes context, and in which form.

Tried with the programs on 2026-11-23 (tests/data/runtimes, tests/runtimes); Cursor and VS Code by their documents:

    Claude Code   UserPromptSubmit and SessionStart take `hookSpecificOutput.additionalContext`, which stays in the
                  session. SessionStart's source `compact` follows a compaction. A subagent that is done comes as
                  a prompt that begins with `<task-notification>`.
    Codex         the same; a subagent's prompt has `agent_id`, and the session of the one above it. An output with
                  a field that it does not know is refused whole.
    Gemini CLI    BeforeAgent; it stays, and `<` and `>` are escaped. PreCompress `manual` precedes a compression;
                  `auto` comes with every prompt, so a compression of its own accord cannot be seen. SessionStart
                  gets nothing: what follows a context there is lost at a resume, the user's words too.
    Copilot CLI   as Claude Code, whose settings of a folder it may run, but the text is at the top. Its input has
                  a `timestamp` and no `transcript_path`.
    Cursor        sessionStart and postToolUse take `additional_context`; ids are `conversation_id`.
    VS Code       reads Claude Code's settings; SessionStart and PostToolUse take it, UserPromptSubmit does not.

At the start of a session nothing is told where prompts take context: it would be stale by the first prompt. Only
fields that a runtime knows are sent.
"""
_TASK: Final = "<task-notification>"


class Moment(NamedTuple):
    """A hook's event that takes context."""

    runtime: Runtime
    session: str
    event: str
    tell: str
    folder: str | None
    """Where the agent works."""

    def output(self, text: str) -> dict[str, Any]:
        """The hook's answer."""
        if self.runtime.text is not None:
            return {self.runtime.text: text}
        return {"hookSpecificOutput": {"hookEventName": self.event, "additionalContext": text}}


def moment(name: str, sent: Any) -> Moment | None:
    """The moment that a hook's input tells of; None if nothing is to be told.

    Args:
        name: the runtime that the hook was installed for. Several programs read one settings file, so the input
            itself shows whose it is.
        sent: the decoded JSON.
    """
    if not isinstance(sent, dict):
        return None
    runtime = RUNTIMES[_caller(name, sent)]
    event, session = sent.get(runtime.event), sent.get(runtime.session)
    if not isinstance(event, str) or not isinstance(session, str) or not session:
        return None
    detail = sent.get("source") or sent.get("trigger")
    tell = runtime.moments.get(event) or runtime.moments.get(f"{event} {detail}")
    prompt = sent.get("prompt")  # an event without one is of a prompt's turn
    is_typed = not isinstance(prompt, str) or (bool(prompt) and not prompt.startswith(_TASK))
    if tell is None or sent.get("agent_id") or not is_typed:
        return None
    return Moment(runtime, _bounded(session), event, tell, _folder(sent))


def _caller(name: str, sent: dict[str, Any]) -> str:
    """The runtime that sent this to a hook of `name`."""
    if "cursor_version" in sent:
        return "cursor"
    if "sessionId" in sent:
        return "vscode"
    return "copilot" if name == "claude" and "timestamp" in sent and "transcript_path" not in sent else name


def _folder(sent: dict[str, Any]) -> str | None:
    roots = sent.get("workspace_roots")
    cwd = sent.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return cwd if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd else None


def _bounded(session: str) -> str:
    if len(session) <= SESSION_CHARS_MAX:
        return session
    from hashlib import sha256

    return sha256(session.encode(errors="surrogatepass")).hexdigest()


GIVE_UP_S: Final = 0.5
TIMEOUT_S_MAX: Final = 60.0
INPUT_BYTES_MAX: Final = 1024 * 1024
"""A longer input is read to its end, so that the runtime is not kept waiting, and not answered."""
_CHUNK_BYTES: Final = 64 * 1024


class HookTarget(NamedTuple):
    """The runtime that a hook was installed for, and the daemon that it asks."""

    runtime: str
    vaults: tuple[str, ...] = ()
    """Folders that the hook was installed for: asked about where the agent works in no served folder."""
    socket_path: str | None = None
    workspace: str | None = None
    timeout_s: float = GIVE_UP_S


def target_of(arguments: Sequence[str]) -> HookTarget | None:
    """Parses plain arguments; None if there are others, which the full command line handles."""
    parsed = plain_options(arguments, "socket", "workspace", "vault", "timeout")
    if parsed is None:
        return None
    words, found = parsed
    if len(words) != 1 or words[0] not in RUNTIMES or not all(map(_is_timeout, found["timeout"])):
        return None
    last = {name: values[-1] for name, values in found.items() if values}
    timeout_s = float(last.get("timeout", GIVE_UP_S))
    vaults = tuple(found["vault"])
    return HookTarget(words[0], vaults, last.get("socket"), last.get("workspace"), timeout_s)


def _is_timeout(text: str) -> bool:
    try:
        return 0 < float(text) <= TIMEOUT_S_MAX
    except ValueError:
        return False


def run(target: HookTarget) -> int:
    """Answers one hook; returns 0."""
    for number in (signal.SIGALRM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: os._exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])  # the runtime may have blocked it
    signal.setitimer(signal.ITIMER_REAL, target.timeout_s)
    with suppress(Exception):
        os.fstat(1)  # if it is closed, the socket would take its place
        sent = _input()
        found = moment(target.runtime, json.loads(sent)) if sent else None
        if found is not None:
            _tell(target, found)
    signal.setitimer(signal.ITIMER_REAL, 0)  # an interpreter that ends has no handler any more
    return 0


def _input() -> bytes:
    """Standard input; empty if it is longer than INPUT_BYTES_MAX."""
    parts, size = list[bytes](), 0
    while part := os.read(0, _CHUNK_BYTES):
        size += len(part)
        if size <= INPUT_BYTES_MAX:
            parts.append(part)
    return b"".join(parts) if size <= INPUT_BYTES_MAX else b""


def _tell(target: HookTarget, found: Moment) -> None:
    folders = [os.path.realpath(folder) for folder in (found.folder, *target.vaults) if folder is not None]
    path = _socket_of(target, folders)
    connection = open_socket(path) if path is not None else None
    if connection is None:
        return
    with connection, connection.makefile("rb") as answers:
        offer = {
            "client": found.runtime.client,
            "session": found.session,
            "event": found.event,
            "folders": folders,
            "tell": found.tell,
            "form": found.runtime.form,
        }
        _send(connection, "workspaced/volunteer", offer, 1)
        result = json.loads(answers.readline()).get("result") or {}
        text, token = result.get("text"), result.get("token")
        if not isinstance(text, str) or not text:
            return
        answer = json.dumps(found.output(text), ensure_ascii=False).encode() + b"\n"
        if not _fits(answer):
            return
        signal.setitimer(signal.ITIMER_REAL, 0)  # half of an answer would be read as text
        os.write(1, answer)
        _send(connection, "workspaced/volunteer/confirm", {"token": token}, 2)


def _socket_of(target: HookTarget, folders: Sequence[str]) -> str | None:
    """The socket of the daemon that serves the first of the folders that any daemon serves."""
    named = target.socket_path or os.environ.get("WORKSPACED_SOCKET")
    if named:
        return named
    records = running()
    if target.workspace is not None:
        records = [each for each in records if each.workspace == target.workspace]
    for folder in folders:
        if (record := serving(records, [folder])) is not None:
            return record.socket
    return None


def _send(connection: socket.socket, method: str, params: dict[str, Any], number: int) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    connection.sendall(json.dumps(request).encode() + b"\n")


def _fits(answer: bytes) -> bool:
    """Whether standard output takes the whole answer at once, also from a runtime that reads only at the end."""
    if not stat.S_ISFIFO(os.fstat(1).st_mode) or not hasattr(fcntl, "F_GETPIPE_SZ"):
        return True
    return len(answer) <= fcntl.fcntl(1, fcntl.F_GETPIPE_SZ)
