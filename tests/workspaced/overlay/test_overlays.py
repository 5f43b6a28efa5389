"""What the daemon says to put into requests, as a client asks for it."""

import json
from typing import Any

import pytest
from support.insertions import told

from workspaced.overlay.asking import METHOD, overlaid, params_of
from workspaced.overlay.request import read_request

NOTES = {"a.md": "# A\n\nAlpha.\n", "b.md": "# B\n\nBeta.\n", "c.md": "# C\n\nGamma.\n"}


class Chat:
    """A client that sends the whole chat each time, as clients do."""

    def __init__(self, daemon: Any, client: str = "agent", name: str | None = None) -> None:
        self.daemon, self.client, self.name = daemon, client, name
        self.messages: list[dict[str, Any]] = []
        self.attachments: tuple[str, ...] = ()
        self.sent: dict[str, Any] = {}

    def copy(self) -> "Chat":
        made = Chat(self.daemon, self.client, self.name)
        made.messages = [*self.messages]
        return made

    def body(self) -> bytes:
        named = {"metadata": {"user_id": self.name}} if self.name is not None else {}
        return json.dumps({**named, "messages": self.messages}).encode()

    def asks(self, words: str, *, confirms: bool = True) -> list[str]:
        """What stands in the request, for these words of the user."""
        self.messages.append({"role": "user", "content": words})
        return self.sends(confirms=confirms)

    def sends(self, *, confirms: bool = True) -> list[str]:
        request = read_request("anthropic", body := self.body())
        with self.daemon.connect(name=self.client) as client:
            answer = client.call(METHOD, {**params_of(request), "attachments": list(self.attachments)})
            sent = overlaid(request, body, answer)
            self.sent = json.loads(sent)
            if confirms and answer["token"] is not None:
                params = {"token": answer["token"], "bodySha256": "0" * 64}
                assert client.call(f"{METHOD}/confirm", params) == {"recorded": True}
        return told(sent)

    def hears(self, words: str) -> None:
        self.messages.append({"role": "assistant", "content": words})


@pytest.fixture
def running(daemon: Any) -> Any:
    return daemon(notes=NOTES)


def recorded(running: Any) -> list[str]:
    """The types of all events."""
    with running.connect() as client:
        return [each["type"] for each in client.call("workspaced/log", {})["events"]]


def looks_at(running: Any, note: str) -> None:
    with running.connect(name="editor") as client:
        client.publish([{"type": "active_note_set", "data": {"note": note}}])


def looking_at(texts: list[str]) -> list[str]:
    return [
        line.removeprefix("looking at: ") for text in texts for line in text.split("\n") if "looking at" in line
    ]


