"""Any moment, from outside: `at` on state, tools and resources, on every kind of connection, and `--at`."""

import json
import shutil
from typing import Any

import pytest
from support.answers import fill
from support.daemon import write_vault
from support.stored_logs import outcomes

Json = dict[str, Any]
NOTES = {
    "a.md": "# Alpha\n\nThe first note, see [[b]]. zebra\n",
    "b.md": "---\ntags: [two]\n---\n# Beta\n\nThe second note.\n",
    "odd?at=1.md": "# Odd\n\nWith a question in its name.\n",
}
ASKED: dict[str, Json] = {
    "get_workspace_context": {"includeContent": True},
    "get_current_note": {"includeLinks": True, "includeOutline": True},
    "get_note_by_reference": {"reference": "a.md", "includeMetadata": True},
    "get_note_diff": {"reference": "a.md"},
    "search_workspace": {"query": "zebra"},
    "get_related_notes": {"reference": "a.md"},
    "get_workspace_summary": {},
    "get_navigation_history": {},
    "get_context_manifest": {},
}
CANARY = "xyzzy"
LAYOUT = (
    "---\ntitle: Canary xyzzy\ntags: [xyzzy, two]\naliases: [xyzzy]\n---\n# xyzzy\n\nzebra xyzzy [[b]] [[xyzzy]]\n"
)


