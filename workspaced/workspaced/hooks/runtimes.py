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

Imports only a small part of the standard library.
"""

from typing import Any, Final, NamedTuple

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
