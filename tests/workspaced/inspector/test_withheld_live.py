"""Over a running daemon the page shows nothing of a note that is withheld from agents, on any route.

Two worlds: two vaults and what became of them are the same but for a withheld note's name, its text, what was
looked for and selected in it, and what a prompt with it came to. An inspector answers the same in both.
"""

import json
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest
from support.daemon import ANSWER_S, Daemon, Factory
from support.inspector import Inspector
from support.overlaid_runtime import Runtime

from workspaced.errors import NoDaemon, TimedOut
from workspaced.inspector.masking.asked_daemon import AskedDaemon
from workspaced.inspector.masking.withheld_notes import FRESH_S
from workspaced.inspector.routes import ROUTES
from workspaced_events.ids import NoteId, VaultId

SECRETS: Final = ("Xylophanes", "Zworykin and a name that is much longer than the other")
NOBODY: Final = "Nobody has this name"
"""No note's name: to be asked about in place of the secret one."""
FLAG: Final = "---\nworkspaced: private\n---\n"


class Request(NamedTuple):
    path: str
    parameters: Mapping[str, Any] = MappingProxyType({})
    """Of the query, or the fields of a POST's object."""


def text_of(secret: str) -> str:
    lines = f"One more line of {secret}.\n" * len(secret)
    return f"# {secret} title\n\nThe zebra of {secret}, see [[a]].\n{lines}"


