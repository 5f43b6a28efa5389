"""`--files`: text files that are no Markdown are notes too, from what an editor shows to what an agent reads."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from support.daemon import refusal

from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_tools.code import languages

CODE = 'def greet(name):\n    # [[Home]] #tag\n    return f"hello {name}, xyzzy"\n'
NOTES = {
    "Home.md": "# Home\n\nSee [[plan]] and [[greet.py]].\n",
    "plan.md": "# Plan\n",
    "src/greet.py": CODE,
    "src/deep/config.yaml": "---\ntitle: Not a title\nworkspaced: private\n---\n# no heading\n",
    "other/apart.py": "apart = 1\n",
}


@pytest.fixture
def running(daemon: Callable[..., Any]) -> Any:
    return daemon("--files", "src/**,docs/**", notes=NOTES)


def test_a_code_file_is_active_pinned_a_tab_and_read(running: Any) -> None:
    with running.connect("editor") as client:
        tabs = [{"note": "src/greet.py"}]
        view = {"source": "editor", "active": "src/greet.py", "pins": ["src/deep/config.yaml"], "tabs": tabs}
        client.call("workspaced/snapshot", view)
        current = client.tool("get_current_note")["data"]
        assert current["content"] == CODE
        assert current["title"] == "greet.py"
        assert current["language"] == "Python"
        assert current["metadata"]["tags"] == []
        context = client.tool("get_workspace_context")["data"]
    assert context["activeNote"]["id"] == "src/greet.py"
    assert [note["id"] for note in context["pinnedNotes"]] == ["src/deep/config.yaml"]


def test_a_file_that_the_globs_do_not_name_is_found_while_an_editor_shows_it_unless_it_is_hidden(
    running: Any,
) -> None:
    with running.connect("editor") as client:
        asked = "get_note_by_reference", {"reference": "other/apart.py"}
        assert client.tool(*asked)["code"] == "NOTE_NOT_FOUND"
        client.publish([{"type": "active_note_set", "data": {"note": "other/apart.py"}}])
        assert client.tool(*asked)["data"]["content"] == NOTES["other/apart.py"]
        hidden = {"type": "active_note_set", "data": {"note": "src/.hidden.py"}}
        assert refusal(client.publish, [hidden]).code == "INVALID_ARGUMENT"


# -- over time --


def test_a_glob_that_is_none_ends_the_start_with_its_name(daemon: Callable[..., Any]) -> None:
    running = daemon(start=False)
    done = running.cli("serve", "--vault", str(running.vault), "--files", "src/**,[[:x:]].py")
    assert done.returncode == 2
    assert "[[:x:]].py" in done.stderr


# -- what is withheld (that nothing tells of it: test_two_worlds.py) --


def test_a_selection_in_a_file_that_gitignore_names_since_is_not_told(running: Any) -> None:
    selection = {"startLine": 1, "endLine": 1, "text": "xyzzy"}
    view = {"source": "editor", "active": "src/greet.py", "pins": [], "tabs": [], "selection": selection}
    about = {"client": "agent", "session": "s", "event": "e"}

    def told(client: Any) -> str:
        """All that an agent and an editor's link are told unasked."""
        client.call("workspaced/reconcile")
        whole = client.call("workspaced/volunteer", {**about, "tell": "whole"})
        link = client.call("workspaced/volunteer/editor", {**about, "folders": [str(running.vault)]})
        return str((whole, link, client.tool("get_workspace_context", {"includeContent": True})))

    with running.connect("editor") as editor, running.connect("agent") as agent:
        editor.call("workspaced/snapshot", view)
        assert "xyzzy" in told(agent)
        (running.vault / ".gitignore").write_text("greet.py\n")
        assert "xyzzy" not in told(agent)


