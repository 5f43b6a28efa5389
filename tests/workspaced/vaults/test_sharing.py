"""The share policy in a running daemon: what each client is shown, how that is set, and that it lasts."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from workspaced.cli import run
from workspaced.errors import SettingsInvalid

NOTES = {
    "a.md": "# Alpha\n\nThe first note, see [[b]] and [[Diary]].\n",
    "b.md": "---\ntags: [two]\n---\n# Beta\n\nThe second note.\n",
    "work/plan.md": "# Plan\n\nSteps.\n",
}


def look_at(running: Any, *notes: str) -> None:
    for note in notes:
        running.publish("note_pinned", note=note)
        running.publish("active_note_set", note=note)


def context(client: Any) -> dict[str, Any]:
    data: dict[str, Any] = client.tool("get_workspace_context", {"includeContent": True})["data"]
    return data


def status_of(running: Any) -> dict[str, Any]:
    status: dict[str, Any] = running.call("workspaced/status")
    return status


# -- withheld notes --


@pytest.mark.parametrize(
    ("flags", "env"), [(("--deny", "work/", "--deny", "b.md"), {}), ((), {"WORKSPACED_DENY": "work/\n\nb.md\n"})]
)
def test_globs_of_the_settings_withhold_too(daemon: Any, flags: tuple[str, ...], env: dict[str, str]) -> None:
    running = daemon(*flags, notes=NOTES, env=env)
    look_at(running, "a.md", "b.md", "work/plan.md")
    with running.connect("agent") as client:
        assert context(client)["withheld"] == 2
    assert "2 notes withheld from agents" in running.cli("status").stdout


# -- levels --


def test_a_client_is_shown_all_until_it_is_said_otherwise_of_it_or_of_all_that_are_not_named(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    look_at(running, "a.md")
    with running.connect("Agent Smith") as agent, running.connect("other") as other:
        assert agent.call("workspaced/share", {"client": "agent smith"})["level"] == "all"
        assert "The first note" in json.dumps(context(agent))

        answer = other.call("workspaced/share", {"client": "AGENT SMITH", "level": "names"})
        assert answer["client"] == "agent smith" and answer["level"] == "names"
        assert int(answer["clock"].rpartition(":")[2]) == other.call("workspaced/status")["asOfSeq"]
        data = context(agent)
        assert data["activeNote"].keys() == {"id", "title", "type", "exists", "archived", "since"}
        assert data.get("selection") is None and "The first note" in json.dumps(context(other))

        other.call("workspaced/share", {"client": "Agent Smith", "level": "none"})
        refused = agent.tool("get_current_note")
        assert refused["success"] is False and refused["code"] == "SHARING_OFF"
        assert "workspaced share 'Agent Smith' all" in refused["message"]
        assert context(other)["activeNote"]["id"] == "a.md"

        other.call("workspaced/share", {"client": "agent smith", "level": "all"})
        assert "The first note" in json.dumps(context(agent))
        assert "sharing" not in other.state()

        other.call("workspaced/share", {"client": "*", "level": "none"})
        other.call("workspaced/share", {"client": "other", "level": "all"})
        assert agent.tool("get_workspace_context")["code"] == "SHARING_OFF"
        assert other.tool("get_workspace_context")["success"]
        assert other.state()["sharing"] == {"*": "none", "other": "all"}


def test_levels_last_and_are_replayed(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    running.call("workspaced/share", {"client": "agent", "level": "names"})
    running.call("workspaced/share", {"client": "*", "level": "none"})
    running.kill()
    running.restart()
    with running.connect("agent") as client:
        assert client.call("workspaced/share", {"client": "agent"})["level"] == "names"
        live = client.state()
    assert live["sharing"] == {"agent": "names", "*": "none"}
    exported = running.cli("log", "export")
    assert '"type":"sharing_set"' in exported.stdout
    replayed = running.cli("replay", "-", "--json", stdin=exported.stdout.encode())
    assert json.loads(replayed.stdout)["sharing"] == live["sharing"]


# -- on the command line --


def test_the_command_sets_tells_and_lists_levels(daemon: Any) -> None:
    running = daemon(notes=NOTES)

    def says(*arguments: str) -> str:
        done = running.cli("share", *arguments)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert says("Claude-Code") == "claude-code all\n"
    assert says("claude-code", "names") == "claude-code names\n"
    assert json.loads(says("*", "none", "--json"))["level"] == "none"
    listed = says().splitlines()
    assert listed[0].split() == ["*", "none"]
    assert running.cli("share", "agent", "some").returncode == 2
    assert "claude-code names set" in [" ".join(line.split()) for line in listed]
    assert json.loads(says("--json"))["default"] == "none"
    assert "claude-code: names" in running.cli("status").stdout
    assert json.loads(running.cli("status", "--json").stdout)["sharing"]["default"] == "none"
    assert running.cli("call", "get_workspace_context").returncode == 1
    assert says("*", "all") == "* all\n"


# -- the settings --


def test_indexes_lie_beside_the_log_where_a_place_for_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workspaced.settings.settings import load_settings

    monkeypatch.setenv("WORKSPACED_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert load_settings(data_dir=tmp_path / "data").cache_path == tmp_path / "data" / "cache"
    assert load_settings(data_dir=tmp_path, cache_dir=tmp_path / "c").cache_path == tmp_path / "c"
    if sys.platform == "linux":
        default = load_settings(workspace="w").cache_path
        assert default == tmp_path / "caches" / "workspaced" / "w"
    with pytest.raises(SettingsInvalid):
        load_settings(deny=("[broken",))


def test_a_word_of_the_command_line_is_no_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["share", "accept-rules"]) == 2
    assert "Expected `share accept-rules VAULT`" in capsys.readouterr().err