class World:
    """A daemon that has seen the secret note in every way, before it became private; and an inspector over it."""

    def __init__(self, daemon: Factory, secret: str) -> None:
        self.secret = secret
        notes = {"a.md": "# Alpha\n\nA zebra.\n", "b.md": "# Beta\n\nSee [[a]].\n"}
        notes[f"{secret}.md"] = text_of(secret)
        self.running: Daemon = daemon(notes=notes)
        with self.running.connect("editor") as editor, self.running.connect("agent") as agent:
            for note in notes:  # the call returns once it has found that agents may see the note: in this order
                editor.publish([{"type": "active_note_set", "data": {"note": note}}])
                agent.tool("get_workspace_context", {})
                wait_until_recorded(agent)
            self._look(editor)
            self._ask(agent)
            self._converse(agent)
            runtime = Runtime(self.running)
            runtime.asks("One?")
            self._hide(editor)
            runtime.asks("Two?")
            runtime.asks("Three?")
            agent.tool("get_note_by_reference", {"reference": "a.md"})
            wait_until_recorded(agent)
            agent.tool("get_note_by_reference", {"reference": f"{secret}.md"})
            wait_until_recorded(agent)
            self.log: list[Any] = agent.call("workspaced/log", {"limit": 1000})["events"]
        self.inspector = Inspector("--socket", self.running.socket, "--allow-changes", env=self.running.env)

    def _look(self, editor: Any) -> None:
        note, first = f"{self.secret}.md", len(self.secret)
        selected = {"note": note, "startLine": first, "endLine": 2 * first, "text": text_of(self.secret)}
        editor.publish(
            [
                {"type": "active_note_set", "data": {"note": "a.md", "title": "Alpha"}},
                {"type": "note_pinned", "data": {"note": "b.md"}},
                {"type": "active_note_set", "data": {"note": note, "title": f"{self.secret} title"}},
                {"type": "note_pinned", "data": {"note": note}},
                {"type": "pinned_notes_reordered", "data": {"notes": [note, "b.md"]}},
                {"type": "temporary_tab_opened", "data": {"note": note, "source": "search"}},
                {"type": "selection_changed", "data": selected},
                {"type": "note_archived", "data": {"note": note}},
                {"type": "note_unarchived", "data": {"note": note}},
            ]
        )

    def _ask(self, agent: Any) -> None:
        for tool, arguments in (
            ("get_current_note", {}),
            ("get_note_by_reference", {"reference": "b.md"}),
            ("get_workspace_context", {"includeContent": True}),
            ("get_note_by_reference", {"reference": self.secret}),
            ("get_note_by_reference", {"reference": f"{self.secret} that there is not"}),
            ("search_workspace", {"query": "zebra"}),
            ("search_workspace", {"query": self.secret}),
        ):
            agent.tool(tool, arguments)
            wait_until_recorded(agent)
        asked = {"client": "agent", "session": "s", "event": "UserPromptSubmit"}
        token = agent.call("workspaced/volunteer", asked)["token"]
        agent.call("workspaced/volunteer/confirm", {"token": token})
        wait_until_recorded(agent)

    def _converse(self, agent: Any) -> None:
        context = agent.context
        for talk, note in (("open", "a.md"), ("closed", f"{self.secret}.md")):
            context.start(
                conversation=talk, provider="openai", model="some", context_window=100_000, output_reserve=1_000
            )
            for turn in range(2):
                attached = [{"kind": "note", "id": note}]
                message = {"id": f"{talk}{turn}", "role": "user", "text": "What?", "attachments": attached}
                context.message(talk, message)
                estimate = context.assemble(talk)["estimate"]
                context.usage(talk, input_tokens=estimate, output_tokens=7, cached_tokens=0, cached_in_input=True)
                context.message(talk, {"role": "assistant", "text": "That."})

        self._converse_by_tools(agent)

    def _converse_by_tools(self, agent: Any) -> None:
        """A prompt that names the note only in what a tool was asked and answered."""
        talk, context = "tools", agent.context
        context.start(
            conversation=talk, provider="openai", model="some", context_window=100_000, output_reserve=1_000
        )
        asked = {"id": "c1", "name": "get_note_by_reference", "arguments": json.dumps({"reference": self.secret})}
        answer = {"id": "c1", "name": "get_note_by_reference"}
        answer["text"] = json.dumps(agent.tool("get_note_by_reference", {"reference": self.secret}))
        wait_until_recorded(agent)
        context.message(talk, {"id": "t0", "role": "user", "text": "What?"})
        context.message(talk, {"id": "t1", "role": "assistant", "text": "", "toolCalls": [asked]})
        context.message(talk, {"id": "t2", "role": "user", "toolResults": [answer]})
        context.assemble(talk)

    def _hide(self, editor: Any) -> None:
        self.running.add({f"{self.secret}.md": FLAG + text_of(self.secret)})
        editor.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])

    # -- what there is to ask about --

    def seqs(self, *types: str) -> list[int]:
        return [each["seq"] for each in self.log if not types or each["type"] in types]

    def order(self) -> list[tuple[str, str]]:
        """The type of each event, and the note that it is about."""
        notes = (str(each["data"].get("note", "")) for each in self.log)
        return [
            (each["type"], note.replace(self.secret, "SECRET")) for each, note in zip(self.log, notes, strict=True)
        ]

    @property
    def calls(self) -> list[int]:
        return self.seqs("tool_called", "context_volunteered", "context_inserted")

    @property
    def chats(self) -> list[str]:
        """What was put into requests: it names its chat."""
        return [each["data"]["insertion"] for each in self.log if each["type"] == "context_inserted"]

    @property
    def prompts(self) -> list[int]:
        return self.seqs("prompt_assembled")

    def ask(self, method: str, request: Request, inspector: Inspector | None = None) -> Any:
        """The answer: its status and its bytes."""
        given = {"params" if method == "GET" else "json": dict(request.parameters)}
        answer = (inspector or self.inspector).request(method, request.path, **given)
        return answer.status_code, answer.content

    def plain(self, text: str) -> str:
        """Without what differs between any two daemons: places, times and what holds them."""
        for word, name in ((str(self.running.vault), "VAULT"), (str(self.running.root), "ROOT")):
            text = text.replace(word, name)
        for pattern, name in UNLIKE:
            text = re.sub(pattern, name, text)
        return text


def wait_until_recorded(client: Any) -> None:
    """Waits for the events of the calls: so they stand in the same order in every world."""
    client.call("workspaced/calls", {"limit": 1})


