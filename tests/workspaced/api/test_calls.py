"""`workspaced/calls`, `workspaced/call` and `workspaced calls`: what agents asked, and what they saw, exactly."""

import json
import shutil
from typing import Any

import pytest
from support.daemon import refusal

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {"includeContent": True}),
    ("get_note_by_reference", {"reference": "beta"}),
    ("get_note_by_reference", {"reference": "nothing"}),
    ("search_workspace", {"query": "note", "limit": 50}),
]


class Session:
    """A daemon that answered the calls of ASKED by `agent`, and what it answered."""

    def __init__(self, running: Any) -> None:
        self.running = running
        running.publish("active_note_set", note="a.md")
        running.publish("note_pinned", note="b.md")
        self.answers: list[str] = []
        with running.connect("agent") as client:
            for tool, arguments in ASKED:
                result = client.call("tools/call", {"name": tool, "arguments": arguments})
                self.answers.append(result["content"][0]["text"])
            self.seqs = [call["seq"] for call in client.call("workspaced/calls")["calls"]]

    def cli(self, *arguments: str, **more: Any) -> Any:
        return self.running.cli("calls", *arguments, **more)

    def lines(self, *arguments: str) -> list[Any]:
        done = self.cli(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def session(module_daemon: Any) -> Session:
    return Session(module_daemon())


@pytest.fixture
def asked(session: Session) -> Any:
    """Asks the daemon one of our methods."""

    def ask(method: str, **params: Any) -> dict[str, Any]:
        with session.running.connect("onlooker") as client:
            result: dict[str, Any] = client.call(f"workspaced/{method}", params)
        return result

    return ask


# -- the methods --


def test_a_call_is_listed_as_soon_as_it_was_answered(daemon: Any) -> None:
    running = daemon()
    with running.connect("agent") as client, running.connect("onlooker") as onlooker:
        for number in range(1, 21):
            client.tool("search_workspace", {"query": str(number)})
            calls = onlooker.call("workspaced/calls", {"limit": 1_000})["calls"]
            assert [call["arguments"]["query"] for call in calls] == [str(n) for n in range(1, number + 1)]
            assert onlooker.call("workspaced/call", {"seq": calls[-1]["seq"]})["result"] is not None


def test_the_list_tells_of_each_call(session: Session, asked: Any) -> None:
    calls = asked("calls")["calls"]
    assert [(call["tool"], call["arguments"]) for call in calls] == ASKED
    assert {call["caller"] for call in calls} == {"agent"}
    assert [call["code"] for call in calls] == [None, None, "NOTE_NOT_FOUND", None]
    assert [call["bytes"] for call in calls] == [len(answer.encode()) for answer in session.answers]
    assert all(call["kept"] and call["durationUs"] >= 0 and call["tokens"] > 0 for call in calls)


def test_what_is_no_call_is_refused(session: Session) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        *(("calls", params) for params in ({"limit": 0}, {"limit": 1_001}, {"before": 0})),
        *(("call", params) for params in ({}, {"seq": 0}, {"seq": 1}, {"seq": 10**12})),
    ]
    with session.running.connect() as client:
        for method, params in wrong:
            assert refusal(client.call, f"workspaced/{method}", params).code == "INVALID_ARGUMENT", params


# -- the command --


@pytest.fixture(scope="module")
def copy(session: Session) -> str:
    """The log without a daemon."""
    return str(shutil.copytree(session.running.data, session.running.root / "copy"))


def test_an_export_has_no_recordings(session: Session, copy: str) -> None:
    export = session.running.cli("log", "export", "--data-dir", copy).stdout.encode()
    bare = session.cli("list", "-", "--json", stdin=export).stdout.splitlines()
    assert [json.loads(line)["kept"] for line in bare] == [False] * len(ASKED)


def test_calls_before_a_damage_are_shown(session: Session) -> None:
    export = session.running.cli("log", "export", "--data-dir", str(session.running.data)).stdout.encode()
    damaged, seq = export + b"{damaged\n", str(session.seqs[0])
    assert json.loads(session.cli("diff", seq, seq, "-", "--json", stdin=damaged).stdout)["same"]
    for arguments in (["-"], ["show", "999999", "-"]):
        assert session.cli(*arguments, stdin=damaged).returncode == 4


