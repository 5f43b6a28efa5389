"""`workspaced lsp` between an editor and a real daemon: what it gives the user back."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from support.daemon import Daemon, Factory
from support.language_client import LanguageClient, Refused, uri_of

NOTES = {
    "Home.md": "# Home\n\n🧑‍🚀 See [[Plan]], [[Plan#Steps|steps]], [deep](work/Deep%20note.md), [[Nowhere]].\n\n"
    "To [[#End]].\n\n# End\n",
    "Plan.md": "# The plan\n\n## Steps\n\nFirst. ^first\n\n### Small\n\n## Costs\n\nBack to [[Home]].\n",
    "work/Deep note.md": "# Deep\n\nUp to [[Plan]], [up](../Plan.md#steps) and [ref][r].\n\n[r]: ../Plan.md\n",
    "one/Twin.md": "# Twin\n",
    "two/Twin.md": "# Twin\n",
}


@pytest.fixture(scope="module")
def running(module_daemon: Factory) -> Daemon:
    return module_daemon(notes=NOTES)


@pytest.fixture(scope="module")
def server(running: Daemon) -> Iterator[LanguageClient]:
    with LanguageClient(running.env, running.vault) as client:
        yield client


@pytest.fixture
def editor(server: LanguageClient) -> Iterator[LanguageClient]:
    """An editor with nothing open."""
    server.said.clear()
    yield server
    for uri in server.opened:
        server.close(uri)


def at_line(location: dict[str, Any]) -> tuple[str, int]:
    return location["uri"], location["range"]["start"]["line"]


def test_the_definition_of_a_link_is_where_it_leads_in_the_text_of_the_editor(
    editor: LanguageClient, running: Daemon
) -> None:
    home = editor.open(running.vault / "Home.md")
    plan, deep = uri_of(running.vault / "Plan.md"), uri_of(running.vault / "work/Deep note.md")
    for line, column, place in ((2, 13, (plan, 0)), (2, 26, (plan, 2)), (2, 50, (deep, 0)), (4, 7, (home, 6))):
        assert at_line(editor.at("definition", home, line, column)) == place
    assert editor.at("definition", home, 0, 0) is editor.at("definition", home, 2, 80) is None
    assert [each["target"] for each in editor.of("documentLink", home)] == [plan, plan, deep]
    editor.change(home, "[[Plan#Steps]] ", (0, 0), (0, 6))
    editor.open(running.vault / "Plan.md", "# Unsaved\n\nnew\n\n## Steps\n")
    assert at_line(editor.at("definition", home, 0, 3)) == (plan, 4)


def test_references_are_the_links_to_the_note(editor: LanguageClient, running: Daemon) -> None:
    plan = editor.open(running.vault / "Plan.md")
    home, deep = uri_of(running.vault / "Home.md"), uri_of(running.vault / "work/Deep note.md")
    found = [at_line(each) for each in editor.references(plan, 0, 0)]
    assert found == [(home, 2), (home, 2), (deep, 2), (deep, 2), (deep, 2)]
    editor.open(running.vault / "work/Deep note.md", "x\n\n\n[[Plan]] unsaved\n")
    assert [at_line(each) for each in editor.references(plan, 0, 0)] == [(home, 2), (home, 2), (deep, 3)]


def test_hover_shows_how_the_target_begins(editor: LanguageClient, running: Daemon) -> None:
    home = editor.open(running.vault / "Home.md")
    shown = editor.at("hover", home, 2, 26)["contents"]["value"]
    assert shown.startswith("**The plan** — `Plan.md`\n\n## Steps\n\nFirst.")
    assert editor.at("hover", home, 0, 0) is None


class TestCompletion:
    def offered(self, editor: LanguageClient, uri: str, line: int, column: int) -> list[str]:
        found = editor.at("completion", uri, line, column)
        assert found is None or found["isIncomplete"]
        return [each["textEdit"]["newText"] for each in found["items"]] if found is not None else []

    def test_offers_notes_behind_two_brackets_and_closes_none_that_are_closed(
        self, editor: LanguageClient, running: Daemon
    ) -> None:
        note = editor.open(running.vault / "new.md", "Go to [[pl")
        assert self.offered(editor, note, 0, 10) == ["Plan]]"]
        assert self.offered(editor, note, 0, 4) == []
        note = editor.open(running.vault / "new.md", "𝄞 [[pl]]")
        [item] = editor.at("completion", note, 0, 7)["items"]
        assert item["textEdit"] == {
            "newText": "Plan",
            "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 7}},
        }

    def test_offers_headings_of_the_other_note_and_of_this_one(
        self, editor: LanguageClient, running: Daemon
    ) -> None:
        note = editor.open(running.vault / "new.md", "# Own\n\n[[Plan#s\n[[#o\n[[Plan#^\n")
        assert self.offered(editor, note, 2, 8) == ["Plan#Steps]]", "Plan#Small]]", "Plan#Costs]]"]
        assert self.offered(editor, note, 3, 4) == ["#Own]]"]
        assert self.offered(editor, note, 4, 8) == ["Plan#^first]]"]


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 14), ("utf-16", 7), ("utf-32", 5)])
def test_columns_count_as_the_editor_says(running: Daemon, encoding: str, column: int) -> None:
    text = "🧑‍🚀é [[Plan]]\n"
    with LanguageClient(running.env, running.vault, encodings=[encoding]) as editor:
        assert editor.server["capabilities"]["positionEncoding"] == encoding
        note = editor.open(running.vault / "Home.md", text)
        [link] = editor.of("documentLink", note)
        assert link["range"]["start"]["character"] == column
        assert editor.at("definition", note, 0, column) is not None
        assert editor.at("definition", note, 0, column - 1) is None


class TestRename:
    def edited(self, text: str, edits: list[dict[str, Any]]) -> str:
        """The text after the edits, which are all of one line each and ASCII-only before."""
        lines = text.splitlines(keepends=True)
        for edit in sorted(edits, key=lambda each: -each["range"]["start"]["character"]):
            start, end = edit["range"]["start"], edit["range"]["end"]
            line = lines[start["line"]].encode("utf-16-le")
            new = edit["newText"].encode("utf-16-le")
            changed = line[: 2 * start["character"]] + new + line[2 * end["character"] :]
            lines[start["line"]] = changed.decode("utf-16-le")
        return "".join(lines)

    def test_moves_the_file_and_edits_every_link(self, editor: LanguageClient, running: Daemon) -> None:
        plan = editor.open(running.vault / "Plan.md")
        assert editor.at("prepareRename", plan, 0, 0)["placeholder"] == "Plan"
        *edits, moved = editor.at("rename", plan, 0, 0, newName="Our plan")["documentChanges"]
        assert moved == {"kind": "rename", "oldUri": plan, "newUri": uri_of(running.vault / "Our plan.md")}
        paths = {uri_of(running.vault / name): text for name, text in NOTES.items()}
        uris = {each["textDocument"]["uri"]: each["edits"] for each in edits}
        texts = {uri: self.edited(paths[uri], of) for uri, of in uris.items()}
        assert "See [[Our plan]], [[Our plan#Steps|steps]]" in texts[uri_of(running.vault / "Home.md")]
        deep = texts[uri_of(running.vault / "work/Deep note.md")]
        assert "Up to [[Our plan]], [up](../Our%20plan.md#steps) and [ref][r]" in deep
        assert "1 link to Plan.md by hand" in editor.hear("window/showMessage")["message"]

    def test_gives_the_links_alone_to_an_editor_that_moves_no_files(self, running: Daemon) -> None:
        with LanguageClient(running.env, running.vault, capabilities={}) as editor:
            plan = editor.open(running.vault / "Plan.md")
            edit = editor.at("rename", plan, 0, 0, newName="Later")
            assert "documentChanges" not in edit
            assert set(edit["changes"]) == {
                uri_of(running.vault / name) for name in ("Home.md", "work/Deep note.md")
            }
            assert "Rename the file Plan.md to Later.md yourself" in editor.hear("window/showMessage")["message"]

    @pytest.mark.parametrize("name", ["Home", "a#b", ""])
    def test_to_what_no_note_can_be_called_is_refused(
        self, editor: LanguageClient, running: Daemon, name: str
    ) -> None:
        plan = editor.open(running.vault / "Plan.md")
        with pytest.raises(Refused):
            editor.at("rename", plan, 0, 0, newName=name)


class TestRenamesOfSeveralNotesAtOnce:
    NOTES: ClassVar = {
        "sub/c.md": "[b](../b.md) [d](d.md) [[d]]\n",
        "sub/d.md": "[c](c.md)\n",
        "b.md": "[c](sub/c.md) [[c]] [[sub/c]]\n",
    }

    def edits(self, running: Daemon, *moved: tuple[str, str]) -> dict[str, list[str]]:
        """The new texts of links, by note."""
        uris = [[uri_of(running.vault / name) for name in pair] for pair in moved]
        with LanguageClient(running.env, running.vault) as editor:
            files = [{"oldUri": old, "newUri": new} for old, new in uris]
            edit = editor.ask("workspace/willRenameFiles", {"files": files})
        where = uri_of(running.vault)
        return {uri[len(where) + 1 :]: [each["newText"] for each in of] for uri, of in edit["changes"].items()}

    @pytest.mark.parametrize(
        "moved",
        [[("sub", "far/away")], [("sub/c.md", "far/away/c.md"), ("sub/d.md", "far/away/d.md")]],
        ids=["a folder", "two files"],
    )
    def test_keep_the_links_between_them(self, daemon: Factory, moved: list[tuple[str, str]]) -> None:
        running = daemon(notes=self.NOTES)
        assert self.edits(running, *moved) == {
            "b.md": ["[c](far/away/c.md)", "[[far/away/c]]"],
            "sub/c.md": ["[b](../../b.md)"],
        }


def test_a_rename_of_a_note_that_is_withheld_says_that_its_links_are_left(daemon: Factory) -> None:
    running = daemon(notes={"a.md": "[[secret]]\n", "secret.md": "---\nworkspaced: private\n---\n[[a]]\n"})
    with LanguageClient(running.env, running.vault) as editor:
        secret = editor.open(running.vault / "secret.md")
        [moved] = editor.at("rename", secret, 0, 0, newName="open")["documentChanges"]
        assert moved["kind"] == "rename"
        assert "secret.md: withheld" in editor.hear("window/showMessage")["message"]
        running.connect().call("workspaced/share", {"client": "lsp", "level": "none"})
        note = editor.open(running.vault / "new.md", "[[a")
        assert editor.at("completion", note, 0, 3)["items"] == [], "a client that is shown nothing"


class TestDiagnostics:
    def test_mark_links_that_lead_nowhere_where_they_are_wanted(self, running: Daemon) -> None:
        with LanguageClient(running.env, running.vault, options={"diagnostics": True}) as editor:
            home = editor.open(running.vault / "Home.md", "[[Nowhere]] [[Plan#No]] [[Plan#Steps]] [[Twin]]\n")
            found = editor.hear("textDocument/publishDiagnostics")
            assert [each["message"] for each in found["diagnostics"]] == [
                "No note is called 'Nowhere', or it is withheld.",
                "Plan.md has no heading or block 'No'.",
            ]
            editor.change(home, "[[Plan]]")
            assert editor.hear("textDocument/publishDiagnostics")["diagnostics"] == []
            editor.change(home, "---\ntitle: A: b\nworkspaced: privat\n---\n")
            problem, unclear = editor.hear("textDocument/publishDiagnostics")["diagnostics"]
            assert "line 2, column 9" in problem["message"] and problem["range"]["start"]["line"] == 0
            assert "privat" in unclear["message"] and unclear["range"]["start"]["line"] == 2

    def test_are_off_by_default(self, editor: LanguageClient, running: Daemon) -> None:
        editor.open(running.vault / "Home.md", "[[Nowhere]]\n")
        editor.settled()
        assert editor.said == []


def test_code_of_the_vault_is_shown_and_read_as_no_markdown(daemon: Factory) -> None:
    code = {"src/main.py": "# A comment\nprint('[[a]]')\n", "a.md": "# A\n"}
    running = daemon("--files", "src/**", notes=code)
    with LanguageClient(running.env, running.vault) as editor:
        editor.open(running.vault / "a.md")
        main = editor.open(running.vault / "src/main.py")
        editor.actions(main, (1, 0), (1, 5))
        editor.settled()
        state = running.connect().state()
        assert state["activeNote"]["id"] == "src/main.py" and state["selection"]["text"] == "print"
        assert editor.of("documentLink", main) == []
        assert editor.at("completion", main, 1, 9) is None
        assert editor.at("rename", main, 1, 9, newName="x") is None
