"""The hooks of agents' runtimes: where each takes context, and in which form.

Facts, looked up on 2026-11-22 and where said tried with the programs themselves (tests/data/runtimes):

    Claude Code   UserPromptSubmit and SessionStart take `hookSpecificOutput.additionalContext`; it stays in the
                  conversation. SessionStart's source `compact` follows a compaction.
    Codex         the same names and forms; the text becomes a message of the developer behind the prompt.
    Gemini CLI    BeforeAgent takes it for the turn at hand; `<` and `>` are escaped. PreCompress takes none.
    Cursor        sessionStart and postToolUse take `additional_context`; ids are `conversation_id`.
    VS Code       reads Claude Code's settings; SessionStart and PostToolUse take it, UserPromptSubmit does not.

At the start of a session nothing is told where prompts take context: it would be stale by the first prompt. A
runtime's unknown fields are ignored, and only fields that it knows are sent: one refuses others.

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
    is_flat: bool = False
    """Whether the text is the field `additional_context` of the answer."""


CLAUDE: Final = Runtime("claude-code", {"UserPromptSubmit": "difference", "SessionStart compact": "whole"})
RUNTIMES: Final = {
    "claude": CLAUDE,
    "codex": CLAUDE._replace(client="codex-mcp-client"),
    "gemini": Runtime("gemini-cli-mcp-client", {"BeforeAgent": "whole", "PreCompress": "nothing"}, form="plain"),
    "cursor": Runtime(
        "cursor-vscode",
        {"sessionStart": "difference", "postToolUse": "difference"},
        session="conversation_id",
        is_flat=True,
    ),
    "vscode": Runtime(
        "Visual Studio Code",
        {"SessionStart": "difference", "PostToolUse": "difference"},
        session="sessionId",
        event="hookEventName",
    ),
}


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
        if self.runtime.is_flat:
            return {"additional_context": text}
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
    runtime = RUNTIMES["cursor" if "cursor_version" in sent else "vscode" if "sessionId" in sent else name]
    event, session = sent.get(runtime.event), sent.get(runtime.session)
    if not isinstance(event, str) or not isinstance(session, str) or not session:
        return None
    tell = runtime.moments.get(event) or runtime.moments.get(f"{event} {sent.get('source')}")
    if tell is None or sent.get("agent_id") or sent.get("prompt") == "":
        return None  # no person typed this
    return Moment(runtime, _bounded(session), event, tell, _folder(sent))


def _folder(sent: dict[str, Any]) -> str | None:
    roots = sent.get("workspace_roots")
    cwd = sent.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return cwd if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd else None


def _bounded(session: str) -> str:
    if len(session) <= SESSION_CHARS_MAX:
        return session
    from hashlib import sha256

    return sha256(session.encode(errors="surrogatepass")).hexdigest()