def test_the_list_is_the_same_without_a_daemon_and_can_be_narrowed(session: Session, copy: str) -> None:
    assert session.lines(copy) == session.lines()
    for log in ([], [copy]):
        narrowed = {
            ("--limit", "2"): session.seqs[-2:],
            ("--failed",): [session.seqs[2]],
            ("--failed", "--limit", "1"): [session.seqs[2]],
            ("--tool", "search_workspace"): [session.seqs[3]],
            ("--client", "AGENT"): session.seqs,
            ("--client", "nobody"): [],
            ("--since", str(session.seqs[1])): session.seqs[1:],
            ("--since", "2999-01-01"): [],
        }
        for options, expected in narrowed.items():
            assert [line["seq"] for line in session.lines(*log, *options)] == expected, (log, options)


def test_the_result_is_printed_to_the_byte(session: Session, copy: str) -> None:
    for seq, answer in zip(session.seqs, session.answers, strict=True):
        assert session.cli("show", str(seq), "--result").stdout == answer
        assert session.cli("show", str(seq), copy, "--result").stdout == answer
        (shown,) = session.lines("show", str(seq))
        assert shown["result"] == json.loads(answer) and shown["event"]["seq"] == seq


def test_a_call_is_shown_with_what_it_was_made_from(session: Session) -> None:
    said = session.cli("show", str(session.seqs[0])).stdout
    assert "note a.md, " in said and "note b.md, " in said and session.answers[0] in said
    text = session.cli("show", str(session.seqs[0]), "--text").stdout
    assert "--- a.md\n# Alpha\n\nThe first note, see [[b]].\n" in text and '"success"' not in text
    assert "no note" in session.cli("show", str(session.seqs[2]), "--text").stderr


def test_what_is_not_kept_says_what_to_switch_on(daemon: Any) -> None:
    off = Session(daemon(env={"WORKSPACED_RECORD": "none"}))
    seq = str(off.seqs[0])
    for arguments in (["show", seq], ["show", seq, "--result"], ["show", seq, "--json"], ["show", seq, "--text"]):
        done = off.cli(*arguments)
        assert done.returncode == 1 and "NOT_RECORDED" in done.stderr and "record = served" in done.stderr
    assert "get_workspace_context" in off.cli("show", seq).stdout
    assert off.cli("diff", seq, str(off.seqs[1])).returncode == 1
    assert "not kept" in off.cli().stdout


def test_a_difference_says_what_led_to_it(daemon: Any) -> None:
    running = daemon("--no-watch")
    with running.connect("agent") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.tool("get_current_note")
        client.tool("get_current_note")
        (running.vault / "a.md").write_text("# Alpha\n\nThe first note, changed.\n")
        client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
        client.tool("get_current_note")
        one, same, other = (str(call["seq"]) for call in client.call("workspaced/calls")["calls"])
    for log in ([], [str(running.data)]):
        done = running.cli("calls", "diff", one, same, *log)
        assert (done.returncode, done.stdout) == (0, "")
        done = running.cli("calls", "diff", one, other, *log)
        assert done.returncode == 1
        for part in ("note a.md was another version", "pinned + b.md", "+The first note, changed."):
            assert part in done.stdout, part
        done = running.cli("calls", "diff", one, other, *log, "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 1 and found["same"] is False and found["call"] == []
        assert found["inputs"] == ["note a.md was another version"]
        assert any(change["field"] == "pinnedNotes" for change in found["state"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "0"),
        ("show", "x"),
        ("show", "1"),
        ("show", "999999"),
        ("show", "1", "--result", "--json"),
        ("diff", "1"),
        ("diff", "1", "2"),
        ("--limit", "0"),
        ("--since", "tomorrow"),
        ("no such directory",),
    ],
)
def test_a_wrong_argument_is_a_usage_error(session: Session, arguments: tuple[str, ...]) -> None:
    done = session.cli(*arguments)
    assert done.returncode == 2 and done.stderr
    assert done.stdout == "" or "--json" in arguments
