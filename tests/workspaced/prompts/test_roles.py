"""Roles: conversations that begin with a name, and get what belongs to it from the settings or from a note."""

import json
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
from support.daemon import refusal
from support.memory import FLAGS
from support.talk import SETTINGS, layer

from workspaced.limits import (
    ROLE_SYSTEM_CHARS_MAX,
    ROLES_IN_SETTINGS_MAX,
)

REVIEWER = {
    "system": "You review notes.",
    "tools": ["search_workspace", "get_current_note"],
    "pins": ["workspace", {"kind": "note", "path": "style.md"}, {"kind": "text", "text": "Be kind."}],
}
NOTE = """\
---
title: A critic
tools: [search_workspace]
pins:
  - workspace
  - kind: note
    path: style.md
colour: red
---
You find faults.
"""
NOTES = {
    "a.md": "# Alpha\n",
    "style.md": "Short sentences.\n",
    "Agents/critic.md": NOTE,
    "Agents/team/lead.md": "You lead.\n",
    "Agents/reviewer.md": "You are hidden by the settings.\n",
}


def env(agents: Mapping[str, Any] | None = None, folder: str | None = None) -> dict[str, str]:
    found = {} if agents is None else {"WORKSPACED_AGENTS": json.dumps(agents)}
    return found if folder is None else {**found, "WORKSPACED_AGENTS_FOLDER": folder}


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES, env=env({"reviewer": REVIEWER}, "Agents"))


def asked(client: Any, conversation: str) -> dict[str, Any]:
    client.context.message(conversation, {"role": "user", "text": "And now?"})
    prompt: dict[str, Any] = client.context.assemble(conversation)
    return prompt


def text_of(prompt: dict[str, Any], name: str) -> str:
    return str(layer(prompt, name)["text"])


def events_of(client: Any, conversation: str) -> list[dict[str, Any]]:
    events = client.call("workspaced/log", {"limit": 10_000})["events"]
    return [each for each in events if each["data"].get("conversation") == conversation]


def pins_of(client: Any, conversation: str) -> dict[str, str]:
    """The kinds of the conversation's pins, by their ids."""
    pins: dict[str, str] = {}
    for each in events_of(client, conversation):
        if each["type"] == "context_pinned":
            pins[each["data"]["id"]] = each["data"]["kind"]
        elif each["type"] == "context_unpinned":
            del pins[each["data"]["id"]]
    return pins


# -- what a role gives --


def test_a_role_of_the_settings_gives_system_tools_and_pins(client: Any) -> None:
    started = client.context.start(**SETTINGS, agent="reviewer")
    assert started["agent"] == {"tools": REVIEWER["tools"]}
    prompt = asked(client, started["conversation"])
    system = text_of(prompt, "L1_SYSTEM")
    assert "You review notes." in system and "hidden" not in system, "it hides the note of its name"
    turn = text_of(prompt, "L3_TURN")
    assert "Short sentences." in turn and "Be kind." in turn
    assert set(client.context.start(**SETTINGS)) == {"conversation", "clock"}, "no role, no word of one"
    without = client.context.start(**SETTINGS, agent="reviewer", tools=[])["conversation"]
    assert prompt["estimate"] > asked(client, without)["estimate"] + 100, "definitions count against the window"


def test_a_note_of_the_folder_is_a_role(client: Any) -> None:
    started = client.context.start(**SETTINGS, agent="critic")
    assert started["agent"] == {"tools": ["search_workspace"]}
    prompt = asked(client, started["conversation"])
    system = text_of(prompt, "L1_SYSTEM")
    assert "You find faults." in system and "colour" not in system and "---" not in system
    assert pins_of(client, started["conversation"]) == {"agent/1": "workspace", "agent/2": "note"}
    nested = client.context.start(**SETTINGS, agent="team/lead")
    assert nested["agent"] == {"tools": None}
    assert "You lead." in text_of(asked(client, nested["conversation"]), "L1_SYSTEM")


