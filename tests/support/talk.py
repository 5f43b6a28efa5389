"""A conversation over a daemon's socket, as a runtime holds it, and what of it a model or a disk can tell."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

from .stored_texts import unpacked

Json = dict[str, Any]
SETTINGS: Json = {"provider": "openai", "model": "any", "context_window": 100_000, "output_reserve": 1_000}
_numbers = itertools.count(1)


def user(text: str, *attached: str | Json, **more: Any) -> Json:
    """A message of the user. A string that is attached is the path of a note."""
    notes = [{"kind": "note", "id": each} if isinstance(each, str) else each for each in attached]
    return {"role": "user", "text": text, **({"attachments": notes} if notes else {}), **more}


class Talk:
    """One conversation of one client. Settings are those of `context.start`."""

    def __init__(self, client: Any, **settings: Any) -> None:
        self.client = client
        self.id = f"talk-{next(_numbers)}"
        self.context.start(conversation=self.id, **{**SETTINGS, **settings})

    @property
    def context(self) -> Any:
        return self.client.context

    def say(self, **message: Any) -> str:
        """Tells one message; its id."""
        (name,) = self.context.message(self.id, message)["messages"]
        return str(name)

    def user(self, text: str, *attached: str | Json, **more: Any) -> str:
        return self.say(**user(text, *attached, **more))

    def assistant(self, text: str, **more: Any) -> str:
        return self.say(role="assistant", text=text, **more)

    def prompt(self, **how: Any) -> Json:
        """The prompt for the last message."""
        made: Json = self.context.assemble(self.id, **how)
        return made

    def ask(self, text: str, *attached: str | Json, **how: Any) -> Json:
        """A whole turn; its prompt."""
        self.user(text, *attached)
        prompt = self.prompt(**how)
        self.assistant("I see.")
        return prompt

    def events(self, *types: str) -> list[Json]:
        """What the log tells of it, and of what belongs to no conversation."""
        asked = {"limit": 10_000, **({"types": types} if types else {})}
        events = self.client.call("workspaced/log", asked)["events"]
        return [event for event in events if event["data"].get("conversation", self.id) == self.id]

    def told(self, *types: str) -> list[Json]:
        """The data of its events."""
        return [event["data"] for event in self.events(*types)]


class DaemonTalk(Talk):
    """One with a daemon of its own, whose user looks around and writes."""

    def __init__(self, running: Any, **settings: Any) -> None:
        super().__init__(running.connect("runtime"), **{"system": "You help.", "environment": False, **settings})
        self.running = running

    def write(self, path: str, text: str) -> None:
        (self.running.vault / path).write_text(text)
        self.client.call("workspaced/reconcile")

    def look_at(self, path: str, selected: str = "") -> None:
        """The user opens a note, and selects that in its third line."""
        self.running.publish("active_note_set", note=path)
        if selected:
            self.running.publish("selection_changed", note=path, startLine=3, endLine=3, text=selected)

    def start(self) -> None:
        self.running.start()
        self.client = self.running.connect("runtime")

    def stop(self) -> Path:
        """Ends the daemon; its data directory."""
        self.client.close()
        self.running.stop()
        data: Path = self.running.data
        return data

    def forget(self, path: str) -> None:
        """Forgets a note, once the daemon has ended."""
        done = self.running.cli("forget", path, "--data-dir", str(self.running.data), "--yes")
        assert done.returncode == 0, done.stderr

    def verified(self, source: Path | None = None) -> Counter[str]:
        """What becomes of the prompts of the log, or of a bundle, when they are made again."""
        done = self.running.cli("replay", "--verify", "--json", str(source or self.running.data))
        assert done.returncode == 0, (done.stdout[-600:], done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return Counter(each["outcome"] for each in lines if "message" in each)


def sent(prompt: Json) -> str:
    """All that is said to the model, as one text."""
    return json.dumps(prompt["messages"], ensure_ascii=False)


def system(prompt: Json) -> str:
    """The text of the system message."""
    first = prompt["messages"][0]
    return str(first["content"][0]["text"]) if first["role"] == "system" else ""


def texts(prompt: Json) -> list[str]:
    """The texts of the messages in their order."""
    return [block["text"] for message in prompt["messages"] for block in message["content"]]


def layer(prompt: Json, name: str) -> Json:
    return next(each for each in prompt["layers"] if each["id"] == name)


def entries(prompt: Json, name: str) -> list[Json]:
    """The records of one thing in the manifest."""
    return [each for each in prompt["manifest"]["entries"] if each["id"] == name]


def telling(what: Any, canaries: tuple[str, ...]) -> list[str]:
    """The words that an answer tells."""
    text = json.dumps(what, ensure_ascii=False).casefold()
    return [each for each in canaries if each in text]


def files_telling(data: Path, canaries: tuple[str, ...]) -> list[str]:
    """The files of a data directory that tell one of these words, by their content or their path."""
    found = []
    for path in data.rglob("*"):
        if path.is_file() and path.name != "lock":
            content = path.read_bytes()
            text = b"\n".join([str(path).encode(), content, unpacked(content)]).decode(errors="replace").casefold()
            found += [path.name] if any(each in text for each in canaries) else []
    return found
