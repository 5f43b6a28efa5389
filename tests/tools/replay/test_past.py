"""The past as the log tells it: what a tool answered then, or that nobody recorded it, and never anything else;
and what a question about it costs, which is bounded however long the log is.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import past_world
from support.profiles import examples

from workspaced_events.ids import NoteId
from workspaced_events.replay import backward_scan
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.questions import Incoming, Overview
from workspaced_tools.replay import past_facts
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault
from workspaced_tools.replay.recorded_reads import Recordings

Json = dict[str, Any]
PATHS = ("a.md", "b.md", "work/c.md", "work/Alpha.md")
TEXTS = (
    "---\ntitle: Alpha\ntags: [x]\n---\n# A\n\nSee [[b]] and [[Nowhere]]. zebra\n",
    "# Beta\n\nBack to [[a]] #x zebra zebra\n",
    "plain, and of no title\n",
    "",
    "---\nid: s-17\naliases: [Codename]\ntags: [x, y]\n---\n# Alpha\n\n## Steps\n",
)
ASKED: list[tuple[str, Json]] = [
    ("get_workspace_context", {"includeContent": True, "maxTotalLength": 50_000}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_note_by_reference", {"reference": "a.md", "includeMetadata": True}),
    ("get_note_by_reference", {"reference": "Alpha"}),
    ("get_note_by_reference", {"reference": "[[Codename]]"}),
    ("search_workspace", {"query": "zebra"}),
    ("get_related_notes", {"reference": "b.md"}),
    ("get_workspace_summary", {}),
    ("get_navigation_history", {}),
    ("get_note_diff", {"reference": "a.md"}),
]
path = st.sampled_from(PATHS)
steps = st.one_of(
    st.tuples(st.just("write"), path, st.sampled_from(TEXTS)),
    st.tuples(st.just("rename"), path, path),
    st.tuples(st.just("delete"), path),
    st.tuples(st.just("look"), path),
    st.tuples(st.just("archive"), path),
    st.tuples(st.just("call"), st.integers(0, len(ASKED) - 1)),
    st.tuples(st.just("call"), st.integers(0, len(ASKED) - 1)),
    st.tuples(st.just("call at"), st.integers(0, len(ASKED) - 1), st.integers(0, 100)),
    st.tuples(st.just("flush")),
)


def take(world: Any, step: Any) -> None:
    """One thing happens, and the daemon is told of all of it."""
    match step:
        case ("write", note, text):
            if note not in world.members:
                world.append(c.NotePinned(NoteId(note)))
            world.write(note, text)
        case ("rename", note, to):
            world.rename(note, to)
        case ("delete", note):
            world.append(c.NoteDeleted(NoteId(note)))
            world.delete(note)
        case ("look", note):
            world.append(c.ActiveNoteSet(NoteId(note)))
        case ("archive", note):
            archived = note in world.state.of(past_world.V).archived
            world.append((c.NoteUnarchived if archived else c.NoteArchived)(NoteId(note)))
        case ("call", number):
            world.call(ASKED[number][0], **ASKED[number][1])
        case ("call at", number, place):
            tool, arguments = ASKED[number]
            world.call_at(place % world.events.tail + 1, tool, **arguments)
        case _:
            world.flush()


@settings(max_examples=examples(60))
@given(st.lists(steps, max_size=14))
@example([("call", 2), ("write", "a.md", TEXTS[1]), ("flush",)])
@example([("call", 5), ("rename", "a.md", "work/c.md"), ("flush",), ("call", 5), ("flush",)])
def test_an_answer_is_the_one_given_then_or_says_that_it_is_not_recorded(happened: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = past_world.World(Path(folder), {"a.md": TEXTS[0], "b.md": TEXTS[1], "work/Alpha.md": TEXTS[4]})
        try:
            for note in ("a.md", "b.md", "work/Alpha.md"):
                world.append(c.NotePinned(NoteId(note)))
            world.append(c.ActiveNoteSet(NoteId("b.md")))
            then: list[tuple[int, str, list[bytes]]] = []
            for step in happened:
                take(world, step)
                last = world.events.all[-1]
                if not isinstance(last.data, c.ToolCalled) and (not then or then[-1][0] != last.seq):
                    asked = [world.look(tool, last.time, **arguments) for tool, arguments in ASKED]
                    then.append((last.seq, last.time, asked))
            world.flush()
            for seq, time, answers in then:
                for (tool, arguments), answer in zip(ASKED, answers, strict=True):
                    if tool != "get_note_diff":  # it tells of calls that were not in the log then
                        check(answer, world.at(seq, tool, **arguments))
                        check(answer, world.at(time, tool, **arguments))
        finally:
            world.close()


def check(then: bytes, told: bytes) -> None:
    """What is told is what was answered; or it, or parts of it, are said not to be recorded."""
    if told == then:
        return
    was, says = msgspec.json.decode(then), msgspec.json.decode(told)
    if says.get("code") == "NOT_RECORDED":
        return
    assert says["success"] is was["success"] is True, (was, says)
    assert "activeNote" in says["data"] or says["data"] == was["data"], (was, says)
    if "activeNote" not in says["data"]:
        return
    unknown = set()
    for name in ("activeNote", "pinnedNotes", "temporaryTabs"):
        for one, other in zip(entries(was["data"][name]), entries(says["data"][name]), strict=True):
            if "is recorded" in other.get("error", ""):
                unknown.add(other["id"])
            else:
                assert without_content(one) == without_content(other), (one, other)
                if "content" in one and "content" in other:
                    assert one["content"] == other["content"]
    for one, other in zip(was["data"]["recentNotes"], says["data"]["recentNotes"], strict=True):
        assert one == other or other.get("exists", True), (one, other)
    assert says["data"]["vaultInfo"]["noteCount"] in (None, was["data"]["vaultInfo"]["noteCount"])


def entries(value: Any) -> list[Json]:
    return value if isinstance(value, list) else [value] if value else []


def without_content(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if name not in ("content", "contentRef", "truncation")}


@settings(max_examples=examples(40))
@given(st.lists(steps, min_size=3, max_size=14))
def test_at_its_own_sequence_a_call_is_answered_as_it_was(happened: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = past_world.World(Path(folder), {"a.md": TEXTS[0], "b.md": TEXTS[1], "work/Alpha.md": TEXTS[4]})
        answers: list[bytes] = []
        try:
            world.append(c.ActiveNoteSet(NoteId("b.md")))
            for step in happened:
                match step:
                    case ("call", number):
                        answers.append(world.call(ASKED[number][0], **ASKED[number][1]))
                    case ("call at", number, place):
                        tool, arguments = ASKED[number]
                        answers.append(world.call_at(place % world.events.tail + 1, tool, **arguments))
                    case ("write", note, text):
                        world.write(note, text, told=False)  # whatever the log knows of it
                    case ("delete", note):
                        world.delete(note)
                    case _:
                        take(world, step)
            world.flush()
            calls = [event for event in world.events.all if isinstance(event.data, c.ToolCalled)]
            for event, answer in zip(calls, answers, strict=True):
                arguments = {name: value for name, value in event.data.arguments.items() if name != "at"}
                assert world.at(event.seq, event.data.tool, **arguments) == answer
        finally:
            world.close()


# -- one rule each --


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    """Alpha and Beta, both pinned, Beta active; nobody asked anything yet."""
    made = past_world.World(tmp_path, {"a.md": TEXTS[0], "b.md": TEXTS[1]})
    for note in ("a.md", "b.md"):
        made.append(c.NotePinned(NoteId(note)))
    made.append(c.ActiveNoteSet(NoteId("b.md")))
    yield made
    made.close()


def code(world: Any, at: int | str, tool: str, **arguments: Any) -> str | None:
    found: str | None = world.told(at, tool, **arguments).get("code")
    return found


def content(world: Any, at: int | str, note: str = "a.md") -> str:
    """The note's text then, or the code of the failure."""
    told = world.told(at, "get_note_by_reference", reference=note)
    return str(told["data"]["content"] if told["success"] else told["code"])


