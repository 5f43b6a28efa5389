"""Row 31 over a real daemon: paths that lead out of the vault, named wherever a client can name one.

Tools, resources, what an editor shows, attachments and pins of a conversation. Nothing of
what lies outside is answered; and strace, where it is there, sees the daemon look at nothing outside.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support import bad_paths as paths
from support.stored_texts import unpacked

from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_tools.limits import QUERY_CHARS_MAX
from workspaced_tools.tools.registry import TOOLS

Json = dict[str, Any]
NOT_FOUND = {
    "OUTSIDE_VAULT",
    "SYMLINK",
    "NOTE_NOT_FOUND",
    "INVALID_ARGUMENT",
    "AMBIGUOUS_REFERENCE",
    "NOT_RECORDED",
}
KINDS = ("note", "active_note", "folder", "image", "selected_text", "file", "pdf", "tag")
SHAPES = (None, "openai", "anthropic", "gemini")
SETTINGS = {"provider": "anthropic", "model": "m", "contextWindow": 900_000, "outputReserve": 1_000}


def make_world(daemon: Any, wrapper: tuple[str, ...] = ()) -> Any:
    running = daemon(notes={}, start=False)
    running.vault.rmdir()
    paths.make_world(running.root)
    running.wrapper = wrapper
    running.start()
    show_top(running)
    return running


def show_top(running: Any) -> None:
    """The editor shows a note of the vault."""
    running.publish("active_note_set", note="top.md")
    running.reconcile()


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return make_world(module_daemon)


def clean(*answers: Any) -> None:
    text = json.dumps(answers, ensure_ascii=False)
    assert paths.CANARY not in text and "root:" not in text, text[:2_000]


# -- what is asked --


def asked_of_tools(path: str) -> Iterator[tuple[str, Json]]:
    """Every tool, with `path` wherever it takes a name."""
    given: Json = {
        "reference": path,
        "query": path[:QUERY_CHARS_MAX],
        "folder": path[:NOTE_ID_CHARS_MAX],
        "tags": [path],
    }
    for name, tool in TOOLS.items():
        properties = tool.input_schema["properties"]
        wanted = {each: True for each in properties if each.startswith("include")}
        yield name, wanted | {each: given[each] for each in properties if each in given}


def uris(path: str) -> list[str]:
    return [
        f"workspace://note/{each}" for each in (path, quote(path, safe=""), quote(quote(path, safe=""), safe=""))
    ]


def ask_tools(peer: Any, path: str) -> set[str]:
    """The codes of the refusals."""
    answers = [peer.call(name, **arguments)["structuredContent"] for name, arguments in asked_of_tools(path)]
    clean(answers)
    return {answer["code"] for answer in answers if answer.get("code")}


def ask_resources(peer: Any, path: str) -> set[str]:
    answers = [peer.answer(peer.send("resources/read", uri=uri)) for uri in uris(path)]
    clean(answers)
    return {answer["error"]["data"]["code"] for answer in answers if "error" in answer}


def show(running: Any, peer: Any, path: str) -> None:
    """The editor shows `path`, where it may; then the agent looks at what is before the user."""
    wire = running.wire()
    for kind, more in (
        ("active_note_set", {}),
        ("note_pinned", {}),
        ("temporary_tab_opened", {"source": "search"}),
    ):
        clean(wire.ask("workspaced/publish", {"actions": [{"type": kind, "data": {"note": path, **more}}]}))
    for uri in ("workspace://note/current", "workspace://context"):
        clean(peer.answer(peer.send("resources/read", uri=uri)))
    clean(
        peer.call("get_current_note", includeLinks=True), peer.call("get_workspace_context", includeContent=True)
    )
    wire.ask("workspaced/publish", {"actions": [{"type": "note_unpinned", "data": {"note": path}}]})
    wire.close()


def attached(path: str) -> list[Json]:
    named = path[:NOTE_ID_CHARS_MAX]
    plain = [{"kind": kind, "id": named} for kind in KINDS]
    return [*plain, {"kind": "selected_text", "id": f"{named[:1_000]}#L1-L2", "text": "#"}]


def talk(running: Any, conversation: str, path: str) -> list[Json]:
    """A conversation that attaches and pins `path`: its answers."""
    wire, found = running.wire(), []
    named = {"conversation": conversation}

    def ask(method: str, **params: Any) -> None:
        found.append(wire.ask(f"workspaced/context/{method}", {**named, **params}))

    ask("start", **SETTINGS)
    ask("pin", id="p1", kind="note", path=path[:NOTE_ID_CHARS_MAX] or "x")
    ask("pin", id="p2", kind="folder", folder=path[:NOTE_ID_CHARS_MAX])
    message = {"id": "m1", "role": "user", "text": path, "attachments": attached(path)}
    ask("message", messages=[message])
    for shape in SHAPES:
        ask("assemble", **({"shape": shape} if shape else {}))
    ask("export")
    ask("assemble", rebase=True)
    wire.close()
    return found


# -- the tests --


@pytest.mark.thorough
@pytest.mark.fault(row=31)
@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_row_31_no_tool_and_no_resource_answers_with_anything_from_outside(
    era: str, shared: Any, request: pytest.FixtureRequest
) -> None:
    show_top(shared)
    peer = request.getfixturevalue(era)(shared)
    for path in paths.bad(shared.vault):
        assert ask_tools(peer, path) <= NOT_FOUND, path
        assert ask_resources(peer, path) <= {*NOT_FOUND, "UNKNOWN_RESOURCE"}, path


@pytest.mark.fault(row=31)
def test_row_31_what_an_editor_shows_is_not_answered_from_outside(shared: Any, modern: Callable[..., Any]) -> None:
    peer = modern(shared)
    for path in paths.bad(shared.vault):
        show(shared, peer, path)


@pytest.mark.fault(row=31)
@pytest.mark.thorough
def test_row_31_no_attachment_and_no_pin_brings_anything_from_outside_into_a_prompt(shared: Any) -> None:
    for number, path in enumerate(paths.bad(shared.vault)):
        answers = talk(shared, f"talk-{number}", path)
        clean(answers)
        assert all("result" in answer for answer in answers[4:8]), (path, answers[4:8])


def test_row_31_nothing_from_outside_is_in_the_log_or_beside_it(shared: Any) -> None:
    for number, path in enumerate(("../outside/secret.md", "link/secret.md", "file.md", "up/outside/secret.md")):
        talk(shared, f"last-{number}", path)
    done = shared.cli("log", "export")
    assert done.returncode == 0 and paths.CANARY not in done.stdout
    kept = [path.read_bytes() for part in ("blobs", "served") for path in (shared.data / part).glob("*/*")]
    assert len(kept) > 10
    assert not any(paths.CANARY.encode() in each + unpacked(each) for each in kept)


@pytest.mark.fault(row=31)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.thorough
def test_row_31_a_daemon_looks_at_nothing_outside(daemon: Any, tmp_path: Path, modern: Callable[..., Any]) -> None:
    trace = tmp_path / "trace"
    command = ("strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "4096", "-e", "trace=%file", "-o", str(trace))
    try:
        running = make_world(daemon, command)
    except AssertionError:
        pytest.skip("tracing is not permitted here")
    peer = modern(running)
    ask_tools(peer, "top.md")  # what is imported late is imported now
    clean(talk(running, "before", "top.md"))
    ask_tools(peer, "begin-of-trace.md")
    for number, path in enumerate(paths.bad(running.vault)):
        ask_tools(peer, path)
        ask_resources(peer, path)
        show(running, peer, path)
        talk(running, f"talk-{number}", path)
    running.reconcile()
    ask_tools(peer, "end-of-trace.md")
    written = threading.Event()
    for _ in range(1_200):  # strace may be behind
        if "end-of-trace.md" in (text := trace.read_text(errors="replace")):
            break
        written.wait(0.05)
    # Between the markers no call names anything outside the vault, or a way up.
    _, begin, rest = text.partition("begin-of-trace.md")
    traced, end, _ = rest.partition("end-of-trace.md")
    assert begin and end
    # `readlinkat` tells where a link leads, and does not go there.
    lines = [line for line in traced.splitlines() if "(" in line and "readlinkat(" not in line]
    assert len(lines) > 10 * len(paths.BAD)
    outside = [str(running.root / each) for each in paths.OUTSIDE] + ["/etc/passwd", "/proc/self/root"]
    for line in lines:
        assert not any(each in line for each in [*outside, '".."', '"../', "/../"]), line
