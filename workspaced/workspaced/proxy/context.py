"""Puts context into a request, if it has a prompt and the daemon answers; else says why not."""

import logging
from typing import Any, Final, NamedTuple

from workspaced_events.errors import WorkspacedError

from ..limits import PROXY_REASON_CHARS_MAX
from .daemon_link import DaemonLink
from .prompt_body import Form, NoPrompt, Prompt
from .upstream import Headers

logger = logging.getLogger(__name__)

OFF: Final = "off"


class Outcome(NamedTuple):
    """What became of a request's prompt, for the headers of the answer."""

    context: str
    """`added`, `off` or `unchanged`."""
    reason: str = ""
    """A code and why, if it is unchanged."""
    session: str = ""
    seq: int = 0
    message: str | None = None
    """The id of the prompt's last message, if the daemon names it."""

    def headers(self) -> Headers:
        """Without what is empty."""
        named = {
            "": self.context,
            "-reason": _one_line(self.reason),
            "-session": self.session,
            "-seq": str(self.seq or ""),
        }
        names = {name: f"x-workspaced{name or '-context'}".encode() for name in named}
        return [(names[name], value.encode("ascii", "replace")) for name, value in named.items() if value]


def unchanged(code: str, message: str) -> Outcome:
    """Of a request that goes on as it came."""
    return Outcome("unchanged", f"{code}: {message}")


def _one_line(text: str) -> str:
    plain = "".join(each if each.isascii() and each.isprintable() else "?" for each in text)
    return plain[:PROXY_REASON_CHARS_MAX].strip()  # no header ends in a blank


class Settings(NamedTuple):
    """What the proxy tells the daemon of every prompt; None: the daemon's defaults."""

    context_window: int | None = None
    output_reserve: int | None = None

    def params(self) -> dict[str, Any]:
        named = {"contextWindow": self.context_window, "outputReserve": self.output_reserve}
        return {name: value for name, value in named.items() if value is not None}


async def with_context(
    daemon: DaemonLink, settings: Settings, form: Form, path: bytes, body: bytes, session: str | None
) -> tuple[bytes, Outcome]:
    """The body to send, and what became of it.

    Args:
        session: the conversation that the runtime names, from the headers of an earlier answer.
    """
    try:
        prompt = Prompt(form, body, path)
        params = {**prompt.params(), **settings.params()}
        if session is not None:
            params["session"] = session
        made = await daemon.transform(prompt.messages, params)
    except (NoPrompt, WorkspacedError) as error:
        return body, unchanged(error.code, error.message)
    except Exception as error:  # a defect of ours: the runtime is not to suffer from it
        logger.exception("a prompt could not be given its context")
        return body, unchanged("INTERNAL", f"{type(error).__name__}, see the proxy's log")
    outcome = Outcome("added", "", made["session"], made["seq"], made.get("message"))
    return prompt.body_with(made["messages"], made["system"]), outcome