def test_a_call_stands_where_it_was_made_and_not_where_it_was_recorded(world: Any) -> None:
    world.call("get_note_by_reference", reference="a.md")
    before = world.events.tail
    world.write("a.md", "new")
    world.flush()
    assert "zebra" in content(world, before)
    assert content(world, world.events.tail - 1) == "NOT_RECORDED"


def test_of_a_deleted_note_nothing_is_told_after_its_end(world: Any) -> None:
    call = world.recorded_call("get_note_by_reference", reference="a.md")
    deleted = world.append(c.NoteDeleted(NoteId("a.md")))
    assert "zebra" in content(world, call)
    assert content(world, deleted) == "NOT_RECORDED"


def test_notes_are_not_counted_as_before_once_one_came(world: Any) -> None:
    call = world.recorded_call("get_workspace_context")
    world.append(c.NotePinned(NoteId("c.md")))
    pinned = world.events.tail
    world.write("c.md", "new")
    counted = [
        world.told(at, "get_workspace_context")["data"]["vaultInfo"]["noteCount"]
        for at in (call, pinned, world.events.tail)
    ]
    assert counted == [2, 2, None]


@pytest.mark.parametrize("change", ["write", "delete"])
def test_an_answer_is_of_no_use_once_a_note_is_another(world: Any, change: str) -> None:
    world.recorded_call("get_note_by_reference", reference="a.md")
    asked = world.recorded_call("search_workspace", query="zebra")
    later = world.append(c.NotePinned(NoteId("b.md")))
    assert code(world, later, "search_workspace", query="zebra") is None
    if change == "write":  # of which the daemon does not hear
        world.write("a.md", "no such animal", told=False)
    else:
        world.delete("a.md")
    world.recorded_call("get_note_by_reference", reference="a.md")
    world.append(c.ActiveNoteCleared())
    assert code(world, world.events.tail, "search_workspace", query="zebra") == "NOT_RECORDED"
    assert code(world, asked, "search_workspace", query="zebra") is None


