"""Pauses and closed views, attacked: nothing of a pause is recorded, and behind it stands what editors show."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from msgspec.structs import replace
from support.daemon import Daemon, Factory

from workspaced import SyncClient
from workspaced.calls.calls import Calls
from workspaced_events.errors import Paused
from workspaced_events.projections.workspace_state import EMPTY, Pause
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.tools.registry import TOOLS

SECRET = "paused-secret"
PRIVATE = "---\nworkspaced: private\n---\n# Alpha\n"
HOUR_S = 3_600
SOON = {"WORKSPACED_PUBLISHER_GRACE_S": "0.05"}


def act(client: SyncClient, kind: str, **data: Any) -> None:
    client.publish([{"type": kind, "data": data}], source="editor")


def select(client: SyncClient, note: str, text: str | None = None) -> None:
    act(client, "active_note_set", note=note)
    act(client, "selection_changed", note=note, startLine=1, endLine=2, text=text)


def show(client: SyncClient, source: str, active: str | None, *tabs: str) -> None:
    view = {"source": source, "active": active, "pins": [], "tabs": [{"note": each} for each in tabs]}
    client.call("workspaced/snapshot", view)


def in_log(daemon: Daemon, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in (daemon.data / "log").iterdir() if file.is_file())


def on_disk(daemon: Daemon, text: str) -> bool:
    files = [Path(place, name) for place, _, names in os.walk(daemon.data) for name in names]
    return any(text.encode() in file.read_bytes() for file in files)


# -- what was selected --


@pytest.mark.parametrize("length", [1, 1_000])
def test_what_was_selected_during_a_pause_is_not_recorded(daemon: Factory, length: int) -> None:
    running = daemon()
    client = running.connect()
    client.call("workspaced/reconcile")
    select(client, "a.md", "before")
    client.pause()
    select(client, "a.md", SECRET * length)
    client.resume()
    state = client.state()
    assert (state["activeNote"]["id"], state["selection"]) == ("a.md", None)
    assert not on_disk(running, SECRET)


def test_a_selection_without_a_vault_is_one_of_the_vault_that_was_switched_to(daemon: Factory) -> None:
    running = daemon(start=False)
    other = running.root / "other"
    other.mkdir()
    (other / "a.md").write_text(PRIVATE)
    running.flags = ("--vault", str(other))
    client = running.start().connect()
    client.call("workspaced/reconcile")
    act(client, "vault_switched", vaultId="vault")
    wire = running.wire()
    for kind, data in (
        ("vault_switched", {"vaultId": "other"}),
        ("active_note_set", {"note": "a.md"}),
        ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "text": SECRET}),
    ):
        wire.request("workspaced/publish", {"actions": [{"type": kind, "data": data}]})
    for _ in range(3):
        wire.line()
    state = client.state()
    assert (state["currentVaultId"], state["selection"]["note"]) == ("other", "a.md")
    assert not on_disk(running, SECRET)


# -- what a question leaves in the log --


def test_asking_why_of_a_note_that_only_the_pause_showed_leaves_no_name_in_the_log(daemon: Factory) -> None:
    running = daemon(notes={"a.md": "# Alpha\n", f"{SECRET}.md": "# Beta\n"})
    client = running.connect()
    client.call("workspaced/reconcile")
    client.pause()
    act(client, "active_note_set", note=f"{SECRET}.md")
    client.call("workspaced/share/why", {"path": f"{SECRET}.md"})
    assert running.stop() == 0
    assert not in_log(running, SECRET)


# -- answers that a pause overtakes --


class _Overtaken:
    """A daemon whose user pauses while a thread makes an answer."""

    def __init__(self) -> None:
        self.state = EMPTY
        self.seq = 0

    def answer(self, *_: Any, nonblocking: bool) -> str:
        if nonblocking:
            raise WouldBlock
        return "answer"

    async def run(self, function: Any, *arguments: Any) -> Any:
        made = function(*arguments)
        self.state = replace(EMPTY, paused=Pause("2026-01-01T00:00:00.000000Z"))
        return made


def test_what_was_being_made_for_a_hook_or_a_watch_when_the_pause_began_is_not_given() -> None:
    world: Any = _Overtaken()
    recorder: Any = SimpleNamespace(record=lambda _call: None)
    calls = Calls(world, {}, world, world, world, recorder, cast(Any, None))

    async def ask() -> None:
        with pytest.raises(Paused):
            await calls.call(TOOLS["get_workspace_context"], {}, "agent")
        world.state = EMPTY
        with pytest.raises(Paused):
            await calls.preview(TOOLS["get_workspace_context"], {}, "agent")

    anyio.run(ask)


# -- what stands behind a pause --


@pytest.fixture
def clocked(daemon: Factory) -> Any:
    """A daemon, and a function that sets how many seconds its clocks are ahead."""
    running = daemon(start=False)
    running.set_ahead(0)
    running.start()
    with running.connect() as client:
        client.call("workspaced/reconcile")
    return running, running.set_ahead


def _told(client: SyncClient) -> str:
    asked = {"client": "claude-code", "session": "s", "event": "UserPromptSubmit"}
    return str(client.call("workspaced/volunteer", asked)["text"])


@pytest.mark.parametrize("in_pause", [True, False])
def test_a_selection_of_an_hour_ago_is_not_told(clocked: Any, in_pause: bool) -> None:
    running, set_ahead = clocked
    client = running.connect()
    if in_pause:
        client.pause()
    select(client, "a.md")
    set_ahead(HOUR_S)
    client.resume()
    told = _told(client)
    assert "looking at: a.md" in told and "selected" not in told


@pytest.mark.parametrize("in_pause", [True, False])
def test_a_tab_that_was_looked_at_is_still_shown(clocked: Any, in_pause: bool) -> None:
    running, set_ahead = clocked
    client = running.connect()
    show(client, "editor", "a.md", "a.md", "c.md")
    set_ahead(23 * HOUR_S)
    if in_pause:
        client.pause()
    show(client, "editor", "c.md", "a.md", "c.md")
    show(client, "editor", "a.md", "a.md", "c.md")
    set_ahead(25 * HOUR_S)
    client.resume()
    tabs = client.tool("get_workspace_context")["data"]["temporaryTabs"]
    assert [each["noteId"] for each in tabs] == ["a.md", "c.md"]


def test_an_action_that_was_held_is_known_when_it_is_sent_again(daemon: Factory) -> None:
    client = daemon().connect()
    pin = {"type": "note_pinned", "data": {"note": "a.md"}, "id": "pin-1"}
    client.pause()
    client.publish([pin])
    client.resume()
    act(client, "note_unpinned", note="a.md")
    client.publish([pin])
    assert client.state()["pinnedNotes"] == []


# -- what leaves with a closed editor --


def _closed(daemon: Daemon) -> None:
    """Waits until a view has closed."""
    next(notice for notice in daemon.connect().events(since=0, types=["view_closed"]) if notice.params["events"])


def test_a_tab_that_another_editor_shows_too_stays(daemon: Factory) -> None:
    running = daemon(env=SOON)
    other = running.connect()
    with running.connect() as editor:
        show(editor, "editor", "a.md", "c.md")
        show(other, "other", "b.md", "c.md")
    _closed(running)
    assert [each["noteId"] for each in other.state()["temporaryTabs"]] == ["c.md"]


def test_a_tab_that_was_published_singly_too_stays(daemon: Factory) -> None:
    running = daemon(env=SOON)
    script = running.connect()
    with running.connect() as editor:
        show(editor, "editor", "a.md", "c.md")
        opened = {"type": "temporary_tab_opened", "data": {"note": "c.md", "source": "search"}}
        script.publish([opened], source="script")
    _closed(running)
    assert [each["noteId"] for each in script.state()["temporaryTabs"]] == ["c.md"]


def test_a_note_that_another_editor_showed_before_and_still_shows_stays(daemon: Factory) -> None:
    running = daemon(env=SOON)
    other = running.connect()
    with running.connect() as editor:
        show(other, "other", "a.md")
        show(editor, "editor", "a.md")
    _closed(running)
    active = other.state()["activeNote"]
    assert active is not None and active["id"] == "a.md"
