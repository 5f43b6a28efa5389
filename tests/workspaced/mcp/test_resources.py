"""Resources: what may be read by URI, and being told when it changed."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from pyee.base import EventEmitter

from workspaced.journal.log_tail import NOTES_MOVED
from workspaced.limits import SUBSCRIPTIONS_PER_CONNECTION_MAX
from workspaced.mcp.resource_subscriptions import ResourceWatch

CONTEXT, CURRENT = "workspace://context", "workspace://note/current"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
NOTES = {
    "a.md": "# Alpha\n\nFirst, see [[b]].\n",
    "b.md": "# Beta\n\nSecond.\n",
    "deep/50% done #1.md": "# Half\n\nHalf.\n",
    "über.md": "# Über\n\nAbove.\n",
    "control.md": "# Control\n",
    "private.md": "---\nworkspaced: private\n---\n# Secret\n\nHidden.\n",
}


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    made = module_daemon(notes=NOTES)
    active(made, "control.md")
    return made


def active(daemon: Any, note: str | None) -> None:
    """What a UI does when the user opens a note, or none."""
    daemon.publish("active_note_set", note=note)


def told_meanwhile(daemon: Any, peer: Any) -> set[tuple[str, Any]]:
    """What the client was told of, and on which subscription, until it was told of two changes of another resource
    made now, one after the other.

    A change waits as long as any before it, so whatever was to be told of has been. The other resource is a note
    in none of the workspace's lists but the recent ones: its text changes nothing else.
    """
    uri = "workspace://note/control.md"
    seen = set()
    if peer.meta:
        control = peer.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
        while (told := of(peer.notice())) != (None, control):
            seen.add(told)
    else:
        control = peer.result("resources/subscribe", uri=uri).get("id")
    for _ in range(2):
        (daemon.vault / "control.md").write_text(f"# Control\n\n{time.time_ns()}\n")
        daemon.reconcile()
        while (told := of(peer.notice())) != (uri, control):
            seen.add(told)
    return {(told, by) for told, by in seen if told != uri}


def of(notice: dict[str, Any]) -> tuple[str | None, Any]:
    """What a notification tells of, and on which subscription; of an acknowledgement None."""
    return notice["params"].get("uri"), notice["params"]["_meta"].get(SUBSCRIPTION)


def text(result: dict[str, Any]) -> dict[str, Any]:
    """The JSON of the only content."""
    (content,) = result["contents"]
    assert content["mimeType"] == "application/json"
    said: dict[str, Any] = json.loads(content["text"])
    return said


# -- reading --


def test_the_lists_name_what_can_be_read(peer: Any) -> None:
    resources = peer.result("resources/list")["resources"]
    assert [each["uri"] for each in resources] == [CONTEXT, CURRENT]
    (template,) = peer.result("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "workspace://note/{+reference}{?at}"
    assert peer.error("resources/list", cursor="x")["code"] == -32602


def test_a_resource_says_what_its_tool_says(shared: Any, peer: Any) -> None:
    active(shared, "a.md")
    for uri, tool, arguments in (
        (CONTEXT, "get_workspace_context", {}),
        (CURRENT, "get_current_note", {}),
        (
            "workspace://note/Beta",
            "get_note_by_reference",
            {"reference": "Beta", "includeMetadata": True, "maxContentLength": 10_000},
        ),
    ):
        result = peer.result("resources/read", uri=uri)
        assert result["contents"][0]["uri"] == uri
        assert text(result) == peer.call(tool, **arguments)["structuredContent"]


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "workspace://",
        "workspace://other",
        "workspace://note/",
        "workspace://note/%FF",
        "workspace://note/no%20such%20note",
        "workspace://note/../../etc/passwd",
        "workspace://note//etc/passwd",
        "workspace://note/a.md%00",
        "workspace://note/private.md",
        "workspace://note/Secret",
        "workspace://note/" + "x" * 5_000,
        "WORKSPACE://context",
        "file:///etc/passwd",
    ],
    ids=lambda uri: uri[:40],
)
def test_what_is_no_resource_is_refused_with_its_uri(peer: Any, uri: str) -> None:
    error = peer.error("resources/read", uri=uri)
    assert error["code"] == -32602
    assert error["data"]["uri"] == uri[:200] and error["data"]["hint"]
    assert "passwd" not in error["message"] or uri.endswith("passwd")


def test_without_an_active_note_there_is_no_current_one(shared: Any, peer: Any) -> None:
    active(shared, None)
    error = peer.error("resources/read", uri=CURRENT)
    assert error["code"] == -32602 and error["data"]["code"] == "NO_ACTIVE_NOTE"
    assert text(peer.result("resources/read", uri=CONTEXT))["data"]["activeNote"] is None


# -- watching, 2026-07-28 --


def listen(peer: Any, *uris: str, **more: Any) -> int:
    """Opens a subscription; returns its id once it is acknowledged."""
    number: int = peer.send("subscriptions/listen", notifications={"resourceSubscriptions": list(uris), **more})
    told = peer.notice()
    assert told["method"] == "notifications/subscriptions/acknowledged"
    assert told["params"]["_meta"][SUBSCRIPTION] == number
    assert told["params"]["notifications"].get("resourceSubscriptions", []) == list(uris)
    return number


def test_a_listener_is_told_of_what_it_asked_for_and_of_nothing_else(shared: Any, modern: Any) -> None:
    active(shared, "a.md")
    peer = modern(shared)
    context = listen(peer, CONTEXT)
    current = listen(peer, CURRENT)
    active(shared, "b.md")
    told = [peer.notice(), peer.notice()]
    assert {(each["params"]["uri"], each["params"]["_meta"][SUBSCRIPTION]) for each in told} == {
        (CONTEXT, context),
        (CURRENT, current),
    }
    for each in told:
        assert each["method"] == "notifications/resources/updated"
        assert set(each["params"]) == {"uri", "_meta"}
        assert ":" in each["params"]["_meta"]["io.github.workspaced/clock"]
    assert text(peer.result("resources/read", uri=CURRENT))["data"]["id"] == "b.md"
    shared.publish("note_pinned", note="a.md")
    assert peer.notice()["params"]["uri"] == CONTEXT
    shared.publish("note_unpinned", note="a.md")
    assert peer.notice()["params"]["uri"] == CONTEXT


@pytest.mark.parametrize("note", [None, "a.md"])  # with no note to read, the answer is there without a wait
def test_a_stream_cancelled_before_it_was_acknowledged_never_begins(
    shared: Any, modern: Any, note: str | None
) -> None:
    active(shared, note)
    peer = modern(shared)
    number = peer.send("subscriptions/listen", notifications={"resourceSubscriptions": [CURRENT]})
    peer.tell("notifications/cancelled", requestId=number)
    assert {by for _, by in told_meanwhile(shared, peer)} <= {number}
    active(shared, "a.md")
    active(shared, "b.md")
    assert told_meanwhile(shared, peer) == set()


def test_subscriptions_are_bounded_and_none_takes_the_place_of_a_request(shared: Any, modern: Any) -> None:
    peer = modern(shared)
    for _ in range(SUBSCRIPTIONS_PER_CONNECTION_MAX):
        listen(peer, CURRENT)
    assert peer.error("subscriptions/listen", notifications={"resourceSubscriptions": [CONTEXT]})["code"] == -32602
    uris = [f"workspace://note/{number}" for number in range(SUBSCRIPTIONS_PER_CONNECTION_MAX + 1)]
    other = modern(shared)
    assert other.error("subscriptions/listen", notifications={"resourceSubscriptions": uris})["code"] == -32602
    assert peer.call("get_workspace_context")["isError"] is False


# -- watching, handshake and native --


def test_a_subscriber_is_told_until_it_unsubscribes(shared: Any, handshake: Any) -> None:
    active(shared, "a.md")
    peer = handshake(shared)
    for uri in (CURRENT, CURRENT, CONTEXT):
        assert peer.result("resources/subscribe", uri=uri) == {}
    active(shared, "b.md")
    assert {peer.notice()["params"]["uri"], peer.notice()["params"]["uri"]} == {CONTEXT, CURRENT}
    for uri in (CURRENT, CURRENT, "workspace://note/never"):
        assert peer.result("resources/unsubscribe", uri=uri) == {}
    active(shared, "a.md")
    assert told_meanwhile(shared, peer) == {(CONTEXT, None)}
    refused = peer.error("resources/subscribe", uri="file:///x")
    assert refused["code"] == -32602 and refused["data"]["uri"] == "file:///x"


# -- what nobody is told --


def test_a_note_kept_from_agents_is_not_told_of(shared: Any, modern: Any) -> None:
    active(shared, "private.md")
    peer = modern(shared)
    current = listen(peer, "workspace://note/private.md", CURRENT)
    (shared.vault / "private.md").write_text("---\nworkspaced: private\n---\n# Secret\n\nAnother text.\n")
    shared.reconcile()
    shared.publish("note_pinned", note="private.md")
    assert told_meanwhile(shared, peer) == set()
    active(shared, "b.md")
    assert told_meanwhile(shared, peer) == {(CURRENT, current)}


def test_a_client_that_is_shown_nothing_is_told_only_that(shared: Any, modern: Any) -> None:
    active(shared, "a.md")
    peer = modern(shared, "shut-out")
    listen(peer, CURRENT)
    shared.call("workspaced/share", {"client": "shut-out", "level": "none"})
    assert peer.notice()["params"]["uri"] == CURRENT
    active(shared, "b.md")
    assert peer.error("resources/read", uri=CURRENT)["data"]["code"] == "SHARING_OFF"
    shared.call("workspaced/share", {"client": "shut-out", "level": "all"})
    assert peer.notice()["params"]["uri"] == CURRENT
    assert told_meanwhile(shared, peer) == set()


# -- files --


def test_a_watch_that_is_closed_is_called_no_more() -> None:
    """A connection may open and close watches all day: none of them may stay behind."""
    signals = EventEmitter()
    service: Any = SimpleNamespace(tail=SimpleNamespace(signals=signals, seq=0))
    watch = ResourceWatch(service, SimpleNamespace(), "agent", [CURRENT])  # type: ignore[arg-type]
    assert len(signals.listeners(NOTES_MOVED)) == 1
    watch.close()
    watch.close()
    assert signals.listeners(NOTES_MOVED) == []