def test_which_notes_an_ambiguous_name_means_is_told_for_the_call_alone(world: Any) -> None:
    for folder in ("one", "two"):
        world.write(f"{folder}/Twin.md", "# Twin\n")
    call = world.recorded_call("get_note_by_reference", reference="Twin")
    world.append(c.NotePinned(NoteId("two/Twin.md")))  # candidates of the workspace come first
    assert code(world, call, "get_note_by_reference", reference="Twin") == "AMBIGUOUS_REFERENCE"
    assert code(world, world.events.tail, "get_note_by_reference", reference="Twin") == "NOT_RECORDED"


# -- what is withheld by now --


def told_without(world: Any, at: int, tool: str, *notes: str, **arguments: Any) -> Json:
    """The answer where these notes are withheld by now."""
    moment = world.events.moment(at)
    view = world.past_view(moment, notes.__contains__)
    view.vault._vault._some_withheld = True
    answer: Json = msgspec.json.decode(
        past_world.payload_of(past_world.run(past_world.TOOLS[tool], view, arguments))
    )
    return answer


@pytest.mark.parametrize(("tool", "arguments"), [(tool, arguments) for tool, arguments in ASKED])
def test_nothing_of_a_note_that_is_withheld_by_now_is_told(world: Any, tool: str, arguments: Json) -> None:
    world.append(c.ActiveNoteSet(NoteId("a.md")))
    world.write("a.md", "---\ntitle: CANARY\ntags: [CANARY]\n---\nzebra CANARY [[b]] #x\n")
    world.write("b.md", "# Beta\n\n[[a]] #x zebra\n")
    call = world.recorded_call(tool, **arguments)
    for at in (call, world.state.seq):
        told = told_without(world, at, tool, "a.md", **arguments)
        assert "CANARY" not in str(told)
    assert world.told(call, tool, **arguments) == msgspec.json.decode(world.at(call, tool, **arguments))


def test_counts_are_not_told_where_they_may_tell_of_what_is_withheld_by_now(world: Any) -> None:
    search = world.recorded_call("search_workspace", query="zebra", limit=1)
    links = world.recorded_call("get_current_note", includeLinks=True)
    summary = world.recorded_call("get_workspace_summary")
    hidden = "work/else.md"
    assert (
        told_without(world, search, "search_workspace", hidden, query="zebra", limit=1)["code"] == "NOT_RECORDED"
    )
    assert told_without(world, summary, "get_workspace_summary", hidden)["code"] == "NOT_RECORDED"
    assert told_without(world, links, "get_current_note", hidden, includeLinks=True)["success"]
    context = told_without(world, links, "get_workspace_context", hidden)
    assert context["data"]["vaultInfo"]["noteCount"] is None


# -- get_note_diff over a log --


def diff(world: Any, **arguments: Any) -> Json:
    """The answer of the present."""
    answer: Json = msgspec.json.decode(world.look("get_note_diff", world.tick(), reference="a.md", **arguments))
    return answer


def test_since_a_sequence_or_time_the_version_of_that_moment_counts(world: Any) -> None:
    begin = world.events.tail
    world.write("a.md", "one\n")
    first = world.recorded_call("get_note_by_reference", reference="a.md")
    time = world.tick()
    world.write("a.md", "two\n")
    second = world.recorded_call("get_note_by_reference", reference="a.md")
    world.rename("a.md", "c.md")
    world.rename("c.md", "a.md")
    world.write("a.md", "three\n")
    for since in ({"sinceSeq": first}, {"sinceSeq": first - 1}, {"sinceTime": time}):
        assert diff(world, **since)["data"]["diff"] == "@@ -1 +1 @@\n-one\n+three\n"
    assert diff(world, sinceSeq=second)["data"]["diff"] == "@@ -1 +1 @@\n-two\n+three\n"
    assert diff(world, sinceSeq=begin)["code"] == "NOT_RECORDED"
    assert diff(world, sinceSeq=world.events.tail + 1)["code"] == "INVALID_ARGUMENT"
    assert diff(world, sinceTime="yesterday")["code"] == "INVALID_ARGUMENT"


