"""Hostile JSON where it comes in besides the socket: MCP through the bridge, the command line's standard input.

Row 27 of the table of faults; tests/workspaced/server/test_wire.py has the socket.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.bridge import INITIALIZE, META, Agent
from support.crowd import verified

from workspaced.errors import wire
from workspaced.limits import JSON_DEPTH_MAX, REQUEST_BYTES_MAX

PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602
NOT_REACHED = wire("TIMEOUT").jsonrpc
DEEP = "[" * 100_000 + "]" * 100_000
DIGITS = "9" * 5_000

META_JSON = f'"_meta":{json.dumps(META)},'

VALUES: dict[str, tuple[str, set[Any]]] = {
    "NaN": ("NaN", {PARSE}),
    "Infinity": ("-Infinity", {PARSE}),
    "half an escape": ('"\\u12"', {PARSE}),
    "a lone surrogate": ('"\\ud800"', {"INVALID_ARGUMENT"}),
    "a low surrogate first": ('"\\udc00\\ud800"', {"INVALID_ARGUMENT"}),
    "deep": (DEEP, {INVALID}),
    "just too deep": ("[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX, {INVALID}),
    "deep objects": ('{"a":' * 100_000 + "1" + "}" * 100_000, {INVALID}),
    "5000 digits": (DIGITS, {PARAMS, "INVALID_ARGUMENT", NOT_REACHED}),
    "4300 digits": (DIGITS[:4_300], {PARAMS, "INVALID_ARGUMENT", NOT_REACHED}),
    "too large for a float": ("1e999", {PARAMS, "INVALID_ARGUMENT"}),
    "minus zero": ("-0.0", {"NO_ACTIVE_NOTE"}),  # a whole number, by JSON Schema
    "NUL": ('"\\u0000"', {PARAMS, "INVALID_ARGUMENT"}),
    "a pair of surrogates": ('"\\ud83d\\ude00"', {PARAMS, "INVALID_ARGUMENT"}),
    "duplicate keys": ('{"minSeq":1,"minSeq":"two"}', {PARAMS, "INVALID_ARGUMENT"}),
}
"""What stands for `minSeq`, and the codes of JSON-RPC or of the tool that may refuse it."""

LINES: dict[str, tuple[bytes, int]] = {
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"tools/\xff","params":{%META%"a":1}}', METHOD),
    "a byte order mark": (
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"tools/lost","params":{%META%"a":1}}',
        METHOD,
    ),
    "NUL": (b'\x00{"jsonrpc":"2.0","id":7,"method":"tools/list"}', PARSE),
    "a batch": (b'[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]', INVALID),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID),
    "an endless id": (b'{"jsonrpc":"2.0","id":' + DIGITS.encode() + b',"method":"tools/list"}', INVALID),
    "no such method": (b'{"jsonrpc":"2.0","id":7,"method":"tools/lost","params":{%META%"a":1}}', METHOD),
    "params of a list": (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}', PARAMS),
}


@pytest.fixture(params=["2026", "handshake"])
def agent(request: pytest.FixtureRequest, shared: Any) -> Iterator[tuple[Agent, str]]:
    """An agent, and what stands in each of its requests."""
    made = Agent(["--socket", str(shared.socket)], shared.env, shared.root)
    if request.param == "handshake":
        made.send(INITIALIZE)
        assert "result" in made.hear()
        made.send({"method": "notifications/initialized"})
    yield made, META_JSON if request.param == "2026" else ""
    made.close()


def codes_of(message: dict[str, Any]) -> set[Any]:
    """How it was refused: JSON-RPC's code, or the tool's."""
    if "error" in message:
        assert message["error"]["data"]["code"] != "INTERNAL", message
        return {message["error"]["code"]}
    assert message["result"]["isError"] is True, message
    return {message["result"]["structuredContent"]["code"]}


@pytest.mark.fault(row=27)
def test_row_27_over_mcp_hostile_json_gets_its_code(shared: Any, agent: tuple[Agent, str]) -> None:
    through, meta = agent

    def answer(line: bytes) -> dict[str, Any]:
        through.write(line)
        message: dict[str, Any] = through.hear()
        return message

    for name, (value, wanted) in VALUES.items():
        arguments = f'"name":"get_current_note","arguments":{{"minSeq":{value}}}'
        line = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{meta}{arguments}}}}}\n'
        assert codes_of(answer(line.encode())) <= wanted, name
        again = f'{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{meta.removesuffix(",")}}}}}\n'
        assert answer(again.encode())["result"]["tools"], name
    for name, (raw, code) in LINES.items():
        message = answer(raw.replace(b"%META%", meta.encode()) + b"\n")
        assert codes_of(message) == {code}, name
    assert through.end()[0] == 0
    verified(shared, {})


# -- the command line's standard input --

ACTION = '{{"type":"active_note_set","data":{{"note":{}}}}}'
STDIN: dict[str, bytes] = {
    "NaN": ACTION.format("NaN").encode(),
    "a lone surrogate": ACTION.format('"\\ud800.md"').encode(),
    "deep": ACTION.format(DEEP).encode(),
    "deep objects": b'{"a":' * 100_000,
    "5000 digits": ACTION.format(DIGITS).encode(),
    "too large for a float": ACTION.format("1e999").encode(),
    "invalid UTF-8": ACTION.format('"\xff.md"').encode("latin-1"),
    "a byte order mark": b"\xef\xbb\xbf" + ACTION.format('"a.md"').encode(),
    "NUL": b"\x00" + ACTION.format('"a.md"').encode(),
    "a list": b"[1]",
    "longer than a request": ACTION.format('"' + "x" * REQUEST_BYTES_MAX + '"').encode(),
}


@pytest.mark.fault(row=27)
@pytest.mark.parametrize("hostile", STDIN.values(), ids=list(STDIN))
def test_row_27_publish_of_hostile_lines_keeps_what_stands_before(shared: Any, hostile: bytes) -> None:
    before = shared.call("workspaced/status")["seq"]
    good = ACTION.format('"good.md"').encode() + b"\n"
    done = shared.cli("publish", "--stdin", "--json", stdin=good + b"\n" * 3 + hostile + b"\n" + good)
    [refusal] = [line for line in done.stderr.splitlines() if line.startswith("workspaced: ")]
    assert done.returncode == 2 and "[" in refusal, done.stderr
    assert all(len(line) < 1_000 for line in done.stderr.splitlines())
    events = [event for event in verified(shared, {}) if event.seq > before and event.type == "active_note_set"]
    *receipts, failure = [json.loads(line) for line in done.stdout.splitlines()]
    assert failure["error"]["code"] in refusal
    assert [event.seq for event in events] == [each["seq"] for each in receipts]
    assert {event.data.note for event in events} <= {"good.md"}


HEADER = b'{"workspaced":"log","version":1,"log":"abc","catalogue":6}\n'
EVENT = (
    '{{"seq":1,"id":"e1","time":"2026-01-01T00:00:00.000000Z","source":"ui","vault":null,"type":"daemon_stopped",'
    '"data":{{"reason":{}}}}}\n'
)
EXPORTS: dict[str, bytes] = {
    "a deep header": b'{"workspaced":"log","version":' + DEEP.encode() + b"}\n",
    "a header of 5000 digits": b'{"workspaced":"log","version":' + DIGITS.encode() + b"}\n",
    "a header with more that is deep": HEADER.replace(b"}", b',"more":' + DEEP.encode() + b"}"),
    "a header that is no UTF-8": b'{"workspaced":"log\xff"}\n',
    "NaN": HEADER + EVENT.format("NaN").encode(),
    "a lone surrogate": HEADER + EVENT.format('"\\ud800"').encode(),
    "deep": HEADER + EVENT.format(DEEP).encode(),
    "an unknown type that is deep": HEADER
    + EVENT.format(DEEP).replace("daemon_stopped", "from_the_future").encode(),
    "as deep as the importer can just read": HEADER
    + EVENT.format("[" * 960 + "]" * 960).replace("daemon_stopped", "from_the_future").encode(),
    "a deep field that nobody knows": HEADER + EVENT.format('"x","more":' + DEEP).encode(),
    "5000 digits": HEADER + EVENT.format('"x"').replace('"seq":1', f'"seq":{DIGITS}').encode(),
    "a negative sequence": HEADER + EVENT.format('"x"').replace('"seq":1', '"seq":-1').encode(),
    "invalid UTF-8": HEADER + EVENT.format('"\xff"').encode("latin-1"),
    "nothing": b"",
}


@pytest.mark.fault(row=27)
@pytest.mark.parametrize("export", EXPORTS.values(), ids=list(EXPORTS))
def test_row_27_a_hostile_export_is_refused_where_it_is_replayed(shared: Any, export: bytes) -> None:
    done = shared.cli("replay", "-", stdin=export)
    assert done.returncode in (2, 4) and "[" in done.stderr.splitlines()[0], done.stderr
    assert all(len(line) < 1_000 for line in done.stderr.splitlines())
