"""Attacks on the link."""

import json
from contextlib import suppress
from typing import Any

from support.editor_link import Link
from websockets.exceptions import ConnectionClosed

from .conftest import publish, show, volunteered


def test_open_editors_that_are_told_while_no_note_is_active_are_in_the_log(world: Any, link: Link) -> None:
    publish(world, "temporary_tab_opened", note="Budget.md", source="search")
    show(world, None)
    with link.claude() as claude:
        assert [each["label"] for each in claude.tool("getOpenEditors")["tabs"]] == ["Budget.md"]
    assert [each["event"] for each in volunteered(world)] == ["getOpenEditors"]


def test_a_request_whose_id_cannot_be_sent_back_leaves_the_session_open(world: Any, link: Link) -> None:
    with suppress(ConnectionClosed), link.claude() as claude:
        claude.told()
        claude.send('{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}')
        claude.send(json.dumps({"jsonrpc": "2.0", "id": "next", "method": "ping"}))
        while claude.message().get("id") != "next":
            pass
        return
    raise AssertionError("the session ended")