def test_a_note_made_since_is_all_new(world: Any) -> None:
    world.delete("a.md")
    call = world.recorded_call("get_note_by_reference", reference="a.md")
    read = world.recorded_call("get_workspace_context")
    world.write("a.md", "new\n")
    told = diff(world, sinceSeq=read)
    assert (told["data"]["since"]["exists"], told["data"]["diff"]) == (False, "@@ -0,0 +1 @@\n+new\n")
    assert diff(world, sinceSeq=call)["success"] or diff(world, sinceSeq=call)["code"] == "NOT_RECORDED"


def test_a_diff_between_two_past_moments(world: Any) -> None:
    calls = []
    for text in ("one\n", "two\n", "three\n"):
        world.write("a.md", text)
        calls.append(world.recorded_call("get_note_by_reference", reference="a.md"))
    told = world.told(calls[1], "get_note_diff", reference="a.md", sinceSeq=calls[0])
    assert told["data"]["diff"] == "@@ -1 +1 @@\n-one\n+two\n"
    assert code(world, calls[0], "get_note_diff", reference="a.md", sinceSeq=calls[1]) == "INVALID_ARGUMENT"


class Counted:
    """The blobs of a world, and which of them were asked for."""

    def __init__(self, world: Any) -> None:
        self.asked: list[str] = []
        self._blobs = world.blobs

    def __call__(self, name: str) -> bytes | None:
        self.asked.append(name)
        content: bytes | None = self._blobs.get(name)
        return content


def past_of(world: Any, recordings: Any) -> Past:
    moment = world.events.moment(world.events.tail)
    return Past(world.events, recordings, past_world.V, moment)


def looked_for(world: Any, recordings: Any, note: str = "a.md") -> str:
    """The message of the failure to find another version of a note."""
    with pytest.raises(NotRecorded) as caught:
        past_of(world, recordings).other_version(NoteId(note), world.vault.notes.read([note])[0].sha256)
    return caught.value.message


def many_calls(world: Any) -> None:
    """A hundred calls, none of which reads what another one did."""
    for number in range(100):
        world.call("get_note_by_reference", reference=f"none {number}")
    world.flush()


def test_nor_more_bytes_of_them(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many_calls(world)
    size = max(map(len, world.blobs.values()))
    monkeypatch.setattr(past_facts, "RECORDINGS_BYTES_MAX", 10 * size)
    counted = Counted(world)
    assert "as far back as" in looked_for(world, Recordings(counted))
    assert 10 <= len(counted.asked) <= 12


def test_it_looks_at_so_many_events_and_says_so(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward_scan, "SCAN_EVENTS_MAX", 20)
    many_calls(world)
    message = looked_for(world, Recordings(world.blobs.get))
    assert message == f"No other version of a.md is recorded as far back as {world.events.all[-20].time}"


@pytest.mark.parametrize(
    "ask",
    [
        lambda past: past.other_version(NoteId("a.md"), ""),
        lambda past: past.version(NoteId("a.md")),
        lambda past: past.title(NoteId("a.md")),
        lambda past: past.answer(Overview(3)),
    ],
    ids=["other version", "version", "title", "answer"],
)
def test_a_question_reads_no_more_recordings_than_its_bound_and_says_how_far_it_came(
    world: Any, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Past], object]
) -> None:
    """The bound is one in work, and not in time: asked again a question is answered the same."""
    monkeypatch.setattr(past_facts, "RECORDINGS_READ_MAX", 50)
    many_calls(world)
    counted = Counted(world)
    recordings = Recordings(counted)
    for _ in range(2):
        with pytest.raises(NotRecorded) as caught:
            ask(past_of(world, recordings))
        assert caught.value.message.endswith(f" as far back as {world.events.all[-50].time}")
        assert len(counted.asked) == 50


def test_what_names_the_withheld_fails_as_never_given(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_facts, "RECORDINGS_READ_MAX", 50)
    many_calls(world)

    question = [NoteId("a.md"), 50]

    def refused() -> str:
        vault = PastVault(
            past_of(world, Recordings(world.blobs.get)), lambda note: note == "b.md", withheld_image=bool
        )
        with pytest.raises(NotRecorded) as caught:
            vault.ask(Incoming(*question), world.state.of(past_world.V))
        return caught.value.message

    never = refused()
    assert " as far back as " in never
    world.events.all.pop()
    world.recorded_call("get_related_notes", reference="a.md")
    recording = msgspec.json.decode(world.blobs[world.events.all[-1].data.inputs_sha256])
    [question] = [each["question"] for each in recording["asked"] if each["ask"] == "incoming"]
    assert refused() == never


def test_a_stop_ends_a_question_that_is_being_answered(world: Any) -> None:
    class Stopped(Exception):
        pass

    many_calls(world)
    left = iter(range(10))

    def check() -> None:
        if next(left, None) is None:
            raise Stopped

    counted = Counted(world)
    with pytest.raises(Stopped):
        past_of(world, Recordings(counted, check)).other_version(NoteId("a.md"), "")
    assert len(counted.asked) <= 10
