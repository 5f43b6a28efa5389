"""Two daemons and one real server: what a user does here is seen by an agent there."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Factory
from support.nats_server import NatsServer, make_stream, nats_cluster, needs_server
from support.peers.machines import NOTES, PRIVATE, cli, linked, status, until, until_linked

from workspaced.overlay.asking import METHOD, params_of
from workspaced.overlay.request import read_request
from workspaced.peers.carrying.server_config import stream_config

pytestmark = [pytest.mark.thorough, needs_server]


def test_what_is_looked_at_and_pinned_here_is_what_an_agent_reads_there(
    daemon: Factory, server: NatsServer
) -> None:
    laptop, desk = linked(daemon, server)
    (desk.vault / "plan.md").write_text("# The plan\nas it is on the desk\n")
    laptop.publish("note_pinned", note="other.md")
    laptop.publish("note_pinned", note="diary.md")
    laptop.publish("active_note_set", note="plan.md")
    found = until(desk, "get_current_note", lambda answer: answer["success"])
    assert found["data"]["id"] == "plan.md" and "on the desk" in found["data"]["content"]
    assert found["data"]["linked"]["machine"] == "laptop"
    context = until(desk, "get_workspace_context", lambda answer: answer["data"]["pinnedNotes"])
    assert [pin["id"] for pin in context["data"]["pinnedNotes"]] == ["other.md"], "what is private never leaves"
    here = until(desk, "get_current_note", lambda _answer: True, of="here")
    assert here["code"] == "NO_ACTIVE_NOTE"
    unknown = until(desk, "get_current_note", lambda _answer: True, of="Bob")
    assert unknown["code"] == "INVALID_ARGUMENT" and "Ann" in unknown["message"]
    assert json.loads(desk.cli("state", "--of", "me", "--json").stdout)["activeNote"]["id"] == "plan.md"
    assert json.loads(desk.cli("state", "--json").stdout)["activeNote"] is None
    with desk.connect() as client:
        hook = client.call("workspaced/volunteer", {"client": "agent", "session": "s", "event": "prompt"})
        assert "plan.md" in hook["text"] and "other.md" in hook["text"]
        client.call("workspaced/volunteer/confirm", {"token": hook["token"]})
        body = b'{"messages": [{"role": "user", "content": "What is it?"}]}'
        asked = client.call(METHOD, params_of(read_request("openai", body)))
        assert "on the desk" in asked["insertions"][0]["text"]
    refused = desk.cli("state", "--of", "Bob")
    assert refused.returncode != 0 and "Ann" in refused.stderr
    # What was unpinned there is unpinned here.
    desk.publish("note_unpinned", note="other.md")
    until(laptop, "get_workspace_context", lambda answer: not answer["data"]["pinnedNotes"], of="here")
    # All of it replays, without the server and the other machine.
    server.stop()
    desk.stop()
    done = desk.cli("replay", str(desk.data), "--verify", "--json")
    assert done.returncode == 0, done.stdout


def test_a_copied_data_directory_is_noticed(daemon: Factory, server: NatsServer) -> None:
    laptop, _desk = linked(daemon, server)
    laptop.publish("active_note_set", note="plan.md")
    until_linked(laptop, lambda found: not found["sent"]["unsent"])
    laptop.stop()
    copied = daemon(notes=NOTES | PRIVATE, start=False)
    shutil.copytree(laptop.data, copied.data)
    laptop.start()
    for note in ("other.md", "plan.md", "other.md"):
        laptop.publish("active_note_set", note=note)
    until_linked(laptop, lambda found: not found["sent"]["unsent"])
    copied.start()
    found = until_linked(copied, lambda found: found["state"] == "ORIGIN_TAKEN")
    assert "join again" in found["problem"]["fix"]
    code = cli(laptop, "invite")["code"]
    cli(copied, "leave")
    assert cli(copied, "join", code, "--servers", server.url)["origin"] != status(laptop)["origin"]
    until_linked(copied, lambda found: found["state"] == "connected" and len(found["members"]) == 3)


def test_who_was_removed_is_told_and_hears_no_more(daemon: Factory, server: NatsServer) -> None:
    laptop, desk = linked(daemon, server)
    origin = status(desk)["origin"]
    assert cli(laptop, "remove", origin[:8])["machine"] == "desk"
    assert until_linked(desk, lambda found: found["state"] == "REMOVED")["problem"]["fix"]
    refused = desk.cli("link", "invite")
    assert refused.returncode == 1 and "NOT_CREATOR" in refused.stderr
    cli(desk, "leave")
    assert status(desk) is None
    tools = desk.cli("tools", "--json")
    assert '"of"' not in tools.stdout


def test_bad_commands_say_what_to_do(daemon: Factory) -> None:
    alone = daemon(notes=NOTES)
    for arguments, code in (
        (("invite",), "NOT_LINKED"),
        (("new",), "INVALID_ARGUMENT"),
        (("new", "--servers", "http://x"), "INVALID_ARGUMENT"),
        (("join", "wsl1-nonsense", "--servers", "nats://127.0.0.1:1"), "INVALID_ARGUMENT"),
        (("leave",), "NOT_LINKED"),
        (("map", str(alone.vault), "notes"), "NOT_LINKED"),
    ):
        done = alone.cli("link", *arguments)
        assert done.returncode != 0 and code in done.stderr, (arguments, done.stderr)
    assert status(alone) is None


def test_the_text_of_a_selection_leaves_if_the_settings_say_so_and_is_taken_back(
    daemon: Factory, server: NatsServer
) -> None:
    laptop, desk = linked(daemon, server)

    def select(text: str) -> None:
        laptop.publish("active_note_set", note="plan.md")
        laptop.publish("selection_changed", note="plan.md", startLine=1, endLine=1, text=text)

    def selection(holds: Any) -> Any:
        answer = until(desk, "get_workspace_context", lambda answer: holds(answer["data"].get("selection")))
        return answer["data"].get("selection")

    select("typed, not saved")
    assert selection(lambda each: each is not None).get("text") in (None, "# The plan")
    laptop.stop()
    laptop.env["WORKSPACED_LINK"] = json.dumps({"replicate_selection_text": True})
    laptop.start()
    assert selection(lambda each: each is not None and each.get("text") == "typed, not saved")
    sent = until_linked(laptop, lambda found: not found["sent"]["unsent"])["sent"]
    del laptop.env["WORKSPACED_LINK"]
    laptop.restart()
    assert selection(lambda each: each is not None and each.get("text") != "typed, not saved")
    found = until_linked(laptop, lambda found: not found["sent"]["unsent"] and found["sent"]["n"] > sent["n"])
    assert found["sent"]["generation"] > sent["generation"], "the server keeps nothing of it"


@pytest.mark.parametrize("lose", [NatsServer.kill, NatsServer.pause], ids=["killed", "silent"])
def test_a_cluster_that_loses_its_leader_carries_on(
    daemon: Factory, tmp_path: Path, lose: Callable[[NatsServer], None]
) -> None:
    with nats_cluster(tmp_path / "cluster") as cluster:
        asyncio.run(make_stream(cluster.urls[0], stream_config() | {"num_replicas": 3}))
        laptop, desk = linked(daemon, cluster)
        laptop.publish("active_note_set", note="plan.md")
        until(desk, "get_current_note", lambda answer: answer["success"])
        lose(asyncio.run(cluster.leader()))
        laptop.publish("active_note_set", note="other.md")
        until(desk, "get_current_note", lambda answer: answer["success"] and answer["data"]["id"] == "other.md")
        until_linked(
            laptop,
            lambda found: (found["state"], found["problem"], found["sent"]["unsent"]) == ("connected", None, 0),
        )
