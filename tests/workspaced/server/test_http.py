"""MCP over HTTP on the daemon's socket: single requests of 2026-07-28, sessions of older versions, streams."""

import json
from base64 import b64encode
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import mcp_schema
from support.http_socket import JSON, META, MODERN, HttpWire, event, message, modern, read
from support.profiles import examples

from workspaced.limits import HTTP_SESSIONS_MAX

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "session-http", "version": "1"},
}
VERSION = "io.modelcontextprotocol/protocolVersion"
CONTEXT, CURRENT = "workspace://context", "workspace://note/current"


@pytest.fixture
def http(shared: Any) -> Any:
    with closing(HttpWire(shared.socket)) as made:
        yield made


def look_at(daemon: Any, note: str | None) -> None:
    with daemon.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": note}}])


def begin(http: HttpWire, **hello: Any) -> dict[str, str]:
    """A session: the headers of its further requests."""
    response = http.ask("POST", message("initialize", {**HELLO, **hello}))
    status, answer = read(response)
    assert status == 200, answer
    mcp_schema.check("2025-11-25", "InitializeResult", answer["result"])
    named = response.headers["Mcp-Session-Id"]
    assert len(named) >= 32 and named.isascii() and named.isalnum()
    headers = {**JSON, "Mcp-Session-Id": named, "MCP-Protocol-Version": answer["result"]["protocolVersion"]}
    told = http.ask("POST", message("notifications/initialized", number=None), headers)
    assert told.status == 202 and told.read() == b""
    return headers


# -- 2026-07-28: every request by itself --


def test_requests_of_2026_07_28_are_answered_one_by_one_on_one_connection(http: HttpWire) -> None:
    first = http.ask("POST", *modern("server/discover"))
    status, answer = read(first)
    assert status == 200 and first.headers["Content-Type"] == "application/json"
    assert "Mcp-Session-Id" not in first.headers
    mcp_schema.check_from_server(MODERN, answer, "server/discover")
    used = http.sock
    for number, (method, params) in enumerate(
        (
            ("tools/list", {}),
            ("tools/call", {"name": "get_workspace_context", "arguments": {}}),
            ("resources/read", {"uri": CONTEXT}),
            ("prompts/get", {"name": "workspace"}),
        )
    ):
        status, answer = read(http.ask("POST", *modern(method, number, **params)))
        assert status == 200 and answer["id"] == number
        mcp_schema.check_from_server(MODERN, answer, method)
    assert http.sock is used


def test_a_name_that_a_header_cannot_hold_is_mirrored_in_base64(http: HttpWire) -> None:
    body, headers = modern("resources/read", uri="workspace://note/über.md")
    for sent in ("=?base64?" + b64encode(body["params"]["uri"].encode()).decode() + "?=",):
        status, answer = read(http.ask("POST", body, {**headers, "Mcp-Name": sent}))
        assert status == 400 and answer["error"]["data"]["code"] == "NOTE_NOT_FOUND"


@pytest.mark.parametrize(
    "changed",
    [
        {"MCP-Protocol-Version": None},
        {"Mcp-Method": None},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "TOOLS/CALL"},
        {"Mcp-Name": None},
        {"Mcp-Name": "get_current_note"},
        {"Mcp-Name": "=?base64?%%%?="},
        {"MCP-Protocol-Version": "2025-11-25"},
    ],
    ids=str,
)
def test_headers_that_do_not_say_what_the_body_says_are_refused(http: HttpWire, changed: dict[str, Any]) -> None:
    body, headers = modern("tools/call", 7, name="get_workspace_context", arguments={})
    kept = {name: text for name, text in {**headers, **changed}.items() if text is not None}
    status, answer = read(http.ask("POST", body, kept))
    assert status == 400 and answer["error"]["code"] == -32020 and answer["id"] == 7
    mcp_schema.check(MODERN, "HeaderMismatchError", answer)


