"""The gate: an agent cannot tell a vault with a withheld note from one without it.

Two worlds are asked the same: in one the note is there, listed everywhere and withheld; in the other its file does
not exist and nobody ever published it. Every answer must be the same to the byte, but for the one count that is
told on purpose. What is sent is thereby covered whatever it is: names, counts, candidates, near titles, contexts.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import answers
from support.gate import (
    KnownLists,
    NonBlockingVault,
    WithheldNames,
    WouldBlock,
    is_current,
    refusal,
    shared_view,
    sharing_off,
)
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId, TabId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import (
    ActiveNote,
    Pin,
    Selection,
    Tab,
    Vault,
    VaultState,
    WorkspaceState,
)
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.errors import SharingOff
from workspaced_tools.notes.name_only import NAMES_ONLY
from workspaced_tools.notes.note import Note
from workspaced_tools.ports.questions import Incoming, Overview, Read, Search, SharingTags, Similar, Visits
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE

NOW = "2026-03-01T12:00:00.000000Z"
EARLIER = "2026-03-01T11:00:00.000000Z"
V = VaultId("brain")
SECRET = NoteId("keep/Secret plan.md")
ATTEMPTS = 4

HEAD = "created: 2026-01-01\ntags: [house]\n"
PUBLIC = {
    "home.md": f"---\n{HEAD}---\n# Home\n\nSee [[Secret plan]], [[Codename|the plan]], [it](keep/Secret%20plan.md)"
    " and [[Budget]].\n\nA telling zebra.\n",
    "keep/Budget.md": f"---\n{HEAD}aliases: [Money]\n---\n# Budget\n\nTo [[home]], zebra and [[secret-plan]].\n",
    "Secrets of cooking.md": f"---\n{HEAD}---\n# Secrets of cooking\n\nSalt.\n",
    "other/Twin.md": f"---\n{HEAD}---\n# Twin\n\nOne of two.\n",
}
SECRET_FIELDS = f"{HEAD}id: s-17\naliases: [Codename, Twin]\ntitle: Secret plan\n"
SECRET_TEXT = "# Secret plan\n\nBuy the zebra, see [[Budget]] and [[home]]. #hush\n\n## Steps\n\nOne ^b1\n"
OPEN_SECRET = f"---\n{SECRET_FIELDS}---\n{SECRET_TEXT}"
PRIVATE_SECRET = f"---\n{SECRET_FIELDS}workspaced: private\n---\n{SECRET_TEXT}"

REFERENCES = [
    *["keep/Secret plan.md", "keep/Secret plan", "Secret plan", "secret plan", "SECRET PLAN", "secret-plan"],
    *["[[Secret plan]]", "[[Secret plan#Steps]]", "[[Secret plan#^b1|x]]", "Codename", "codename", "s-17", "Twin"],
    *["Secret", "Secre plan", "plan", "keep/secret plan", "old/Former.md", "Former", "old/Public.md", "Budget"],
    *["Money", "home", "keep/Secret plan.md#Steps", "nothing like it", "./keep/Secret plan.md"],
    *["@keep/Secret plan.md", '"Secret plan"', "`[[Secret plan]]`", "keep//Secret plan.md/"],
    *["keep\\Secret plan.md", "[x](keep/Secret%20plan.md)", "workspace://note/keep/Secret plan.md"],
    *["/home/someone/brain/keep/Secret plan", "file:///home/someone/brain/keep/Secret%20plan.md", '"Codename"'],
    *["@old/Former.md", "[x](plan)", "'Twin'"],
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_workspace_context", {"includeContent": True, "maxTotalLength": 100, "includeMetadata": False}),
    ("get_current_note", {}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    *(("get_note_by_reference", {"reference": each, "includeMetadata": True}) for each in REFERENCES),
    *(
        (name, {**({"reference": "home"} if name == "get_related_notes" else {})})
        for name in ("get_workspace_summary", "get_navigation_history", "get_related_notes")
        if name in TOOLS
    ),
    *(
        ("search_workspace", {"query": query, **more})
        for query in ("zebra", "secret", "plan", "hush", "Codename", "budget")
        for more in ({}, {"scope": "workspace"}, {"limit": 1}, {"folder": "keep"}, {"tags": ["house"]})
        if "search_workspace" in TOOLS
    ),
]


def visits_of(*notes: str) -> Callable[[], list[Visit]]:
    every = [Visit(NoteId(each), 2 * at + 1, EARLIER, NOW) for at, each in enumerate(notes) if each]
    return lambda: every


def state_of(*notes: str, active: str, secret: bool) -> WorkspaceState:
    """Everything lists all notes; the secret one only where `secret`. Its places in the lists stay empty else."""
    listed = [NoteId(each) for each in (*notes, SECRET) if secret or each != SECRET]
    shows_active = secret or active != SECRET
    former = {"old/Public.md": "home.md", "old/Former.md": SECRET, "keep/Secret plan.md": "home.md"}
    sub = VaultState(
        active=ActiveNote(NoteId(active), EARLIER) if shows_active else None,
        pins={each: Pin(each, EARLIER, "ui") for each in listed},
        tabs={
            each: Tab(TabId(f"tab-{at}"), each, "search", EARLIER, EARLIER, "ui") for at, each in enumerate(listed)
        },
        recents=dict.fromkeys(listed, EARLIER),
        selection=Selection(NoteId(active), 1, 2, NOW, "selected words") if shows_active else None,
        archived={each: None for each in listed[-2:] if each == SECRET},
        former={NoteId(a): NoteId(b) for a, b in former.items() if secret or SECRET not in (a, b)},
        last_updated=NOW,
    )
    vaults = {V: Vault(V, "Brain", "/home/someone/brain", True)}
    return WorkspaceState(7, V, vaults, {V: sub})


class World:
    """A vault with a state, asked as the daemon asks."""

    def __init__(self, vault: Any, state: WorkspaceState, visits: Callable[[], list[Visit]]) -> None:
        self.vault = vault
        self.state = state
        self.visits = visits

    def ask(
        self, name: str, arguments: dict[str, Any], level: Sharing = "all", *, nonblocking: bool = False
    ) -> str:
        """The answer's JSON, without the count of what is withheld."""
        port = NonBlockingVault(self.vault) if nonblocking else self.vault
        withheld = WithheldNames(self.vault, self.state.of(V).former, port.withholds)
        for _ in range(ATTEMPTS):
            if self.vault.policy.refresh():
                self.vault.reconcile()  # as the daemon does
            version = self.vault.levels.version
            view = shared_view(
                self.state, NOW, port, self.visits, level=level, withheld=withheld, lists=KnownLists()
            )
            result = run(TOOLS[name], view, arguments)
            if self.vault.levels.version == version or is_current(view, self.state, withheld):
                break
        else:
            raise AssertionError("it never settles")
        plain = json.loads(msgspec.json.encode(result))
        answers.fill(name, plain)
        if name == "get_workspace_context":
            self.withheld = plain["data"].pop("withheld")
        return json.dumps(plain, ensure_ascii=False, indent=1)


