"""Has the daemon say what to put into a request, if it holds a chat and the daemon answers; else says why not."""

import logging
from hashlib import sha256
from typing import Final, NamedTuple

from anyio import to_thread

from workspaced_events.errors import WorkspacedError

from ..overlay.asking import form_of, overlaid, params_of
from ..overlay.json_places import Unreadable
from ..overlay.request import ChatRequest, Form, read_request
from .daemon_link import DaemonLink
from .upstream import Headers

_PROXY_REASON_CHARS_MAX: Final = 300
_PROXY_READ_AT_ONCE_BYTES: Final = 262_144
"""Longer bodies are read on a thread of their own."""
logger = logging.getLogger(__name__)

OFF: Final = "off"
_SUBAGENTS: Final = (b"x-claude-code-agent-id", b"x-codex-parent-thread-id")
"""Which headers Claude Code and Codex send for a helper of theirs."""


class NoPrompt(Exception):
    """Nothing can be put into the request: a code, and why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Outcome(NamedTuple):
    """What became of a request, for the headers of the answer."""

    context: str
    """`added`, `off` or `unchanged`."""
    reason: str = ""
    """A code and why, if it is unchanged."""
    form: Form = "openai"
    token: str = ""
    """Names the insertions to the daemon, also those that the provider holds; empty: there are none."""
    body_sha256: str = ""
    """Of the body with them."""

    def headers(self) -> Headers:
        """Without what is empty."""
        named = {b"x-workspaced-context": self.context, b"x-workspaced-reason": _one_line(self.reason)}
        return [(name, value.encode("ascii", "replace")) for name, value in named.items() if value]


def unchanged(code: str, message: str) -> Outcome:
    """Of a request that goes on as it came."""
    return Outcome("unchanged", f"{code}: {message}")


def _one_line(text: str) -> str:
    plain = "".join(each if each.isascii() and each.isprintable() else "?" for each in text)
    return plain[:_PROXY_REASON_CHARS_MAX].strip()  # no header ends in a blank


def form_of_prompt(method: str, path: bytes, headers: dict[bytes, bytes]) -> Form:
    """The form of a request.

    Raises:
        NoPrompt: it holds no chat, or one that takes no context.
    """
    form = form_of(path)
    if form is None or method != "POST":
        raise NoPrompt("NOT_A_PROMPT", "requests to this path hold no prompt")
    if any(each in headers for each in _SUBAGENTS):
        raise NoPrompt("SUBAGENT", "it is of an agent's helper")
    return form


async def _read(form: Form, body: bytes) -> ChatRequest:
    """Long bodies are read on a thread: other requests would wait, and think that the daemon does not answer.

    Raises:
        Unreadable: as `read_request`.
    """
    if len(body) <= _PROXY_READ_AT_ONCE_BYTES:
        return read_request(form, body)
    return await to_thread.run_sync(read_request, form, body)


async def with_context(daemon: DaemonLink, form: Form, path: bytes, body: bytes) -> tuple[bytes, Outcome]:
    """The body to send, which is the client's own bytes and what is inserted, and what became of it."""
    try:
        request = await _read(form, body)
        answer = await daemon.call(params_of(request, path))
        made = overlaid(request, body, answer)
    except Unreadable as error:
        return body, unchanged("UNREADABLE", str(error))
    except WorkspacedError as error:
        return body, unchanged(error.code, str(error))
    except Exception as error:  # a defect of ours: the runtime is not to suffer from it
        logger.exception("a request could not be given its context")
        return body, unchanged("INTERNAL", f"{type(error).__name__}, see the proxy's log")
    if answer["token"] is None and request.is_told:
        return body, unchanged("TOLD", "a text of workspaced stands in the user's words already, such as a hook's")
    told = Outcome("added") if answer["insertions"] else unchanged("NOTHING_NEW", answer["reason"] or "nothingNew")
    if answer["token"] is None:
        return body, told
    return made, told._replace(form=form, token=answer["token"], body_sha256=sha256(made).hexdigest())
