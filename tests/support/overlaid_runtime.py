"""An agent's program that keeps its own history, and lets the daemon put texts into its requests."""

import json
from typing import Any

from workspaced.overlay.asking import METHOD, overlaid, params_of
from workspaced.overlay.request import read_request

from .insertions import told


class Runtime:
    """An agent's program; without tools it is told the active note's text. It attaches notes."""

    def __init__(self, daemon: Any, *, has_tools: bool = False) -> None:
        self.daemon = daemon
        self.settings = {"tools": [{"name": "look"}]} if has_tools else {}
        self.messages: list[dict[str, Any]] = []

    def asks(self, words: str, *attachments: str, answer: str = "So.") -> list[str]:
        """What stands in the request, which leaves and is answered; each byte of it is a token."""
        self.messages.append({"role": "user", "content": words})
        request = read_request(
            "anthropic", body := json.dumps({**self.settings, "messages": self.messages}).encode()
        )
        with self.daemon.connect(name="agent") as client:
            given = client.call(METHOD, {**params_of(request), "attachments": list(attachments)})
            sent = overlaid(request, body, given)
            if (token := given["token"]) is not None:
                client.call(f"{METHOD}/confirm", {"token": token, "bodySha256": "0" * 64})
                usage = {"input_tokens": len(sent), "output_tokens": 7}
                client.call(f"{METHOD}/finished", {"token": token, "form": "anthropic", "usage": usage})
        self.messages.append({"role": "assistant", "content": answer})
        return told(sent)


def looks_at(running: Any, note: str) -> None:
    with running.connect(name="editor") as client:
        client.publish([{"type": "active_note_set", "data": {"note": note}}])