@pytest.mark.parametrize(
    ("body", "status", "number"),
    [
        (message("tools/list", {"_meta": {**META, VERSION: "1999-01-01"}}), 400, -32022),
        (message("tools/list", {}), 400, -32602),
        (message("no/method", {"_meta": META}), 404, -32601),
        (message("initialize", {**HELLO, "_meta": META}), 404, -32601),
        (message("workspaced/publish", {"_meta": META}), 404, -32601),
        (message("tools/call", {"_meta": META, "name": "none"}), 400, -32602),
    ],
    ids=["version", "no _meta", "no method", "initialize", "native", "no tool"],
)  # fmt: skip
def test_an_error_of_2026_07_28_has_its_status(http: HttpWire, body: Any, status: int, number: int) -> None:
    version = body["params"].get("_meta", META)[VERSION]
    headers = {**JSON, "MCP-Protocol-Version": version, "Mcp-Method": body["method"]}
    found, answer = read(http.ask("POST", body, {**headers, "Mcp-Name": body["params"].get("name", "")}))
    assert (found, answer["error"]["code"]) == (status, number) and answer["id"] == 1


def test_a_stream_tells_of_changes_until_its_client_leaves(shared: Any, http: HttpWire) -> None:
    look_at(shared, "a.md")
    listening = http.ask(
        "POST", *modern("subscriptions/listen", notifications={"resourceSubscriptions": [CURRENT]})
    )
    assert listening.status == 200 and listening.headers["Content-Type"] == "text/event-stream"
    first = event(listening)
    assert first["method"] == "notifications/subscriptions/acknowledged"
    look_at(shared, "b.md")
    told = event(listening)
    mcp_schema.check(MODERN, "ServerNotification", told)
    assert told["params"]["uri"] == CURRENT
    with shared.connect() as client:
        before = client.call("workspaced/status")["queues"]["connections"]
        http.close()
        listening.close()
        while client.call("workspaced/status")["queues"]["connections"] >= before:
            pass


def test_a_daemon_that_ends_ends_its_streams_in_good_order(daemon: Any) -> None:
    running = daemon()
    with closing(HttpWire(running.socket)) as alone, closing(HttpWire(running.socket)) as session:
        listening = alone.ask("POST", *modern("subscriptions/listen", 9, notifications={}))
        assert event(listening)["method"] == "notifications/subscriptions/acknowledged"
        stream = session.ask("GET", headers={**begin(session), "Accept": "text/event-stream"})
        assert stream.status == 200
        assert running.stop() == 0
        assert event(listening)["id"] == 9
        assert event(listening) is None and event(stream) is None


# -- versions with a handshake: sessions --


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_handshake_opens_a_session_that_any_connection_may_use(
    shared: Any, http: HttpWire, version: str
) -> None:
    headers = begin(http, protocolVersion=version)
    with closing(HttpWire(shared.socket)) as other:
        status, answer = read(other.ask("POST", message("tools/list"), headers))
        assert status == 200 and "resultType" not in answer["result"]
        status, answer = read(other.ask("POST", message("tools/call", {"name": "none"}), headers))
        assert status == 200 and answer["error"]["code"] == -32602
        headers.pop("MCP-Protocol-Version")
        assert read(http.ask("POST", message("ping"), headers)) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_a_session_ends_by_delete_and_is_unknown_then(http: HttpWire) -> None:
    headers = begin(http)
    assert read(http.ask("DELETE", headers=headers)) == (204, None)
    for verb, body in (("POST", message("ping")), ("GET", None), ("DELETE", None)):
        status, answer = read(http.ask(verb, body, {**headers, "Accept": "*/*"}))
        assert status == 404 and answer["error"]["data"]["code"] == "UNKNOWN_SESSION"
    assert begin(http)["Mcp-Session-Id"] != headers["Mcp-Session-Id"]


def test_a_version_that_is_not_spoken_is_refused_in_a_session_too(http: HttpWire) -> None:
    headers = {**begin(http), "MCP-Protocol-Version": "1999-01-01", "Accept": "*/*"}
    for verb, body in (("POST", message("ping")), ("GET", None), ("DELETE", None)):
        status, answer = read(http.ask(verb, body, headers))
        assert status == 400 and answer["error"]["code"] == -32022
        assert answer["error"]["data"]["requested"] == "1999-01-01"