def test_a_redacted_log_of_code_verifies_and_holds_none_of_its_words(running: Any) -> None:
    with running.connect("agent") as agent:
        agent.tool("get_note_by_reference", {"reference": "src/greet.py", "includeOutline": True})
        agent.tool("search_workspace", {"query": "hello"})
    bundle = running.root / "redacted.wsb"
    made = running.cli("bundle", "-o", str(bundle), "--redact")
    assert made.returncode == 0, made.stderr
    verified = running.cli("replay", str(bundle), "--verify")
    assert verified.returncode == 0, verified.stdout
    calls: list[ToolCalled] = []
    with open_source(bundle) as source:
        source.feed(lambda events: calls.extend(each.data for each in events if type(each.data) is ToolCalled))
        names = [name for call in calls for name in (call.inputs_sha256, call.result_sha256) if name is not None]
        kept = b"".join(source.blob(name) or b"" for name in names)
    assert len(calls) == 2
    assert not any(word in kept for word in (b"greet", b"hello", b"src/", b"xyzzy"))


# -- outlines --

SOURCES = {
    "a.py": "class A:\n    def m(self):\n        pass\n\n\ndef f():\n    pass\n",
    "b.ts": "interface I {}\nclass A {\n  m() {}\n}\nfunction f() {}\n",
    "c.go": "package a\n\ntype A struct{}\n\nfunc f() {}\n",
    "d.rs": "struct A;\n\nimpl A {\n    fn m(&self) {}\n}\n\nfn f() {}\n",
    "e.rb": "module M\n  class A\n    def m; end\n  end\nend\n",
    "f.c": "struct A { int x; };\nint f(void) { return 0; }\n",
    "g.cpp": "class A { void m() {} };\nint f() { return 0; }\n",
    "h.java": "class A { void m() {} }\n",
    "i.js": "class A { m() {} }\nfunction f() {}\n",
    "j.lua": "function f() end\n",
    "k.php": "<?php\nclass A { function m() {} }\nfunction f() {}\n",
    "l.tsx": "class A { m() {} }\nconst f = () => <p />;\n",
}
NAMES = {"a.py": ["A", "m", "f"], "b.ts": ["I", "A", "m", "f"], "c.go": ["A", "f"], "d.rs": ["A", "m", "f"]}
NAMES |= {"e.rb": ["M", "A", "m"], "f.c": ["A", "f"], "h.java": ["A", "m"], "j.lua": ["f"]}


def outline(client: Any, reference: str) -> tuple[list[dict[str, Any]], list[str]]:
    asked = {"reference": reference, "includeOutline": True, "includeContent": False}
    found = client.tool("get_note_by_reference", asked)
    return found["data"]["outline"], found.get("warnings", [])


def test_code_has_an_outline_in_every_language_of_the_list(daemon: Callable[..., Any]) -> None:
    endings = {f"x.{ending}" for ending in languages._GRAMMARS}
    kinds = {languages.grammar_of(name) for name in SOURCES}
    assert {languages.grammar_of(name) for name in endings} == kinds, "a language without a source here"
    running = daemon("--files", "*", notes=SOURCES)
    with running.connect("agent") as client:
        for name in SOURCES:
            symbols, warnings = outline(client, name)
            assert [each["title"] for each in symbols] == NAMES.get(name, ["A", "m", "f"]), name
            assert warnings == []
        symbols, _ = outline(client, "a.py")
    running.stop()
    replayed = running.cli("replay", str(running.data), "--verify", "--json")
    assert replayed.returncode == 0, replayed.stdout
    assert [(each["kind"], each["line"], each["level"]) for each in symbols] == [
        ("class", 1, 1),
        ("function", 2, 2),
        ("function", 6, 1),
    ]


@pytest.mark.fault(row=72)
@pytest.mark.thorough  # it takes as long as the parser may
def test_a_file_that_no_parser_ends_with_holds_nobody_up(daemon: Callable[..., Any]) -> None:
    running = daemon("--files", "*", notes={"bad.py": "(" * 262_144, "good.md": "# Good\n"})
    with running.connect("agent") as client, running.connect("other") as other:
        waiting = threading.Thread(target=lambda: found.append(outline(client, "bad.py")))
        found: list[Any] = []
        waiting.start()
        while waiting.is_alive():
            assert other.tool("get_note_by_reference", {"reference": "good.md"})["success"]
        waiting.join()
    assert found == [([], ["The file could not be parsed in time, so it has no outline."])]
