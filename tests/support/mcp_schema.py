"""MCP's JSON Schemas (`data/mcp`), and what each message of a connection must be by them.

Used by the tests of the daemon's MCP and by `acceptance/run.py`.
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

import support

DATA = support.DATA / "mcp"
NAMES = {
    "initialize": "Initialize",
    "ping": "Ping",
    "server/discover": "Discover",
    "tools/list": "ListTools",
    "tools/call": "CallTool",
    "resources/list": "ListResources",
    "resources/templates/list": "ListResourceTemplates",
    "resources/read": "ReadResource",
    "resources/subscribe": "Subscribe",
    "resources/unsubscribe": "Unsubscribe",
    "prompts/list": "ListPrompts",
    "prompts/get": "GetPrompt",
    "subscriptions/listen": "SubscriptionsListen",
}
"""Methods, and what the schemas' definitions of them begin with."""
EMPTY = ("ping", "resources/subscribe", "resources/unsubscribe")


@cache
def definitions(revision: str) -> Any:
    """The definitions of a revision of MCP."""
    return json.loads((DATA / f"{revision}.json").read_text())["$defs"]


@cache
def schema(revision: str, name: str) -> Draft202012Validator:
    """The validator of one definition."""
    return Draft202012Validator({"$defs": definitions(revision), "$ref": f"#/$defs/{name}"})


def check(revision: str, name: str, message: Any) -> None:
    """Fails where the message is not as the definition says."""
    error = next(schema(revision, name).iter_errors(message), None)
    assert error is None, f"no {name}: {error.message[:500]} in {str(message)[:500]}"


def check_request(revision: str, message: Any) -> None:
    """A request of a method the revision knows."""
    name = f"{NAMES.get(message['method'])}Request"
    if name in definitions(revision):
        check(revision, name, message)


def check_from_server(revision: str, message: Any, asked: str) -> None:
    """An answer to a request of the method `asked`, or a notification."""
    if "method" in message:
        assert "id" not in message, "a server asks nothing"
        check(revision, "ServerNotification", message)
    elif "error" in message:
        check(revision, "JSONRPCErrorResponse", message)
        number = message["error"]["code"]
        if number == -32022:
            check("2026-07-28", "UnsupportedProtocolVersionError", message)
        else:
            assert number in (-32700, -32600, -32601, -32602, -32603) or not -32768 <= number <= -32000, message
    else:
        check(revision, "JSONRPCResultResponse", message)
        name = "EmptyResult" if asked in EMPTY else f"{NAMES.get(asked, '')}Result"
        check(revision, name, message["result"])


def check_exchange(lines: Iterable[tuple[str, bytes]]) -> int:
    """All that went over one connection, in order, each line with who sent it: `client` or `server`.

    A client that shakes hands speaks the newest revision with a handshake. Returns how many messages there were.
    """
    messages = [(sender, json.loads(line)) for sender, line in lines]
    asked = {
        message["id"]: message["method"] for _, message in messages if "id" in message and "method" in message
    }
    revision = "2025-11-25" if "initialize" in asked.values() else "2026-07-28"
    answered = set()
    for sender, message in messages:
        if sender == "server":
            check_from_server(revision, message, asked.get(message.get("id"), ""))
            if "id" in message:
                assert message["id"] in asked and message["id"] not in answered, message
                answered.add(message["id"])
        elif "id" in message:
            check_request(revision, message)
        else:
            check(revision, "ClientNotification", message)
    return len(messages)