def test_without_a_session_only_initialize_is_taken(http: HttpWire) -> None:
    for verb, body in (("POST", message("ping")), ("GET", None), ("DELETE", None)):
        status, answer = read(http.ask(verb, body, {**JSON, "MCP-Protocol-Version": "2025-11-25"}))
        assert status == 400 and "Mcp-Session-Id" in answer["error"]["message"]
    status, answer = read(http.ask("POST", message("initialize", {"protocolVersion": 5})))
    assert status == 200 and answer["error"]["code"] == -32602


def test_our_own_methods_stay_with_the_lines(http: HttpWire) -> None:
    headers = begin(http)
    for method in ("workspaced/state", "workspaced/publish", "workspaced/log", "workspaced/shutdown"):
        assert read(http.ask("POST", message(method), headers))[1]["error"]["code"] == -32601
        assert http.modern(method)[1]["error"]["code"] == -32601
    assert read(http.ask("POST", message("workspaced/status"), headers))[1]["result"]


def test_calls_are_recorded_under_the_name_that_the_client_gave(shared: Any, http: HttpWire) -> None:
    called = {"name": "get_workspace_context", "arguments": {}}
    assert http.modern("tools/call", **called)[0] == 200
    assert read(http.ask("POST", message("tools/call", called), begin(http)))[0] == 200
    with shared.connect() as client:
        callers = [each["caller"] for each in client.call("workspaced/calls")["calls"]]
        client.call("workspaced/share", {"client": "session-http", "level": "none"})
        refused = read(http.ask("POST", message("tools/call", called), begin(http)))[1]["result"]
        client.call("workspaced/share", {"client": "session-http", "level": "all"})
    assert callers[:2] == ["session-http", "modern-http"] or callers[-2:] == ["modern-http", "session-http"]
    assert refused["structuredContent"]["code"] == "SHARING_OFF"


def test_a_stream_of_a_session_tells_what_its_client_subscribed_to(shared: Any, http: HttpWire) -> None:
    look_at(shared, "a.md")
    headers = begin(http)
    with closing(HttpWire(shared.socket)) as second, closing(HttpWire(shared.socket)) as third:
        stream = second.ask("GET", headers={**headers, "Accept": "text/event-stream"})
        assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
        subscribe = message("resources/subscribe", {"uri": CURRENT})
        assert read(http.ask("POST", subscribe, headers))[0] == 200
        look_at(shared, "b.md")
        told = event(stream)
        mcp_schema.check("2025-11-25", "ServerNotification", told)
        assert told["params"]["uri"] == CURRENT
        newer = third.ask("GET", headers={**headers, "Accept": "text/event-stream"})
        assert event(stream) is None, "one stream a session: the newer one"
        look_at(shared, "c.md")
        assert event(newer)["params"]["uri"] == CURRENT


def test_what_changed_while_a_session_had_no_stream_is_told_once_when_it_has_one(
    shared: Any, http: HttpWire, handshake: Any
) -> None:
    shared.add({"watched.md": "# Watched\n"})
    look_at(shared, "watched.md")
    other = handshake(shared)
    other.result("resources/subscribe", uri=CURRENT)
    headers = begin(http)
    assert read(http.ask("POST", message("resources/subscribe", {"uri": CURRENT}), headers))[0] == 200
    for text in ("# One\n", "# Two\n", "# Three\n"):
        shared.add({"watched.md": text})
        assert other.notice()["params"]["uri"] == CURRENT
    stream = http.ask("GET", headers={**headers, "Accept": "text/event-stream"})
    assert event(stream)["params"]["uri"] == CURRENT
    with closing(HttpWire(shared.socket)) as ending:
        assert ending.ask("DELETE", headers=headers).status == 204
    assert event(stream) is None