UNLIKE: Final = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\b[0-9a-f]{32}(-[0-9a-f]{8})?\b", "KEY"),
    (r'"(pid|timeUs|beginUs|endUs|firstUs|lastUs|tookUs|durationUs)":\d+', r'"\1":0'),
    (r'\\?"(mtimeNs|ctimeNs|inode|mtime|ctime|device)\\?":"?[\d.]+"?', r'"\1":0'),
    (r'"(counts|failed)":\[[\d,]*\]', r'"\1":[]'),  # by bins of time
    (r"process \d+", "process"),
)
"""What any two daemons differ in."""


# -- a question for each route --

Questions = Callable[[World, str], list[Request]]
"""Of a world, with the name of a note to ask about, which may be the secret one's."""


def once(path: str, **parameters: Any) -> Questions:
    return lambda _world, _name: [Request(path, parameters)]


def of_each(path: str, seqs: Callable[[World], list[int]]) -> Questions:
    return lambda world, _name: [Request(path.format(seq)) for seq in seqs(world)]


ASKED: Final[dict[tuple[str, str], Questions]] = {
    ("GET", "/api/about"): once("/api/about"),
    ("GET", "/api/events"): lambda _world, name: [
        Request("/api/events", {"limit": 500}),
        Request("/api/events", {"limit": 500, "before": 10_000}),
        Request("/api/events", {"limit": 500, "note": f"{name[:6].lower()}"}),
        Request("/api/events", {"limit": 1, "note": name}),
        Request("/api/events", {"limit": 500, "note": "(withheld"}),
        Request("/api/events", {"lanes": "calls,prompts", "source": "agent"}),
    ],
    ("GET", "/api/folding"): once("/api/folding"),
    ("GET", "/api/state"): lambda world, _name: [
        Request("/api/state"),
        *(Request("/api/state", {"at": str(seq)}) for seq in world.seqs()),
    ],
    ("GET", "/api/agents"): lambda world, _name: [
        Request("/api/agents"),
        *(Request("/api/agents", {"at": str(seq)}) for seq in world.calls),
    ],
    ("POST", "/api/agents/level"): once("/api/agents/level", client="other", level="names"),
    ("POST", "/api/pause"): once("/api/pause", forS=600),
    ("POST", "/api/resume"): once("/api/resume"),
    ("GET", "/api/newest"): lambda _world, name: [
        Request("/api/newest", {"limit": 500}),
        Request("/api/newest", {"limit": 500, "note": f"{name}.md"}),
        Request("/api/newest", {"limit": 500, "note": name}),
        Request("/api/newest", {"limit": 500, "note": "(withheld 1)"}),
        Request("/api/newest", {"agent": "agent"}),
    ],
    ("GET", "/api/notes"): lambda _world, name: [
        Request("/api/notes"),
        Request("/api/notes", {"query": "md"}),
        Request("/api/notes", {"query": name}),
        Request("/api/notes", {"query": "withheld"}),
    ],
    ("GET", "/api/notes/{path:path}"): lambda _world, name: [
        Request("/api/notes/a.md"),
        Request("/api/notes/b.md"),
        Request(f"/api/notes/{name}.md"),
        Request(f"/api/notes/{name}.md", {"before": 20}),
        Request(f"/api/notes/{name}"),
        Request("/api/notes/(withheld 1)"),
    ],
    ("POST", "/api/what-if"): lambda world, name: [
        Request("/api/what-if"),
        *(Request("/api/what-if", {"at": str(seq)}) for seq in world.seqs()),
        *(Request("/api/what-if", {"without": [seq]}) for seq in world.seqs()),
        *(
            Request("/api/what-if", {"actions": [{"type": kind, "data": data}]})
            for note in (f"{name}.md", name, "a.md", "(withheld 1)")
            for kind, data in (
                ("note_pinned", {"note": note}),
                ("note_unpinned", {"note": note}),
                ("pinned_notes_reordered", {"notes": [note, "b.md"]}),
                ("active_note_set", {"note": note}),
                ("temporary_tab_closed", {"note": note}),
                ("note_renamed", {"from": note, "to": "c.md"}),
                ("note_renamed", {"from": "b.md", "to": note}),
            )
        ),
        Request("/api/what-if", {"tool": "get_current_note"}),
        Request("/api/what-if", {"tool": "get_note_by_reference", "arguments": {"reference": name}}),
    ],
    ("GET", "/api/conversations"): once("/api/conversations"),
    ("GET", "/api/conversations/{conversation:path}"): lambda _world, name: [
        *(Request(f"/api/conversations/{each}") for each in ("open", "closed", name)),
    ],
    ("GET", "/api/overlaid/{chat}"): lambda world, name: [
        *(Request(f"/api/overlaid/{each}") for each in (*world.chats, name)),
    ],
    ("GET", "/api/coverage"): lambda world, _name: [
        Request("/api/coverage"),
        Request("/api/coverage", {"status": "unknown"}),
        *(Request("/api/coverage", {"from": seq, "to": seq}) for seq in (*world.calls, *world.prompts)),
    ],
    ("GET", "/api/prompts/{seq}"): of_each("/api/prompts/{}", World.seqs),
    ("GET", "/api/prompts/{seq}/body"): of_each("/api/prompts/{}/body", World.seqs),
    ("GET", "/api/prompts/{seq}/sent"): of_each("/api/prompts/{}/sent", World.seqs),
    ("GET", "/api/prompts/{seq}/diff"): lambda world, _name: [
        Request(f"/api/prompts/{seq}/diff", {} if other is None else {"against": other})
        for seq in world.prompts
        for other in (None, *world.prompts)
    ],
    ("GET", "/api/prompts/{seq}/layers/{layer}/blocks/{index}"): lambda world, _name: [
        Request(f"/api/prompts/{seq}/layers/{layer}/blocks/{index}")
        for seq in world.prompts
        for layer in ("L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L5_USER")
        for index in (1, 2, 99)
    ],
    ("GET", "/api/texts"): lambda _world, name: [
        *(
            Request("/api/texts", {"text": each})
            for each in ("zebra", "(withheld", "title", ".md", name, name[:6])
        ),
        Request("/api/texts", {"text": "zebra", "lanes": "prompts"}),
    ],
    ("GET", "/api/timeline"): once("/api/timeline"),
    ("GET", "/api/calls"): lambda _world, name: [
        Request("/api/calls", {"limit": 200}),
        Request("/api/calls", {"failed": True}),
        Request("/api/calls", {"caller": "agent"}),
        Request("/api/calls", {"tool": name}),
    ],
    ("GET", "/api/calls/{seq}"): of_each("/api/calls/{}", World.seqs),
    ("GET", "/api/calls/{seq}/answer"): of_each("/api/calls/{}/answer", World.seqs),
    ("GET", "/api/calls/{seq}/badge"): of_each("/api/calls/{}/badge", World.seqs),
    ("GET", "/api/calls/{seq}/asked/{index}"): lambda world, _name: [
        Request(f"/api/calls/{seq}/asked/{index}") for seq in world.calls for index in (0, 1, 2, 99)
    ],
    ("GET", "/api/calls/{seq}/with/{other}"): lambda world, _name: [
        Request(f"/api/calls/{seq}/with/{other}") for seq in world.calls for other in world.calls
    ],
    ("GET", "/api/search"): once("/api/search"),
    ("POST", "/api/search"): lambda _world, name: [
        Request("/api/search", {"expression": f"activeNote.id == '{name}.md'"})
    ],
    ("POST", "/api/search/stop"): once("/api/search/stop"),
    ("GET", "/api/search/words"): once("/api/search/words"),
    ("GET", "/api/search/tried"): lambda _world, name: [
        Request("/api/search/tried", {"expression": f"contains(pinnedNotes[].id, '{name}.md')"})
    ],
    ("GET", "/api/search/bundle"): once("/api/search/bundle"),
    ("GET", "/api/search/test"): once("/api/search/test"),
}
CHANGING: Final = [("POST", "/api/agents/level"), ("POST", "/api/pause"), ("POST", "/api/resume")]
EVERY: Final = [(each.method, each.path) for each in ROUTES]
READING: Final = [each for each in EVERY if each not in CHANGING]