@pytest.fixture
def absent(make_vault: MakeVault) -> World:
    """The world without the note."""
    return World(make_vault(PUBLIC), state_of(*PUBLIC, active="home.md", secret=False), visits_of(*PUBLIC))


def withheld_world(vault: Any, active: str = "home.md") -> World:
    return World(vault, state_of(*PUBLIC, active=active, secret=True), visits_of(*PUBLIC, SECRET))


def assert_the_same(one: World, other: World, level: Sharing = "all") -> None:
    for name, arguments in CALLS:
        assert one.ask(name, arguments, level) == other.ask(name, arguments, level), (name, arguments)


def write(vault: Any, path: str, text: str) -> None:
    file = vault.root.path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    os.utime(file, ns=(0, 1_700_000_000_000_000_000))


def uncounted(answer: str) -> str:
    """The answer without numbers of notes: they may follow a file a little later."""
    return re.sub(r'"(noteCount|notes|total)": \d+|of \d+ notes', "", answer)


@pytest.mark.parametrize("level", ["all", "names"])
@pytest.mark.parametrize("by", ["front matter", "file", "setting"])
def test_nothing_tells_of_a_withheld_note(make_vault: MakeVault, absent: World, by: str, level: Sharing) -> None:
    text = PRIVATE_SECRET if by == "front matter" else OPEN_SECRET
    rules = {IGNORE_FILE: "Secret plan.md\n"} if by == "file" else {}
    options = {"deny": ("/keep/S*",)} if by == "setting" else {}
    world = withheld_world(make_vault({**PUBLIC, SECRET: text, **rules}, **options))
    assert_the_same(world, absent, level)
    assert (world.withheld, absent.withheld) == (1, 0)