def test_where_nothing_changed_nothing_is_said_again(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    first = chat.asks("One?")
    chat.hears("1.")
    assert chat.asks("Two?") == first
    chat.hears("2.")
    looks_at(running, "b.md")
    third = chat.asks("Three?")
    assert third[:1] == first and looking_at(third) == ["a.md", "b.md"]


def test_what_was_never_sent_is_offered_again(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    first = chat.asks("One?", confirms=False)
    assert looking_at(first) == ["a.md"]
    assert chat.sends(confirms=False) == first
    chat.messages[-1] = {"role": "user", "content": "Or one else?"}
    assert looking_at(chat.sends()) == ["a.md"]


def test_what_was_never_sent_is_not_offered_any_more_once_it_is_not_so(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    chat.asks("One?", confirms=False)
    looks_at(running, "b.md")
    assert looking_at(chat.sends(confirms=False)) == ["b.md"]
    chat.attachments = ("c.md",)
    assert "\ntext of c.md:" in chat.sends()[0]


def test_a_turn_answered_anew_has_the_same_text_or_what_is_new_beside_the_turn_before(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    chat.asks("One?")
    chat.hears("1.")
    looks_at(running, "b.md")
    second = chat.asks("Two?")
    assert chat.sends() == second
    looks_at(running, "c.md")
    assert looking_at(chat.sends()) == ["a.md", "c.md"]
    chat.hears("2.")
    assert looking_at(chat.asks("Three?")) == ["a.md", "c.md"]


def test_named_chats_that_begin_alike_stay_apart(running: Any) -> None:
    looks_at(running, "a.md")
    one, other = Chat(running, name="one"), Chat(running, name="other")
    first = one.asks("Hello?")
    looks_at(running, "b.md")
    second = other.asks("Hello?")
    assert (looking_at(first), looking_at(second)) == (["a.md"], ["b.md"])
    for chat in (one, other):
        chat.hears("Hi.")
    assert one.asks("And?")[:1] == first
    assert other.asks("And?")[:1] == second


def test_a_note_that_is_withheld_leaves_once_and_never_returns(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    chat.asks("One?")
    chat.hears("1.")
    looks_at(running, "b.md")
    assert looking_at(chat.asks("Two?")) == ["a.md", "b.md"]
    chat.hears("2.")
    note = running.vault / "a.md"
    note.write_text("---\nworkspaced: false\n---\n" + NOTES["a.md"])
    assert looking_at(chat.asks("Three?")) == ["b.md"]
    chat.hears("3.")
    note.write_text(NOTES["a.md"])
    assert looking_at(chat.asks("Four?")) == ["b.md"]
    assert recorded(running).count("context_withdrawn") == 1


def test_after_a_restart_the_same_bytes_stand(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    first = chat.asks("One?")
    chat.hears("1.")
    running.restart()
    assert chat.asks("Two?") == first


def test_a_chat_whose_older_words_change_is_told_what_is_new(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running, name="one")
    chat.asks("One?")
    chat.hears("1.")
    looks_at(running, "b.md")
    chat.asks("Two?")
    chat.hears("2.")
    chat.messages = chat.messages[2:]  # a window that slides
    assert looking_at(chat.asks("Three?")) == ["b.md"]


def test_where_the_vault_is_stands_in_a_window_once(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running, name="one")
    said = []
    for number in range(9):
        looks_at(running, "abc"[number % 3] + ".md")
        said.append("".join(chat.asks(f"And {number}?")).count("\nvault: "))
        chat.hears(f"{number}.")
        chat.messages = chat.messages[-6:]
    assert said == [1] * 9


@pytest.fixture
def slid(running: Any) -> Chat:
    """A chat without its first words, whose next turns have the same words and the same answer before."""
    chat = Chat(running, name="one")
    for note, words in (("a.md", "Begin."), ("b.md", "Go on."), ("c.md", "Go on.")):
        looks_at(running, note)
        chat.asks(words)
        chat.hears("Ok.")
    chat.messages = chat.messages[1:]
    return chat


def test_turns_that_are_alike_keep_their_own_texts_in_a_window(running: Any, slid: Chat) -> None:
    assert looking_at(slid.asks("And?")) == ["b.md", "c.md"]


def test_a_text_stands_at_its_own_turn_as_long_as_a_window_has_it(running: Any) -> None:
    chat = Chat(running, name="one")
    stood: list[Any] = []
    for number in range(9):
        looks_at(running, "abc"[number % 3] + ".md")
        chat.asks("Go on." if number % 2 else f"And {number}?")
        chat.messages = chat.messages[-7:]
        *older, newest = [each["content"] for each in chat.sent["messages"] if each["role"] == "user"]
        assert older[1:] == stood[len(stood) - len(older) :][1:]  # of the first the answer before it is gone
        stood.append(newest)
        chat.hears("Ok.")


def test_a_new_turn_like_older_ones_leaves_their_texts_where_they_stand(running: Any, slid: Chat) -> None:
    looks_at(running, "a.md")
    assert looking_at(slid.asks("Go on.")) == ["b.md", "c.md", "a.md"]


def test_an_older_text_never_stands_behind_a_newer_one(running: Any) -> None:
    chat = Chat(running, name="one")
    for note, words in (("a.md", "Begin."), ("b.md", "Go on."), ("c.md", "Next?")):
        looks_at(running, note)
        chat.asks(words)
        chat.hears("Ok.")
    chat.messages = chat.messages[3:]  # the turn of b.md left; later one like it comes
    looks_at(running, "a.md")
    assert looking_at(chat.asks("More?")) == ["c.md", "a.md"]
    chat.hears("Ok.")
    assert looking_at(chat.asks("Go on.")) == ["c.md", "a.md"]


def test_a_chat_with_the_name_of_another_is_told_all_where_a_turn_is_like_one_there(running: Any) -> None:
    one, other = Chat(running, name="person"), Chat(running, name="person")
    for note, words in (("a.md", "Begin."), ("b.md", "Go on.")):
        looks_at(running, note)
        first = one.asks(words)
        one.hears("Ok.")
    looks_at(running, "c.md")
    other.messages = [{"role": "user", "content": "Else."}, {"role": "assistant", "content": "Ok."}]
    (told_other,) = other.asks("Go on.")
    assert "\nvault: " in told_other and looking_at([told_other]) == ["c.md"]
    assert one.asks("And?")[:2] == first


def test_of_an_attachment_without_a_text_that_is_said_once(running: Any) -> None:
    looks_at(running, "a.md")
    (running.vault / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    chat = Chat(running)
    chat.attachments = ("b.md", "no such.md", "photo.png")
    first = chat.asks("One?")
    assert "\ntext of b.md:\n" in first[0] and "\nnot found, or no text: no such.md, photo.png\n" in first[0]
    chat.hears("1.")
    assert chat.asks("Two?") == first
    chat.hears("2.")
    (running.vault / "no such.md").write_text("Here.\n")
    (running.vault / "b.md").unlink()
    third = chat.asks("Three?")
    assert third[:1] == first and "\ntext of no such.md:\n| Here." in third[1]
    assert "\nnot found, or no text: b.md\n" in third[1]


def test_that_an_attachment_has_no_text_is_said_again_once_it_stands_nowhere(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    chat.attachments = ("no such.md",)
    said = []
    for number in range(4):
        said.append("".join(chat.asks(f"And {number}?")).count("no such.md"))
        chat.hears(f"{number}.")
        looks_at(running, "b.md")
        if number == 1:  # the first text is withdrawn, for it names this note; the second one stands
            (running.vault / "a.md").write_text("---\nworkspaced: false\n---\n")
    assert said == [1] * 4


def test_within_a_tool_loop_and_where_a_hook_told_nothing_is_said(running: Any) -> None:
    looks_at(running, "a.md")
    chat = Chat(running)
    chat.messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "seen"}]},
    ]
    assert chat.sends() == []
    hooked = Chat(running)
    hooked.messages = [{"role": "user", "content": 'One?\n<workspace as-of="1" note="x">\n</workspace>'}]
    request = read_request("anthropic", hooked.body())
    assert params_of(request)["open"] is False