NAMELESS: Final = {
    *("/api/about", "/api/folding", "/api/timeline", "/api/agents", "/api/conversations"),
    *("/api/conversations/{conversation:path}", "/api/notes/{path:path}", "/api/calls/{seq}/badge"),
    *("/api/search", "/api/search/stop", "/api/search/tried", "/api/search/bundle", "/api/search/test"),
}
"""Routes that name no note, or only what was asked for."""


@pytest.fixture(scope="module")
def world(module_daemon: Factory) -> Iterator[World]:
    world = World(module_daemon, SECRETS[0])
    with world.inspector:
        yield world


@pytest.fixture(scope="module")
def other_world(module_daemon: Factory, world: World) -> Iterator[World]:
    other = World(module_daemon, SECRETS[1])
    assert other.order() == world.order()
    with other.inspector:
        yield other


@pytest.fixture(scope="module")
def revealed(world: World) -> Iterator[Inspector]:
    """Another inspector over the world, which shows everything."""
    with Inspector("--socket", world.running.socket, "--reveal", env=world.running.env) as inspector:
        yield inspector


def test_every_route_has_questions() -> None:
    assert sorted(ASKED) == sorted(EVERY)


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "path"), READING)
def test_what_a_route_answers_is_the_same_whatever_the_withheld_note_is(
    world: World, other_world: World, method: str, path: str
) -> None:
    first, second = (answers(each, method, path, NOBODY) for each in (world, other_world))
    assert differing(first, second) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "path"), READING)