class Session:
    """A daemon that answered every tool, and whose notes are others by now."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.answers: dict[str, Json] = {}
        with running.connect("agent") as client:
            client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
            [self.pinned] = client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
            for tool, arguments in ASKED.items():
                if tool == "get_note_diff":
                    edit(running, client, "a.md", NOTES["a.md"] + "More.\n")
                self.answers[tool] = client.tool(tool, arguments)
            calls = client.call("workspaced/calls")["calls"]
            self.calls: dict[str, int] = {call["tool"]: call["seq"] for call in calls}
            self.state = client.state()
            self.time = client.call("workspaced/log", {"from": calls[-1]["seq"]})["events"][0]["time"]
            edit(running, client, "a.md", "# Changed\n")
            client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
            client.publish([{"type": "note_unpinned", "data": {"note": "b.md"}}])


def edit(running: Any, client: Any, note: str, text: str) -> None:
    """Saves a note, and lets the daemon notice."""
    (running.vault / note).write_text(text)
    client.call("workspaced/reconcile")


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture(scope="module")
def session(shared: Any) -> Session:
    return Session(shared)


def text(result: Json) -> Json:
    [content] = result["contents"]
    said: Json = json.loads(content["text"])
    return said


def test_tools_and_resources_answer_as_they_did(session: Session, peer: Any) -> None:
    tool = "get_current_note"
    seq = session.calls[tool]
    told = peer.call(tool, **ASKED[tool], at=seq)
    answer = told["structuredContent"]
    assert json.loads(told["content"][0]["text"]) == answer
    fill(tool, answer)
    assert answer == session.answers[tool]
    assert text(peer.result("resources/read", uri=f"workspace://note/current?at={seq}"))["data"]["id"] == "a.md"
    uri = f"workspace://context?at={session.calls['get_workspace_context']}"
    assert text(peer.result("resources/read", uri=uri))["data"]["activeNote"]["id"] == "a.md"
    for time in (session.time, session.time.replace(":", "%3A")):
        told = text(peer.result("resources/read", uri=f"workspace://note/a.md?at={time}"))
        assert told["data"]["content"].endswith("More.\n")


def test_what_is_no_moment_is_refused(session: Session, client: Any) -> None:
    for at in (True, 1.5, -1, 10**9, 10**30, "soon", "2999-01-01", [1], {}):
        told = client.tool("get_current_note", {"at": at})
        assert (told["success"], told["code"]) == (False, "INVALID_ARGUMENT"), at
        assert "at" in told["error"] and told["message"]


def test_the_state_is_told_as_it_was(session: Session, client: Any) -> None:
    assert client.state(at=session.pinned["seq"])["pinnedNotes"][0]["id"] == "b.md"
    assert client.state(at=session.time) == session.state
    assert client.state(at=str(session.pinned["seq"])) == client.state(at=session.pinned["seq"])
    assert client.state(at=0)["seq"] == 0


def test_the_command_line_asks_about_moments(session: Session) -> None:
    cli = session.running.cli
    assert json.loads(cli("state", "--json", "--at", session.time).stdout) == session.state
    told = cli(
        "call", "get_current_note", "--at", str(session.calls["get_current_note"]), "includeLinks=true", "--json"
    )
    assert told.returncode == 0 and json.loads(told.stdout)["data"]["id"] == "a.md"
    told = cli("call", "search_workspace", "query=nothing", "--at", str(session.pinned["seq"]), "--json")
    assert told.returncode == 1 and json.loads(told.stdout)["code"] == "NOT_RECORDED"


# -- the share policy --


class Leak:
    """A daemon whose note `secret.md` was public when every tool was asked about it."""

    def __init__(self, daemon: Any) -> None:
        self.running = daemon(notes={**NOTES, "secret.md": LAYOUT})
        with self.running.connect("agent") as client:
            client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
            client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
            client.publish([{"type": "active_note_set", "data": {"note": "secret.md"}}])
            selection = {"note": "secret.md", "startLine": 1, "endLine": 2, "text": CANARY}
            client.publish([{"type": "selection_changed", "data": selection}])
            references = ("secret.md", "xyzzy", "b.md")
            self.asked = [
                (tool, {**arguments, **({"reference": reference} if "reference" in arguments else {})})
                for tool, arguments in ASKED.items()
                for reference in references
            ]
            for tool, arguments in self.asked:
                client.tool(tool, arguments)
            self.calls: list[int] = [
                call["seq"] for call in client.call("workspaced/calls", {"limit": 100})["calls"]
            ]

    def told(self) -> str:
        """All that is told of the time when the note was public."""
        said = []
        wire = self.running.wire()
        with self.running.connect("agent") as client:
            for seq in {self.calls[0], self.calls[-1], client.state()["seq"]}:
                for tool, arguments in self.asked:
                    said.append(json.dumps(client.tool(tool, {**arguments, "at": seq})))
        wire.ask("workspaced/hello", {"client": {"name": "agent"}})
        for name in ("context", "note/current", "note/secret.md", "note/b.md"):
            answer = wire.ask("resources/read", {"uri": f"workspace://{name}?at={self.calls[-1]}"})
            said.append(json.dumps(answer))
        return "".join(said)


@pytest.fixture
def leak(daemon: Any) -> Leak:
    return Leak(daemon)


def edited(told: str) -> int:
    """How often the canary is told, but where it was asked for: errors repeat the reference."""
    return told.replace("\\\\'xyzzy\\\\'", "").replace("'xyzzy'", "").count(CANARY)


def test_a_client_that_is_shown_names_gets_no_text_of_the_past(leak: Leak) -> None:
    assert leak.told().count(CANARY) > 50
    with leak.running.connect() as client:
        client.call("workspaced/share", {"client": "agent", "level": "names"})
    told = leak.told()
    assert "zebra" not in told.replace("'zebra'", "") and "The second note" not in told


def test_of_a_vault_that_is_not_served_and_of_a_note_that_turned_private_unseen_nothing_is_told(
    leak: Leak,
) -> None:
    running = leak.running
    running.stop()
    vault, running.vault = running.vault, running.root / "other"
    running.vault.mkdir()
    running.start()
    told = leak.told()
    assert edited(told) == 0 and "NO_ACTIVE_VAULT" in told
    running.vault = vault
    running.restart()
    assert leak.told().count(CANARY) > 50
    running.stop()
    (vault / "secret.md").write_text(LAYOUT.replace("title:", "workspaced: private\ntitle:"))
    running.start()
    assert edited(leak.told()) == 0


def test_each_vault_has_its_own_past(daemon: Any) -> None:
    running = daemon(start=False)
    other = write_vault(running.root / "other", {"a.md": "# Elsewhere\n"})
    running.flags = ("--vault", str(other))
    running.start()
    with running.connect("agent") as client:
        seqs = {}
        vaults = [each["id"] for each in client.server["vaults"]]
        for vault in vaults:
            client.publish([{"type": "vault_switched", "data": {"vaultId": vault}}])
            client.tool("get_note_by_reference", {"reference": "a.md"})
            seqs[vault] = client.call("workspaced/calls", {"limit": 1})["calls"][0]["seq"]
        titles = {
            vault: client.tool("get_note_by_reference", {"reference": "a.md", "at": seq})["data"]["title"]
            for vault, seq in seqs.items()
        }
    assert sorted(titles.values()) == ["Alpha", "Elsewhere"]


# -- afterwards --


def test_calls_about_moments_replay_like_any_other_and_say_when_what_they_used_was_swept(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    made = Session(running)
    with running.connect("agent") as client:
        for tool, seq in made.calls.items():
            client.tool(tool, {**ASKED[tool], "at": seq})
            client.tool(tool, {**ASKED[tool], "at": made.time})
        client.tool("get_note_by_reference", {"reference": "a.md", "at": "soon"})
        client.tool("get_workspace_context", {"at": 10**9})
    running.stop()
    shutil.rmtree(running.vault)
    assert outcomes(running.data) == {"same": 3 * len(ASKED) + 2}
    shutil.rmtree(running.data / "served")
    (running.data / "served").mkdir()
    assert outcomes(running.data).keys() == {"notRecorded"}
    running.vault.mkdir()
    running.start()
    with running.connect("agent") as client:
        for tool, seq in made.calls.items():
            if tool not in ("get_workspace_context", "get_navigation_history"):
                assert client.tool(tool, {**ASKED[tool], "at": seq})["code"] == "NOT_RECORDED"
        told = client.tool("get_workspace_context", {"at": made.calls["get_workspace_context"]})
        assert "is recorded" in told["data"]["activeNote"]["error"]