def test_nothing_tells_of_a_withheld_note_before_the_index_is_built(make_vault: MakeVault) -> None:
    absent = World(
        make_vault(PUBLIC, indexed=False, index_wait_s=0.01),
        state_of(*PUBLIC, active="home.md", secret=False),
        visits_of(*PUBLIC),
    )
    world = withheld_world(make_vault({**PUBLIC, SECRET: PRIVATE_SECRET}, indexed=False, index_wait_s=0.01))
    for name, arguments in CALLS[:5]:
        assert world.ask(name, arguments) == absent.ask(name, arguments), (name, arguments)


@pytest.mark.parametrize("by", ["edit", "rule"])
def test_a_note_that_turns_private_is_withheld_in_the_very_next_call(
    make_vault: MakeVault, absent: World, settle: Callable[[Any], Any], by: str
) -> None:
    """Before any watcher told of it, and whatever that call is."""
    world = withheld_world(make_vault({**PUBLIC, SECRET: OPEN_SECRET}))
    for name, arguments in CALLS:
        assert "Secret plan" in world.ask("get_workspace_context", {})
        if by == "edit":
            write(world.vault, SECRET, PRIVATE_SECRET)
        else:
            write(world.vault, IGNORE_FILE, "keep/Secret*\n")
        if by == "edit" and name == "get_workspace_summary":
            world.vault.changed(
                [SECRET]
            )  # its numbers of links and tags are the index's, which follows the watcher
        shown, expected = world.ask(name, arguments), absent.ask(name, arguments)
        assert (shown, uncounted(shown))[by == "edit"] == (expected, uncounted(expected))[by == "edit"], arguments
        write(world.vault, SECRET, OPEN_SECRET)
        (world.vault.root.path / IGNORE_FILE).unlink(missing_ok=True)
        world.vault.reconcile()
        assert uncounted(world.ask(name, arguments)) == uncounted(absent.ask(name, arguments)), "until it settles"
        settle(world.vault)
        world.vault.reconcile()
    assert "Secret plan" in world.ask("get_workspace_context", {}), "and is there again once it is not"


def test_a_note_that_was_private_and_is_gone_is_not_told_of_either(make_vault: MakeVault, absent: World) -> None:
    world = withheld_world(make_vault({**PUBLIC, SECRET: PRIVATE_SECRET}))
    (world.vault.root.path / SECRET).unlink()
    assert_the_same(world, absent)
    world.vault.reconcile()
    assert_the_same(world, absent)


def test_a_private_active_note_is_no_active_note(make_vault: MakeVault) -> None:
    nothing = World(make_vault(PUBLIC), state_of(*PUBLIC, active=SECRET, secret=False), visits_of(*PUBLIC))
    world = withheld_world(make_vault({**PUBLIC, SECRET: PRIVATE_SECRET}), active=SECRET)
    assert_the_same(world, nothing)
    answer = json.loads(world.ask("get_current_note", {}))
    assert answer["code"] == "NO_ACTIVE_NOTE" and answer["error"] == "No note currently active"
    assert "selected words" not in world.ask("get_workspace_context", {"includeContent": True})


@pytest.mark.parametrize("first", [("get_current_note", {}), ("get_workspace_context", {"includeContent": True})])
def test_the_active_note_turns_private_between_two_calls(
    make_vault: MakeVault, first: tuple[str, dict[str, Any]]
) -> None:
    nothing = World(make_vault(PUBLIC), state_of(*PUBLIC, active=SECRET, secret=False), visits_of(*PUBLIC))
    world = withheld_world(make_vault({**PUBLIC, SECRET: OPEN_SECRET}), active=SECRET)
    world.ask(*first)
    write(world.vault, SECRET, PRIVATE_SECRET)
    assert uncounted(world.ask(*first)) == uncounted(nothing.ask(*first))


def test_calls_from_the_cache_alone_tell_no_more(make_vault: MakeVault, absent: World) -> None:
    world = withheld_world(make_vault({**PUBLIC, SECRET: PRIVATE_SECRET}))
    assert_the_same(world, absent)
    warm = 0
    for name, arguments in CALLS:
        try:
            answer = world.ask(name, arguments, nonblocking=True)
        except WouldBlock:
            continue
        warm += 1
        assert answer == absent.ask(name, arguments), (name, arguments)
    assert warm >= 3