def test_asking_a_route_for_the_withheld_note_is_like_asking_for_none(
    world: World, method: str, path: str
) -> None:
    named, nobody = (answers(world, method, path, name) for name in (world.secret, NOBODY))
    assert differing(named, nobody) == []


@pytest.mark.parametrize(("method", "path"), READING)
def test_no_word_and_no_hash_of_the_withheld_note_is_in_any_answer(world: World, method: str, path: str) -> None:
    said = b"".join(world.ask(method, request)[1] for request in ASKED[method, path](world, NOBODY))
    assert world.secret.encode() not in said
    hashes = hashes_of(world)
    assert len(hashes) > 5 and [each for each in hashes if each.encode() in said] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "path"), [each for each in READING if each[1] not in NAMELESS])
def test_with_reveal_the_note_shows(world: World, revealed: Inspector, method: str, path: str) -> None:
    said = b"".join(world.ask(method, request, revealed)[1] for request in ASKED[method, path](world, NOBODY))
    assert world.secret.encode() in said


def test_with_reveal_it_is_searched_for_and_has_a_life(world: World, revealed: Inspector) -> None:
    assert revealed.get("/api/about")["reveals"] and not world.inspector.get("/api/about")["reveals"]
    expression = f"activeNote.id == '{world.secret}.md'"
    assert revealed.get("/api/search/tried", expression=expression)["seq"] > 0
    assert revealed.post("/api/search", expression=expression)["phase"] != "none"
    assert world.secret in json.dumps(revealed.get(f"/api/notes/{world.secret}.md")["traces"])


@pytest.mark.thorough
def test_what_is_new_and_what_the_page_changes_tells_nothing_of_it_either(
    world: World, other_world: World
) -> None:
    first, second = (list(grown(each)) for each in (world, other_world))
    assert first == second and len(first) > 5


def grown(world: World) -> Iterator[str]:
    """What the tail tells of new events, and the answers to changes."""
    with world.inspector.tail() as tail, world.running.connect("editor") as editor:
        tail.until("daemon", connected=True)
        last = 0
        for data in (
            {"type": "active_note_set", "data": {"note": f"{world.secret}.md"}},
            {"type": "note_pinned", "data": {"note": f"{world.secret}.md", "title": world.secret}},
            {"type": "active_note_set", "data": {"note": "a.md"}},
        ):
            last = editor.publish([data])[0]["seq"]
        found: list[Any] = []
        while not found or max(each["seq"] for each in found) < last:
            found += reversed(tail.until("grew")["events"])
    yield from (world.plain(json.dumps(each)) for each in found)
    for method, path in CHANGING:
        for request in ASKED[method, path](world, NOBODY):
            status, content = world.ask(method, request)
            assert status == 200
            yield world.plain(content.decode())
    assert world.secret not in json.dumps(found)


# -- what changes --