def test_what_the_caller_gives_wins_also_when_it_is_empty(client: Any) -> None:
    own = [{"name": "mine", "description": "Own.", "parameters": {"type": "object", "properties": {}}}]
    started = client.context.start(**SETTINGS, agent="reviewer", system="I say.", tools=own)
    assert started["agent"]["tools"] is None
    prompt = asked(client, started["conversation"])
    assert "I say." in text_of(prompt, "L1_SYSTEM") and "You review" not in text_of(prompt, "L1_SYSTEM")
    empty = client.context.start(**SETTINGS, agent="reviewer", system="", tools=[], environment=False)
    assert text_of(asked(client, empty["conversation"]), "L1_SYSTEM") == ""


def test_started_again_with_another_role_its_pins_replace_those_before_and_others_stay(client: Any) -> None:
    talk = client.context.start(**SETTINGS, agent="reviewer")["conversation"]
    client.context.pin(talk, "mine", "text", text="Mine.")
    count = len(events_of(client, talk))
    client.context.start(**SETTINGS, conversation=talk, agent="reviewer")
    assert len(events_of(client, talk)) == count, "nothing changed, so nothing is recorded"
    client.context.start(**SETTINGS, conversation=talk, agent="team/lead")
    assert pins_of(client, talk) == {"mine": "text"}
    client.context.start(**SETTINGS, conversation=talk, agent="critic")
    client.context.start(**SETTINGS, conversation=talk)
    assert pins_of(client, talk) == {"mine": "text", "agent/1": "workspace", "agent/2": "note"}


# -- which roles there are --


def test_an_unknown_role_is_refused_with_those_that_there_are(client: Any) -> None:
    for name in ("nobody", "../a", "/etc/passwd", "critic.md", "Agents/critic", "x" * 200, "\u202e", "a\nb"):
        error = refusal(client.context.start, **SETTINGS, agent=name)
        assert error.code == "UNKNOWN_AGENT", name
        assert error.hint == "Roles: reviewer, critic, team/lead."
    assert refusal(client.context.start, **SETTINGS, agent="").code == "INVALID_ARGUMENT"