def test_a_request_that_is_cancelled_ends_its_post_without_an_answer(shared: Any, http: HttpWire) -> None:
    headers = begin(http)
    waits = {"name": "get_workspace_context", "arguments": {"minSeq": 10**9}}
    http.request("POST", "/mcp", json.dumps(message("tools/call", waits, 5)), headers)
    with closing(HttpWire(shared.socket)) as other:
        again = read(other.ask("POST", message("tools/list", {}, 5), headers))
        assert again[0] == 400 and "still open" in again[1]["error"]["message"] and again[1]["id"] == 5
        cancel = message("notifications/cancelled", {"requestId": 5}, None)
        assert other.ask("POST", cancel, headers).status == 202
        assert read(http.getresponse()) == (202, None)


def test_a_response_of_the_client_is_taken_in_a_session_and_nowhere_else(http: HttpWire) -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert read(http.ask("POST", answer, begin(http))) == (202, None)
    assert read(http.ask("POST", answer))[0] == 400


def test_beyond_the_bound_the_longest_unused_session_ends(daemon: Any) -> None:
    with closing(HttpWire(daemon().socket)) as http:
        first, second = begin(http), begin(http)
        assert read(http.ask("POST", message("ping"), first))[0] == 200
        for _ in range(HTTP_SESSIONS_MAX - 1):
            begin(http)
        assert read(http.ask("POST", message("ping"), second))[0] == 404
        assert read(http.ask("POST", message("ping"), first))[0] == 200


# -- what HTTP itself asks --


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://[::1]:80"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Accept": "application/json"}, 406),
        ({"Accept": "text/event-stream"}, 406),
        ({"Accept": "*/*"}, 200),
        ({"Accept": "application/*;q=0.5, Text/Event-Stream"}, 200),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
    ],
    ids=str,
)
def test_a_header_is_held_to_what_the_specification_says(http: HttpWire, changed: Any, status: int) -> None:
    body, headers = modern("tools/list")
    found, answer = read(http.ask("POST", body, {**headers, **changed}))
    assert found == status
    assert "error" in answer if status != 200 else answer["result"]


def test_other_methods_and_paths_are_refused(http: HttpWire) -> None:
    for verb in ("PUT", "OPTIONS", "PATCH", "TRACE"):
        response = http.ask(verb)
        assert read(response)[0] == 405 and response.headers["Allow"] == "GET, POST, DELETE"
    assert http.ask("HEAD").read() == b""
    for verb in ("GET", "DELETE"):
        assert read(http.ask(verb, headers={"MCP-Protocol-Version": MODERN}))[0] == 405
    for path in ("/", "/mcp/", "/MCP", "/../mcp", "//mcp"):
        http.request("POST", path, b"{}", JSON)
        assert read(http.getresponse())[0] == 404
    http.request("POST", "http://localhost/mcp?x=1", json.dumps(modern("tools/list")[0]), modern("tools/list")[1])
    assert read(http.getresponse())[0] == 200