def active(inspector: Inspector) -> str:
    note: str = inspector.get("/api/state")["state"]["activeNote"]["id"]
    return note


def until_active(inspector: Inspector, note: str) -> None:
    """Asks until the active note shows as `note`: answers of the daemon hold for FRESH_S."""
    ends_s = time.monotonic() + FRESH_S + ANSWER_S
    while active(inspector) != note:
        assert time.monotonic() < ends_s


@pytest.mark.thorough
def test_a_rule_that_changes_holds_for_the_page_soon(daemon: Factory) -> None:
    running = daemon()
    with running.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "work/plan.md"}}])
    with Inspector("--socket", running.socket, env=running.env) as inspector:
        assert active(inspector) == "work/plan.md"
        (running.vault / ".workspacedignore").write_text("work/\n")
        until_active(inspector, "(withheld 1)")
        (running.vault / ".workspacedignore").unlink()
        with running.connect("editor") as editor:
            editor.call("workspaced/share/accept", {"vault": editor.state()["currentVaultId"]})
        until_active(inspector, "work/plan.md")


@pytest.mark.thorough
def test_while_the_daemon_is_away_all_notes_are_hidden_and_the_page_says_why(daemon: Factory) -> None:
    running = daemon()
    with running.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    with Inspector("--socket", running.socket, env=running.env) as inspector, inspector.tail() as tail:
        tail.until("daemon", connected=True)
        assert active(inspector) == "a.md"
        assert running.stop() == 0
        assert "all notes are hidden" in tail.until("daemon", connected=False)["why"]
        until_active(inspector, "(withheld 1)")
        assert b"a.md" not in inspector.request("GET", "/api/newest").content
        assert inspector.get("/api/timeline")["lanes"] and inspector.get("/api/about")["events"]
        running.start()
        tail.until("daemon", connected=True)
        assert active(inspector) == "a.md"


def test_a_log_that_no_daemon_writes_shows_everything(world: World, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(world.running.data, copy)
    with Inspector(copy, "--reveal", env=world.running.env) as inspector:
        assert inspector.get("/api/about")["reveals"]
        assert world.secret.encode() in inspector.request("GET", "/api/newest").content
    assert any("--reveal changes nothing" in line for line in inspector.stderr)


def test_a_daemon_that_is_silent_is_left_alone_for_a_moment(daemon: Factory) -> None:
    path, now_s = daemon.root() / "silent", 0.0
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()
        asked = AskedDaemon(path, "inspector", answer_s=0.01, clock_s=lambda: now_s)
        with pytest.raises(TimedOut):
            asked(VaultId("vault"), [NoteId("a.md")])
    path.unlink()
    with pytest.raises(TimedOut):
        asked(VaultId("vault"), [NoteId("a.md")])
    now_s = 60.0
    with pytest.raises(NoDaemon):
        asked(VaultId("vault"), [NoteId("a.md")])


def differing(first: list[str], second: list[str]) -> list[tuple[str, str]]:
    """Where answers differ, with what stands around it."""
    assert len(first) == len(second)
    found = []
    for one, other in zip(first, second, strict=True):
        if one != other:
            at = max(next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0) - 80, 0)
            found.append((one[at : at + 200], other[at : at + 200]))
    return found


def hashes_of(world: World) -> set[str]:
    """The hashes of its texts, and those that only events have which name it."""
    texts = (text_of(world.secret), FLAG + text_of(world.secret))
    lines = [json.dumps(each) for each in world.log]
    named, others = (
        set(re.findall(r"\b[0-9a-f]{64}\b", " ".join(line for line in lines if (world.secret in line) is naming)))
        for naming in (True, False)
    )
    return {sha256(each.encode()).hexdigest() for each in texts} | (named - others)


def answers(world: World, method: str, path: str, name: str) -> list[str]:
    """What a route answers, with NAME for the name that was asked for."""
    found = []
    for status, content in (world.ask(method, request) for request in ASKED[method, path](world, name)):
        text = world.plain(content.decode())
        for each in (name, name[:6].lower()):
            text = text.replace(each, "NAME")
        found.append(f"{status} {text}")
    return found