def test_roles_are_listed_without_their_texts(client: Any, shared: Any) -> None:
    listed = client.context.agents()
    assert listed["total"] == 3
    assert listed["agents"] == [
        {
            "name": "reviewer",
            "source": "settings",
            "tools": ["search_workspace", "get_current_note"],
            "pins": ["workspace", "note", "text"],
        },
        {
            "name": "critic",
            "source": "note",
            "path": "Agents/critic.md",
            "tools": ["search_workspace"],
            "pins": ["workspace", "note"],
        },
        {"name": "team/lead", "source": "note", "path": "Agents/team/lead.md"},
    ]
    done = shared.cli("agents", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == listed["agents"]
    table = shared.cli("agents").stdout
    assert "critic" in table and "search_workspace, get_current_note" in table


def test_a_withheld_role_does_not_exist(daemon: Any) -> None:
    withheld = {"Agents/secret.md": "---\nworkspaced: private\n---\nYou hide.\n", "Agents/denied/x.md": "You.\n"}
    worlds = (
        daemon("--deny", "Agents/denied/", notes={**NOTES, **withheld}, env=env(None, "Agents")),
        daemon(notes=NOTES, env=env(None, "Agents")),
    )
    answers = []
    for running in worlds:
        with running.connect("runtime") as client:
            errors = [refusal(client.context.start, **SETTINGS, agent=name) for name in ("secret", "denied/x")]
            told = [(error.code, error.message, error.hint) for error in errors]
            answers.append((told, client.context.agents()["agents"], client.context.agents()["total"]))
    assert answers[0] == answers[1]
    assert {code for code, *_ in answers[0][0]} == {"UNKNOWN_AGENT"}


def test_who_may_see_names_only_has_the_roles_of_the_settings_alone(daemon: Any) -> None:
    running = daemon(notes=NOTES, env=env({"plain": {"system": "You."}}, "Agents"))
    with running.connect("editor") as editor:
        editor.call("workspaced/share", {"client": "runtime", "level": "names"})
    with running.connect("runtime") as client:
        assert [each["name"] for each in client.context.agents()["agents"]] == ["plain"]
        assert refusal(client.context.start, **SETTINGS, agent="critic").code == "UNKNOWN_AGENT"
        assert client.context.start(**SETTINGS, agent="plain")["agent"] == {"tools": None}


# -- replay --


# -- bad input --


@pytest.mark.thorough
def test_a_note_that_is_no_role_says_which_part_is_wrong(shared: Any, client: Any) -> None:
    bad = {
        "empty": ("", "no text"),
        "open": ("---\ntools: [\n---\nYou.\n", "line"),
        "tool": ("---\ntools: [search_workspace, fly]\n---\nYou.\n", "`tools.1`: there is no tool 'fly'"),
        "number": ("---\ntools: [3]\n---\nYou.\n", "`tools.0`"),
        "kind": ("---\npins: [weather]\n---\nYou.\n", "`pins.0.kind`"),
        "path": ("---\npins: [note]\n---\nYou.\n", "`pins.0`: A pin of kind 'note' needs `path`"),
        "extra": ("---\npins: [{kind: workspace, colour: red}]\n---\nYou.\n", "`pins.0.colour`"),
        "wide": (f"---\npins: [{{kind: workspace, {'k' * 1_000}: 1}}]\n---\nYou.\n", "`pins.0.kkk"),
        "cycle": ("---\nx: &a\n  b: *a\ntools: []\n---\nYou.\n", "no complete value &a"),
        "many": (f"---\npins: [{', '.join(['workspace'] * 101)}]\n---\nYou.\n", "`pins`"),
        "long": ("x" * (ROLE_SYSTEM_CHARS_MAX + 1), f"{ROLE_SYSTEM_CHARS_MAX + 1} characters"),
    }
    shared.add({f"Agents/bad/{name}.md": text for name, (text, _) in bad.items()})
    try:
        for name, (_, part) in bad.items():
            error = refusal(client.context.start, **SETTINGS, agent=f"bad/{name}")
            assert error.code == "AGENT_INVALID" and part in error.message and len(error.message) < 900, name
            assert f"'bad/{name}'" in error.message and error.hint
        problems = {each["name"]: each.get("problem", "") for each in client.context.agents()["agents"]}
        assert all(part in problems[f"bad/{name}"] for name, (_, part) in bad.items())
        assert problems["critic"] == ""
    finally:
        shutil.rmtree(shared.vault / "Agents" / "bad")


@pytest.mark.parametrize(
    ("agents", "named"),
    [
        ({"x": {}}, "'agents.x.system': Field required"),
        ({"x": {"system": "You.", "colour": "red"}}, "'agents.x.colour'"),
        ({"x": {"system": "You.", "tools": ["fly"]}}, "'agents.x': `tools.0`: there is no tool 'fly'"),
        ({"x": {"system": "You.", "pins": ["weather"]}}, "'agents.x.pins.0.kind'"),
        ({"x": {"system": "x" * (ROLE_SYSTEM_CHARS_MAX + 1)}}, "'agents.x.system'"),
        ([], "'agents'"),
        ({f"r{n}": {"system": "You."} for n in range(1_000)}, f"1000 roles; at most {ROLES_IN_SETTINGS_MAX}"),
    ],
)
def test_a_wrong_role_of_the_settings_is_named_when_the_daemon_starts(
    daemon: Any, agents: Any, named: str
) -> None:
    running = daemon(start=False)
    done = running.cli("serve", "--vault", str(running.vault), "--data-dir", str(running.data), env=env(agents))
    assert done.returncode == 2 and named in done.stderr, done.stderr


@pytest.mark.parametrize("folder", ["", "/", "../x", "/etc"])
def test_a_folder_of_roles_is_one_inside_the_vault(daemon: Any, folder: str) -> None:
    running = daemon(start=False)
    done = running.cli(
        "serve", "--vault", str(running.vault), "--data-dir", str(running.data), env=env(None, folder)
    )
    assert done.returncode == 2 and "'agents_folder'" in done.stderr, done.stderr


@pytest.mark.parametrize("inner", [False, True])
def test_the_memory_that_agents_write_holds_no_roles(daemon: Any, inner: bool) -> None:
    running = daemon(start=False, env=env(None, "Agents"))
    running.flags = ("--memory", "Agents/Memory")
    if inner:
        (running.vault / "Agents" / "inner").mkdir(parents=True)
        running.flags = (*FLAGS, "--vault", str(running.vault / "Agents" / "inner"))
    with pytest.raises(AssertionError):
        running.start()
    assert running.wait() == 2 and "'agents_folder'" in str(running.stderr)