@pytest.mark.parametrize(
    ("body", "number"),
    [(b"", -32700), (b"{", -32700), (b"[]", -32600), (b"[" * 50_000, -32600), (b"\xff", -32700), (b"1", -32600)],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_body_that_is_no_message_is_refused(http: HttpWire, body: bytes, number: int) -> None:
    http.request("POST", "/mcp", body, JSON)
    status, answer = read(http.getresponse())
    assert status == 400 and answer["error"]["code"] == number and "id" not in answer


@pytest.mark.parametrize(
    ("body", "number", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{', 7, "INVALID_JSON"),
        (b'{"method":"tools/call","params":' + b"[" * 90 + b"]" * 90 + b',"id":"x"}', "x", "INVALID_REQUEST"),
        (b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]', 3, "INVALID_REQUEST"),
    ],
)  # fmt: skip
def test_the_refusal_of_a_body_has_the_id_that_can_be_read(
    http: HttpWire, body: bytes, number: Any, code: str
) -> None:
    http.request("POST", "/mcp", body, JSON)
    status, answer = read(http.getresponse())
    assert (status, answer["id"], answer["error"]["data"]["code"]) == (400, number, code)


def test_a_batch_is_taken_in_a_session_of_2025_03_26_alone(http: HttpWire) -> None:
    batch = [message("ping", number=1), message("tools/list"), message("notifications/x", number=None)]
    batch[1]["id"] = "list"
    session = begin(http, protocolVersion="2025-03-26")
    status, answers = read(http.ask("POST", batch, session))
    assert status == 200 and [each["id"] for each in answers] == [1, "list"]
    assert all("result" in each for each in answers)
    told = http.ask("POST", batch[2:], session)
    assert told.status == 202 and told.read() == b""
    status, answers = read(http.ask("POST", [{"jsonrpc": "2.0"}], session))
    assert status == 200 and [each["error"]["code"] for each in answers] == [-32600]
    for refused in ([], [message("ping")] * 33):
        status, answer = read(http.ask("POST", refused, session))
        assert status == 400 and answer["error"]["code"] == -32600
    status, answer = read(http.ask("POST", batch, begin(http)))
    assert (status, answer["id"]) == (400, 1) and "2025-03-26" in answer["error"]["message"]


def test_a_cancelled_request_of_a_batch_has_no_answer_in_it(shared: Any, http: HttpWire) -> None:
    session = begin(http, protocolVersion="2025-03-26")
    call = message("tools/call", {"name": "get_workspace_context", "arguments": {"minSeq": 10**9}}, number=1)
    cancel = message("notifications/cancelled", {"requestId": 1}, number=None)
    status, answers = read(http.ask("POST", [call, cancel, message("ping", number=2)], session))
    assert status == 200 and [each["id"] for each in answers] == [2]
    told = http.ask("POST", [call, cancel], session)
    assert told.status == 202 and told.read() == b""


HEADERS = {
    "Accept": ["*/*", "application/json", "text/event-stream, application/json", ""],
    "Content-Type": ["application/json", "text/plain", ""],
    "MCP-Protocol-Version": [MODERN, "2025-11-25", "2024-11-05", "x", ""],
    "Mcp-Session-Id": ["OURS", "x", ""],
    "Mcp-Method": ["tools/list", "tools/call", "initialize", "ping", "\xff"],
    "Mcp-Name": ["get_current_note", "=?base64?eA==?=", "=?base64?\xff?=", "workspace"],
    "Origin": ["http://localhost", "http://x"],
}
BODIES = [
    *(
        message(method)
        for method in ("ping", "tools/list", "initialize", "subscriptions/listen", "workspaced/state")
    ),
    *(modern(method, name="workspace")[0] for method in ("tools/list", "tools/call", "prompts/get", "initialize")),
    message("initialize", HELLO),
    message("notifications/cancelled", {"requestId": 1}, None),
    message("resources/subscribe", {"uri": CURRENT}),
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": None, "method": "ping"},
    [message("ping")],
    None,
]
STATUSES = {200, 202, 204, 400, 403, 404, 405, 406, 415}


@settings(max_examples=examples(500))
@given(
    verb=st.sampled_from(["POST", "POST", "POST", "GET", "DELETE", "PUT"]),
    headers=st.fixed_dictionaries({}, optional={name: st.sampled_from(texts) for name, texts in HEADERS.items()}),
    body=st.sampled_from(BODIES),
)
def test_any_mixture_of_headers_and_messages_has_a_status_and_a_json_rpc_answer(
    shared: Any, verb: str, headers: dict[str, str], body: Any
) -> None:
    with closing(HttpWire(shared.socket)) as http:
        if headers.get("Mcp-Session-Id") == "OURS":
            headers = {**headers, "Mcp-Session-Id": begin(http)["Mcp-Session-Id"]}
        response = http.ask(verb, body, headers)
        assert response.status in STATUSES
        if response.headers["Content-Type"] == "text/event-stream":
            assert response.status == 200
            return
        status, answer = read(response)
        if answer is None:
            assert status in (202, 204)
        else:
            assert "error" in answer or status == 200
            assert answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer)