def test_rules_that_cannot_be_read_withhold_everything(make_vault: MakeVault) -> None:
    world = withheld_world(make_vault({**PUBLIC, SECRET: OPEN_SECRET}))
    world.ask("get_workspace_context", {})
    write(world.vault, IGNORE_FILE, "[broken\n")
    answer = json.loads(world.ask("get_workspace_context", {"includeContent": True}))["data"]
    assert answer["activeNote"] is None and answer["pinnedNotes"] == answer["recentNotes"] == []
    assert world.withheld == len(PUBLIC) + 1
    for name, arguments in CALLS:
        text = world.ask(name, arguments)
        assert "zebra" not in text.replace(json.dumps(arguments.get("query", "")), ""), (name, text)
        assert "Salt" not in text and "Budget.md" not in text


# -- names only --

EXPOSED = (
    *["zebra", "Salt", "2026-01-01", "house", "Money", "selected", "customFields", "sha256", "wordCount"],
    *['content"'],
)


@pytest.fixture
def names_world(make_vault: MakeVault) -> World:
    vault = make_vault(PUBLIC)
    state = msgspec.structs.replace(state_of(*PUBLIC, active="home.md", secret=False))
    return World(vault, state, visits_of(*PUBLIC))


def test_a_client_with_names_gets_paths_and_titles_and_one_warning(names_world: World) -> None:
    for at, (name, arguments) in enumerate(CALLS):
        answer = json.loads(names_world.ask(name, arguments, "names"))
        text = json.dumps(answer.get("data", {}))
        asked = json.dumps(arguments)
        assert not any(each in text for each in EXPOSED if each not in asked), (name, arguments, text)
        assert at >= 5 or answer["warnings"] == [NAMES_ONLY]
    data = json.loads(
        names_world.ask("get_current_note", {"includeLinks": True, "includeOutline": True}, "names")
    )["data"]
    assert data == {"id": "home.md", "title": "Home", "type": "note", "exists": True, "archived": False}


def test_a_client_with_names_cannot_ask_where_the_vault_lies(names_world: World) -> None:
    for reference in ("/home/someone/brain/home.md", "file:///home/someone/brain/home.md", "/home/other/home.md"):
        for level in ("all", "names"):
            asked = {"reference": reference, "includeMetadata": True}
            answer = json.loads(names_world.ask("get_note_by_reference", asked, level))
            is_told = level == "all" and "/home/someone/" in reference
            assert answer.get("code") == (None if is_told else "OUTSIDE_VAULT"), (reference, level)


def test_a_client_with_names_finds_notes_by_their_names_alone(names_world: World) -> None:
    def found(reference: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            names_world.ask("get_note_by_reference", {"reference": reference}, "names")
        )
        return answer

    for reference in ("home", "keep/Budget.md", "[[Budget#Any]]", "secrets of COOKING", "old/Public.md"):
        assert found(reference)["success"], reference
    missing, alias = found("No such name"), found("Money")
    assert missing["code"] == alias["code"] == "NOTE_NOT_FOUND"
    assert missing.get("data") == alias.get("data")
    assert found("[[home#Nowhere]]")["warnings"] == [NAMES_ONLY]


def test_unreadable_front_matter_is_not_quoted_to_a_client_with_names(make_vault: MakeVault) -> None:
    vault = make_vault({"home.md": "---\ntitle: [unclosed passphrase\n---\n# Home\n"})
    world = World(vault, state_of("home.md", active="home.md", secret=False), visits_of())
    for name, arguments in CALLS[:5]:
        assert json.loads(world.ask(name, arguments, "names"))["warnings"] == [NAMES_ONLY]


def test_the_vault_of_a_client_with_names_has_no_text_links_or_tags(names_world: World) -> None:
    vault = shared_view(
        names_world.state, NOW, names_world.vault, level="names", withheld=lambda _note: False
    ).vault
    [note] = vault.ask(Read([NoteId("home.md")]))
    assert isinstance(note, Note)
    assert (note.title, note.text, note.body, note.fields, note.tags, note.sha256) == ("Home", "", "", {}, (), "")
    assert note.markdown.links == () or not note.markdown.links
    assert vault.ask(Incoming(NoteId("home.md"), 10)).total == 0
    assert vault.ask(Similar(NoteId("home.md"), 5)) == vault.ask(SharingTags(NoteId("home.md"), 5)) == []
    assert vault.ask(Search(SearchQuery("zebra", 10))).total == 0
    assert vault.ask(Search(SearchQuery("home", 10, tags=("house",)))).total == 0
    hits = vault.ask(Search(SearchQuery("Budget", 10))).hits
    assert [hit.note.id for hit in hits] == ["keep/Budget.md"] and {hit.snippet for hit in hits} == {""}
    overview = vault.ask(Overview(10))
    assert (overview.notes, overview.links, overview.tags, overview.changed) == (len(PUBLIC), 0, (), ())


