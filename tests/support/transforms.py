"""Messages of a framework that go through `workspaced/context/transform`, and a client for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Json = dict[str, Any]
TRANSFORM = "workspaced/context/transform"
NOTES = {"a.md": "# A\n\nAlpha is red.\n", "b.md": "# B\n\nBeta is blue.\n"}


@contextmanager
def own_client(running: Any, request: Any) -> Iterator[Any]:
    """A client for one test, since conversations are found among those of one client. `a.md` is active."""
    with running.connect(request.node.name[-60:]) as client:
        look_at(client, "a.md")
        yield client


def look_at(client: Any, note: str) -> None:
    client.publish([{"type": "active_note_set", "data": {"note": note}}])


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> Json:
    return {"role": "assistant", "content": content, **more}


def call(client: Any, messages: Any, form: str = "openai", /, **more: Any) -> Json:
    made: Json = client.call(TRANSFORM, {"form": form, "messages": messages, **more})
    return made


def text_of(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n\n".join(each.get("text", "") for each in content)


def spoken(made: Json) -> list[str]:
    """The words of each message of an answer."""
    return [text_of(message) for message in made["messages"]]
