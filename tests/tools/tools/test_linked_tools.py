"""Whose workspace the tools of a linked daemon answer from."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from support import answers
from support.random_log import V, event_of

from workspaced_events.clock import microseconds
from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema import peer_events as p
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run
from workspaced_tools.volunteering.tool import VOLUNTEER

HERE, LAPTOP, BOBS = (OriginId(digit * 32) for digit in "abc")
L = LinkedVaultId("d" * 32)
NOW = "2026-03-01T12:00:00.000000Z"
NOW_US = microseconds(NOW)
FILES = {f"{name}.md": f"# {name}\ntext of {name}\n" for name in ("own", "plan", "pin", "tab", "secret", "bobs")}


def of_laptop(*, ago_s: int = 10, more: tuple[str, ...] = ()) -> c.RemoteEventsApplied:
    us = NOW_US - ago_s * 1_000_000
    notes = ("pin.md", *more)
    pins = tuple(p.SharedPin(NoteId(note), us + at, us // 1_000 + at, 1) for at, note in enumerate(notes))
    tabs = (p.SharedTab(NoteId("tab.md"), us), *(p.SharedTab(NoteId(note), us) for note in more))
    selected = p.SharedSelection(NoteId("plan.md"), 1, 2, "text of plan")
    vault = p.SharedVault(L, p.SharedActive(NoteId("plan.md"), us), selected, pins, 0, tabs)
    return c.RemoteEventsApplied(LAPTOP, p.Position(1, 1, "0" * 64), us // 1_000, True, (vault,))


def of_bob() -> c.RemoteEventsApplied:
    us = NOW_US - 1_000_000
    vault = p.SharedVault(
        L, p.SharedActive(NoteId("bobs.md"), us), pins=(p.SharedPin(NoteId("bobs.md"), us, us // 1_000, 1),)
    )
    return c.RemoteEventsApplied(BOBS, p.Position(1, 1, "1" * 64), us // 1_000, True, (vault,))


def state_of(*heard: c.Data, own: tuple[c.Data, ...] = ()) -> WorkspaceState:
    members = (
        p.LinkMember(HERE, "Ann", "desk"),
        p.LinkMember(LAPTOP, "Ann", "laptop"),
        p.LinkMember(BOBS, "Bob", "phone"),
    )
    link = c.LinkChanged(HERE, members, (p.VaultMapping(V, L),))
    data = (c.VaultOpened(V, "v", "/v"), link, *own, *heard)
    earlier = "2026-03-01T11:59:00.000000Z"
    return fold_all([event_of(seq, each, time=earlier) for seq, each in enumerate(data, 1)], EMPTY)


@pytest.fixture
def ask(make_vault: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """ask(tool, state, level=, withheld=, **arguments) -> the result of the tool that a linked daemon has."""
    vault = make_vault(FILES)

    def make(
        tool: str, state: WorkspaceState, level: Sharing = "all", withheld: tuple[str, ...] = (), **arguments: Any
    ) -> dict[str, Any]:
        view = shared_view(state, NOW, vault, level=level, withheld=lambda note: note in withheld)
        if tool == VOLUNTEER.name:
            return run(VOLUNTEER, view, arguments)
        result = run(LINKED[tool], view, arguments)
        answers.check(tool, result)
        return result

    return make


Ask = Callable[..., dict[str, Any]]
OWN = (c.ActiveNoteSet(NoteId("own.md")), c.NotePinned(NoteId("own.md")))


def test_me_is_where_the_person_was_last(ask: Ask) -> None:
    result = ask("get_current_note", state_of(of_laptop(), of_bob(), own=OWN))
    assert result["data"]["id"] == "plan.md" and "text of plan" in result["data"]["content"]
    assert (result["data"]["linked"]["person"], result["data"]["linked"]["machine"]) == ("Ann", "laptop")
    earlier = ask("get_current_note", state_of(of_laptop(ago_s=3_600), own=OWN))
    assert earlier["data"]["id"] == "own.md" and earlier["data"]["linked"]["machine"] == "desk"


def test_pins_are_those_of_all_machines_of_the_person_and_tabs_those_of_one(ask: Ask) -> None:
    data = ask("get_workspace_context", state_of(of_laptop(), of_bob(), own=OWN))["data"]
    assert [pin["id"] for pin in data["pinnedNotes"]] == ["own.md", "pin.md"]
    assert [tab["noteId"] for tab in data["temporaryTabs"]] == ["tab.md"]
    assert data["selection"]["text"] == "text of plan"
    assert [(each["machine"], each["activeNote"]) for each in data["linked"]["machines"]] == [
        ("desk", "own.md"),
        ("laptop", "plan.md"),
        ("phone", "bobs.md"),
    ]


def test_the_last_activity_is_no_older_than_a_pin(ask: Ask) -> None:
    first = of_laptop(ago_s=0).view[0]
    late = replace(first, active=p.SharedActive(NoteId("plan.md"), NOW_US - 3_600_000_000))
    heard = replace(of_laptop(ago_s=0), view=(late,))
    data = ask("get_workspace_context", state_of(heard), of="Ann")["data"]
    assert [each["id"] for each in (data["activeNote"], *data["pinnedNotes"])] == ["plan.md", "pin.md"]
    assert data["summary"]["lastActivity"] == NOW.replace(".000000", "")


def test_another_person_and_everyone_can_be_asked_for(ask: Ask) -> None:
    state = state_of(of_laptop(), of_bob(), own=OWN)
    assert ask("get_current_note", state, of="Bob")["data"]["id"] == "bobs.md"
    everyone = ask("get_workspace_context", state, of="everyone")["data"]
    assert [pin["id"] for pin in everyone["pinnedNotes"]] == ["own.md", "pin.md", "bobs.md"]
    unknown = ask("get_current_note", state, of="Eve")
    assert unknown["code"] == "INVALID_ARGUMENT" and "Ann, Bob" in unknown["message"]


def test_here_is_this_machine_alone_as_a_daemon_without_a_link_answers(ask: Ask) -> None:
    state = state_of(of_laptop(), of_bob(), own=OWN)
    here = ask("get_workspace_context", state, of="here")
    linked = here["data"].pop("linked")
    assert linked["machine"] == "desk"
    alone = ask("get_workspace_context", state_of(own=OWN), of="here")
    alone["data"].pop("linked")
    assert here == alone


def test_a_machine_whose_clock_is_far_ahead_is_not_followed(ask: Ask) -> None:
    state = state_of(of_laptop(ago_s=-3_600), own=OWN)
    assert ask("get_current_note", state)["data"]["id"] == "own.md"


def test_two_worlds_that_differ_in_a_note_that_is_withheld_here_answer_alike(ask: Ask) -> None:
    worlds = [state_of(of_laptop(more=more), own=OWN) for more in (("secret.md",), ())]
    levels: tuple[Sharing, ...] = ("all", "names")
    for tool, of, level in product(LINKED, ("me", "everyone", "Ann", "here"), levels):
        with_it, without = (ask(tool, world, level, ("secret.md",), of=of) for world in worlds)
        assert with_it == without, (tool, of, level)
    with_it, without = (ask("volunteer_context", world, "all", ("secret.md",), ofPerson=True) for world in worlds)
    assert with_it == without


def test_what_is_volunteered_follows_the_person_as_the_tools_do(ask: Ask) -> None:
    told = ask("volunteer_context", state_of(of_laptop(), of_bob(), own=OWN), ofPerson=True)["data"]["sight"]
    assert (told["active"], told["pins"], told["tabs"]) == ("plan.md", ["own.md", "pin.md"], ["tab.md"])
    alone = ask("volunteer_context", state_of(own=OWN), ofPerson=True)["data"]
    assert alone == ask("volunteer_context", state_of(own=OWN))["data"], "a link of one machine changes nothing"


def test_without_a_link_the_tools_are_as_before() -> None:
    for name, tool in LINKED.items():
        assert "of" not in TOOLS[name].input_schema["properties"]
        assert tool.input_schema["properties"].keys() - TOOLS[name].input_schema["properties"].keys() == {"of"}
