"""What was put into requests is shown by `workspaced context`, and what the log does not have is not made up."""

import json
from hashlib import sha256
from typing import Any

from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import ContextInserted, Event, PromptOverlaid
from workspaced_tools.prompts.audit.overlaid_chats import OverlaidChats

Asked = tuple[Any, list[list[str]]]


def test_a_chat_shows_what_was_put_into_it_and_which_requests_had_it(asked: Asked) -> None:
    running, stood = asked
    listed = json.loads(running.cli("context", "list", str(running.data), "--json").stdout)
    assert (listed["caller"], listed["insertions"], listed["requests"]) == ("agent", 3, 4)
    done = running.cli("context", "show", listed["chat"][:6], str(running.data), "--json")
    chat = json.loads(done.stdout)
    first, second, third = chat["insertions"]
    assert [each["text"] for each in chat["insertions"]] == [*stood[1], stood[3][1]]
    assert [each["after"] for each in chat["insertions"]] == [None, first["insertion"], second["insertion"]]
    assert [each["requests"] for each in chat["insertions"]] == [3, 3, 1]
    assert len({each["turn"] for each in chat["insertions"]}) == 3
    revision = sha256(b"# B\n\nBeta.\n").hexdigest()
    assert second["notes"] == [{"note": "b.md", "revision": revision}]
    assert (second["withdrawnAt"], third["withdrawnAt"]) == (None, None)
    assert third["seq"] > first["withdrawnAt"] > chat["requests"][2]["seq"]
    seqs = [each["seq"] for each in chat["insertions"]]
    assert [each["insertions"] for each in chat["requests"]] == [seqs[:1], seqs[:2], seqs[:2], seqs[1:]]
    sizes = [sum(map(len, texts)) for texts in stood]
    assert all(each["inputTokens"] > size for each, size in zip(chat["requests"], sizes, strict=True))


def test_what_the_log_does_not_have_is_not_made_up(asked: Asked) -> None:
    running, _ = asked
    with open_source(running.data) as source:
        events: list[Event] = []
        source.feed(events.extend)
    (first, *_) = [event for event in events if type(event.data) is ContextInserted]
    without_first, unconfirmed = OverlaidChats(), OverlaidChats()
    for event in events:
        if event is not first:
            without_first.take(event)
        if type(event.data) is not PromptOverlaid:
            unconfirmed.take(event)
    chat = without_first.shown(first.data.session, lambda _name: None)
    assert [each.insertions for each in chat.requests] == [[], [], []]
    assert [each.text for each in chat.insertions] == [None, None]
    assert [each.requests for each in chat.insertions] == [3, 1]  # that left with them all the same
    assert [each.requests for each in unconfirmed.shown(chat.chat, source.blob).insertions] == [0, 0, 0]
