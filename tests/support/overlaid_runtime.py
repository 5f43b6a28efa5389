"""An agent's program that keeps its own history, and lets the daemon put texts into its requests."""

import json
from typing import Any

from workspaced.overlay.asking import METHOD, overlaid, params_of
from workspaced.overlay.request import read_request

from .insertions import told


class Runtime:
    """An agent's program; without tools it is told the active note's text. `name`: that of its chat."""

    def __init__(
        self, daemon: Any, *, has_tools: bool = False, client: str = "agent", name: str | None = None
    ) -> None:
        self.daemon, self.client = daemon, client
        self.settings: dict[str, Any] = {"tools": [{"name": "look"}]} if has_tools else {}
        if name is not None:
            self.settings["metadata"] = {"user_id": name}
        self.messages: list[dict[str, Any]] = []
        self.sent: dict[str, Any] = {}
        """The last request as it left."""

    def body(self) -> bytes:
        return json.dumps({**self.settings, "messages": self.messages}).encode()

    def says(self, words: str) -> None:
        self.messages.append({"role": "user", "content": words})

    def sends(self, *attachments: str, leaves: bool = True) -> list[str]:
        """What stands in the request, which leaves and is answered; each byte of it is a token."""
        request = read_request("anthropic", body := self.body())
        with self.daemon.connect(name=self.client) as client:
            given = client.call(METHOD, {**params_of(request), "attachments": list(attachments)})
            sent = overlaid(request, body, given)
            self.sent = json.loads(sent)
            if leaves and (token := given["token"]) is not None:
                params = {"token": token, "bodySha256": "0" * 64}
                assert client.call(f"{METHOD}/confirm", params) == {"recorded": True}
                usage = {"input_tokens": len(sent), "output_tokens": 7}
                client.call(f"{METHOD}/finished", {"token": token, "form": "anthropic", "usage": usage})
        return told(sent)

    def asks(self, words: str, *attachments: str, answer: str = "So.") -> list[str]:
        """The same of a whole turn."""
        self.says(words)
        stood = self.sends(*attachments)
        self.messages.append({"role": "assistant", "content": answer})
        return stood


def looks_at(running: Any, note: str) -> None:
    running.publish("active_note_set", note=note)


def looking_at(texts: list[str]) -> list[str]:
    """The notes that these texts say the user looks at."""
    lines = [line for text in texts for line in text.split("\n")]
    return [line.removeprefix("looking at: ") for line in lines if "looking at" in line]
