"""Replaying: a call made again answers to the byte what was answered, or says that it cannot be made."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gate import NonBlockingVault
from support.profiles import examples

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import Selection, Vault, VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing, ToolCalled
from workspaced_tools.errors import NotRecorded, ToolError
from workspaced_tools.recording.format import VERSION, Exchange, Recording, raised, read_recording, refused
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.replay.call_replay import Answers, Notes, replay_answer
from workspaced_tools.sharing.gate import policy_kept_changing, refusal, shared_view, sharing_off
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run
from workspaced_tools.vault.vault import Vault as Folder

NOW = "2026-03-01T12:00:00.000000Z"
EARLIER = "2026-02-28T12:00:00.000000Z"
"""24 h before."""
V, OTHER = VaultId("brain"), VaultId("other")
FILES = {
    "a.md": "---\ntitle: Alpha\ntags: [x]\n---\n# A\n\nSee [[b]], [[Nowhere]] and [[Twin]]. zebra ^b1\n",
    "b.md": "\ufeff# Beta\r\n\r\nBack to [[a]] #x 🧑‍🚀 zebra\r\n",
    "one/Twin.md": "# Twin\n",
    "two/Twin.md": "# Twin\n",
    "huge.md": "# Huge\n\n" + "On and on, zebra. " * 2_000,
    "private.md": "---\nworkspaced: private\n---\n# Private\n\nzebra [[a]]\n",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True, "maxTotalLength": 500}),
    ("get_workspace_context", {"includeMetadata": False, "unknown": 1}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_current_note", {"offset": 20, "maxContentLength": 100}),
    *(
        ("get_note_by_reference", {"reference": each, "includeMetadata": True})
        for each in ("a", "[[a#A]]", "a#^b1", "Twin", "Alpa", "../x", "private", "gone.md", "huge", "")
    ),
    ("get_note_diff", {"reference": "a"}),
    ("search_workspace", {"query": "zebra"}),
    ("search_workspace", {"query": "zebra", "scope": "workspace", "limit": 1, "tags": ["x"], "folder": "one"}),
    ("search_workspace", {"query": "…"}),
    ("get_related_notes", {"reference": "b"}),
    ("get_navigation_history", {"limit": 3}),
    ("get_navigation_history", {"sinceTime": "yesterday"}),
    *((tool, {}) for tool in TOOLS if tool != "get_workspace_context"),
    ("get_workspace_context", {"of": "here"}),
]
VISITS = [
    Visit(NoteId("a.md"), 1, EARLIER, "2026-03-01T11:00:00.000000Z"),
    Visit(NoteId("private.md"), 2, "2026-03-01T11:00:00.000000Z", "2026-03-01T11:30:00.000000Z"),
    Visit(NoteId("b.md"), 3, "2026-03-01T11:30:00.000000Z", None),
]


class World:
    """A workspace whose calls are recorded as the daemon records them."""

    def __init__(self, vault: Any, sub: VaultState, visits: Sequence[Visit] | Exception = ()) -> None:
        self.vault = vault
        self.visits = visits
        vaults = {V: Vault(V, "Brain", "/somewhere", True)}
        self.state = WorkspaceState(7, V, vaults, {V: sub, OTHER: VaultState()}, sharing={"x": "none"})
        self.blobs: dict[str, bytes] = {}

    def call(
        self, tool: str, arguments: dict[str, Any], level: Sharing = "all", *, nonblocking: bool = False
    ) -> tuple[bytes, ToolCalled, bytes]:
        """The answer, the event and the recording."""
        withheld = self.vault.levels.is_withheld if self.vault is not None else lambda _note: True
        port = NonBlockingVault(self.vault) if nonblocking else self.vault
        view = shared_view(self.state, NOW, port, self._visits, level=level, withheld=withheld)
        recorder = ViewRecorder(view, self.state)
        payload = payload_of(run(TOOLS[tool], recorder.view, arguments))
        return payload, called_of(tool, arguments, payload), recorded(recorder, "agent", self._keep)

    def _visits(self) -> Sequence[Visit]:
        if isinstance(self.visits, Exception):
            raise self.visits
        return self.visits

    def _keep(self, content: bytes, name: str) -> None:
        self.blobs[name] = content

    def again(self, called: ToolCalled, recording: bytes) -> bytes:
        """The answer of the call made again, its event and recording having been JSON."""
        called = msgspec.json.decode(msgspec.json.encode(called), type=ToolCalled)
        visits = self.visits if not isinstance(self.visits, Exception) else ()
        read = read_recording(recording, "it")
        answers = Answers(read.asked, Notes(self.blobs.get))
        return replay_answer(answers, called, read, self.state, lambda _vault: visits)


def called_of(tool: str, arguments: dict[str, Any], payload: bytes) -> ToolCalled:
    return ToolCalled(
        tool, "agent", arguments, 7, sha256(payload).hexdigest(), len(payload), 5, True, NOW, 9, "it"
    )


@pytest.fixture
def world(make_vault: Callable[..., Folder], make_state: Callable[..., VaultState]) -> World:
    vault = make_vault(FILES)
    return World(vault, full_state(make_state), VISITS)


def full_state(make_state: Callable[..., VaultState], **more: Any) -> VaultState:
    """Everything lists everything; the tabs are exactly 24 h old."""
    notes = (*FILES, "gone.md")
    given = {
        "active": "a.md",
        "pins": notes,
        "tabs": ("b.md", "one/Twin.md"),
        "recents": notes,
        "archived": ("two/Twin.md", "private.md"),
        "former": {"old.md": "a.md", "was.md": "private.md"},
        "selection": Selection(NoteId("a.md"), 1, 2, NOW, "selected words"),
        "tab_accessed": EARLIER,
    }
    return make_state(**{**given, **more})


# -- calls made again --


@pytest.mark.parametrize("level", ["all", "names"])
def test_a_call_made_again_answers_the_same(world: World, level: Sharing) -> None:
    for tool, arguments in CALLS:
        payload, called, recording = world.call(tool, arguments, level)
        assert world.again(called, recording) == payload, (tool, arguments)


def test_whether_the_files_were_cached_leaves_no_trace(world: World, make_state: Any) -> None:
    world.state = msgspec.structs.replace(world.state, by_vault={V: make_state("a.md", pins=("b.md", "huge.md"))})
    for tool, arguments in (CALLS[0], CALLS[1], CALLS[4], CALLS[5]):
        cold = world.call(tool, arguments)
        assert world.call(tool, arguments, nonblocking=True) == cold


@pytest.mark.parametrize("current", [None, V])
def test_without_a_vault(make_state: Any, current: VaultId | None) -> None:
    world = World(None, full_state(make_state))
    world.state = msgspec.structs.replace(world.state, current=current)
    for tool in TOOLS:
        payload, called, recording = world.call(tool, {})
        assert world.again(called, recording) == payload, tool


@pytest.mark.parametrize(
    "error", [LogDamaged("The log is damaged", hint="Verify it."), OSError(5, "Input/output")]
)
def test_a_history_that_cannot_be_read_fails_again(world: World, error: Exception) -> None:
    world.visits = error
    for tool in ("get_navigation_history", "get_workspace_summary", "get_related_notes"):
        payload, called, recording = world.call(tool, {})
        assert not json.loads(payload)["success"]
        assert world.again(called, recording) == payload


@pytest.mark.parametrize("error", [sharing_off("a 'quoted' \x1b name"), policy_kept_changing()])
def test_a_call_that_no_tool_was_run_for_is_refused_again(world: World, error: ToolError) -> None:
    payload = payload_of(refusal(error, 7))
    assert world.again(called_of("get_current_note", {}, payload), refused(raised(error), "agent")) == payload


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from([2**70, -(2**64), 10**4000, -0.0, 1e23, 5e-324, "\x00\x1b", "9" * 5_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_PROPERTIES = sorted({name for tool in TOOLS.values() for name in tool.input_schema["properties"]} - {"at"})


@settings(max_examples=examples(200))
@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(st.sampled_from(_PROPERTIES) | st.text(max_size=4), values))
def test_any_arguments_get_the_same_answer_again(world: World, tool: str, arguments: dict[str, Any]) -> None:
    payload, called, recording = world.call(tool, arguments)
    assert world.again(called, recording) == payload


# -- what cannot be made again --


def test_a_tool_or_a_question_of_another_version_says_so(world: World) -> None:
    _, called, recording = world.call("get_current_note", {})
    with pytest.raises(NotRecorded, match="get_weather"):
        world.again(msgspec.structs.replace(called, tool="get_weather"), recording)
    asked = msgspec.json.encode(
        Recording(version=VERSION, asked=(Exchange("moon", msgspec.Raw(b"[]"), msgspec.Raw(b"1")),))
    )
    with pytest.raises(NotRecorded, match="moon"):
        world.again(called, asked)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"version":1,"asked":[{"ask":"read","question":[["a.md"]],"answer":[{"is":"note"}]}]}',
        b'{"version":1,"asked":[{"ask":"read","question":[["a.md"]],"answer":7}]}',
        b'{"version":1,"asked":[{"ask":"visits","question":[],"answer":["x"]}]}',
    ],
)
def test_what_is_no_recording_is_damage(world: World, content: bytes) -> None:
    _, called, _ = world.call("get_current_note", {})
    with pytest.raises(LogDamaged):
        world.again(called, content)