# -- the gate itself --


def test_the_state_holds_nothing_of_other_vaults_and_clients() -> None:
    state = state_of(*PUBLIC, active="home.md", secret=False)
    other = VaultId("other")
    wide = msgspec.structs.replace(
        state, by_vault={**state.by_vault, other: state.of(V)}, sharing={"somebody": "none"}
    )
    view = shared_view(wide, NOW, None, level="all", withheld=lambda _note: False)
    assert view.state == state and view.vault_state is state.of(V)


def test_a_client_with_nothing_gets_no_view() -> None:
    with pytest.raises(SharingOff) as caught:
        shared_view(WorkspaceState(), NOW, None, level="none", withheld=lambda _note: False)
    assert caught.value.code == "SHARING_OFF"
    result = refusal(sharing_off("it's; rm -rf"), 7)
    assert result["success"] is False and result["asOfSeq"] == 7
    assert "workspaced share 'it'\"'\"'s; rm -rf' all" in result["message"]


@given(
    st.sets(st.sampled_from(["a.md", "b.md", "c.md", "d.md"])),
    st.lists(st.sampled_from(["a.md", "b.md", "c.md", "d.md"]), unique=True),
    st.sampled_from(["a.md", "b.md", None]),
)
def test_a_state_keeps_what_is_not_withheld_in_its_order(
    gone: set[str], listed: list[str], active: str | None
) -> None:
    notes = [NoteId(each) for each in listed]
    sub = VaultState(
        active=ActiveNote(NoteId(active), EARLIER) if active else None,
        pins={each: Pin(each, EARLIER, "ui") for each in notes},
        recents=dict.fromkeys(reversed(notes), EARLIER),
        archived=dict.fromkeys(notes),
        former={NoteId(f"was {each}"): each for each in notes},
        last_updated=EARLIER if notes or active else None,
    )
    state = WorkspaceState(7, V, {}, {V: sub})
    view = shared_view(state, NOW, None, level="all", withheld=gone.__contains__)
    kept = view.vault_state
    shown = [each for each in notes if each not in gone]
    assert list(kept.pins) == list(kept.archived) == list(kept.former.values()) == shown
    assert list(kept.recents) == shown[::-1]
    assert (kept.active is None) == (active is None or active in gone)
    assert view.withheld == len(gone & {*listed, *([active] if active else [])})
    assert is_current(view, state, gone.__contains__)
    assert (view.state is state) == (view.withheld == 0)


def test_activity_on_a_withheld_note_does_not_move_the_time_of_the_last_one() -> None:
    shown, secret = NoteId("a.md"), NoteId("secret.md")
    sub = VaultState(pins={shown: Pin(shown, EARLIER, "ui")}, last_updated=EARLIER)
    moved = msgspec.structs.replace(sub, active=ActiveNote(secret, NOW), recents={secret: NOW}, last_updated=NOW)
    left = msgspec.structs.replace(sub, last_updated=NOW)
    times = [
        shared_view(WorkspaceState(7, V, {}, {V: each}), NOW, None, level="all", withheld={secret}.__contains__)
        for each in (sub, moved, left)
    ]
    assert {view.vault_state.last_updated for view in times} == {EARLIER}


def test_a_view_notices_that_a_note_in_it_turned_private() -> None:
    state = state_of(*PUBLIC, active="home.md", secret=True)
    gone: set[str] = set()
    view = shared_view(state, NOW, None, visits_of(SECRET), level="all", withheld=gone.__contains__)
    assert is_current(view, state, gone.__contains__)
    assert not is_current(view, state, {SECRET}.__contains__)
    history = shared_view(WorkspaceState(), NOW, None, visits_of(SECRET), level="all", withheld=gone.__contains__)
    assert is_current(history, WorkspaceState(), {SECRET}.__contains__), "nobody asked for the visits"
    assert len(history.vault.ask(Visits())) == 1
    gone.add(SECRET)
    assert not is_current(history, WorkspaceState(), gone.__contains__)
