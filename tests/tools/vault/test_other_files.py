"""Files that are no notes: which are opened for whom, what is said of them, and the text of PDFs."""

import subprocess
from typing import Any

import pytest
from support import images
from support.requested_vault import RequestedVault
from support.tool_fixtures import MakeState, MakeVault

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Level, Note, NoteFailure
from workspaced_tools.ports.questions import Images, Incoming, Names, Read, Resolve
from workspaced_tools.sharing.verdicts import WithheldNames
from workspaced_tools.vault.files import pdf_texts
from workspaced_tools.vault.vault import Vault

PRIVATE = "---\nworkspaced: private\n---\n"
CSV = "oak,12\n"


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    contents = [f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else "" for text in pages]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for at, content in enumerate(contents):
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {font} /Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    written = b"%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return written + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def read(vault: Vault, path: str, state: Any) -> Note | NoteFailure:
    [found] = vault.ask(Read([NoteId(path)]), state)
    assert found.id == path
    return found


def code(vault: Vault, path: str, state: Any) -> str | None:
    found = read(vault, path, state)
    return found.code if isinstance(found, NoteFailure) else None


# -- what is opened --


def test_a_file_is_opened_where_it_is_shown_or_linked(make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"n.md": "# N\n", "a.csv": CSV})
    assert code(vault, "a.csv", make_state()) == "NOTE_NOT_FOUND"
    assert vault.ask(Resolve("a.csv"), make_state()).note is None
    for state in (make_state(active="a.csv"), make_state(pins=["a.csv"]), make_state(recents=["a.csv"])):
        assert code(vault, "a.csv", state) is None
    (vault.root.path / "n.md").write_text("[[a.csv]]")
    vault.changed(["n.md"])
    assert code(vault, "a.csv", make_state()) is None
    found = vault.ask(Resolve("a.csv"), make_state()).note
    assert found is not None and found.id == "a.csv"


def test_the_link_of_a_withheld_note_opens_nothing(make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"n.md": f"{PRIVATE}[[a.csv]]", "a.csv": CSV})
    assert code(vault, "a.csv", make_state()) == "NOTE_NOT_FOUND"
    vault = make_vault({"n.md": "[[a.csv]]", "a.csv": CSV})
    assert code(vault, "a.csv", make_state()) is None
    (vault.root.path / "n.md").write_text(f"{PRIVATE}[[a.csv]]")
    assert code(vault, "a.csv", make_state()) == "NOTE_NOT_FOUND", "noticed without a hint"


@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.mp3", "a.docx"])
def test_an_attachment_is_withheld_with_its_note(name: str, make_vault: MakeVault, make_state: MakeState) -> None:
    content = images.png() if name == "a.png" else "bytes \0"
    contents = {"n.md": f"[[{name}]]", "secret.md": f"{PRIVATE}[[{name}]]", f"x/{name}": content}
    vault = make_vault(contents)
    state = make_state(active=f"x/{name}")
    assert code(vault, f"x/{name}", state) == "NOTE_NOT_FOUND"
    assert not vault.ask(Images(NoteId(f"x/{name}")), state).images
    assert vault.withholds(NoteId(f"x/{name}"))
    assert [each.kind for each in vault.why(NoteId(f"x/{name}"))] == ["attachment"]
    (vault.root.path / "secret.md").unlink()
    vault.reconcile()
    vault.reconcile()  # the first one began with what the note named
    assert code(vault, f"x/{name}", state) == "BINARY_FILE"


@pytest.mark.parametrize("least", [Level.VOLUNTEER, Level.ON_REQUEST])
@pytest.mark.parametrize("name", ["a.pdf", "a.png"])
def test_an_attachment_is_withheld_from_the_edit_on_that_withholds_its_note(
    name: str, least: Level, make_vault: MakeVault, make_state: MakeState
) -> None:
    content = images.png() if name == "a.png" else "bytes \0"
    vault = make_vault({"n.md": f"[[{name}]]", name: content})
    state = make_state(active=name)
    source = vault if least is Level.VOLUNTEER else RequestedVault(vault)
    assert source.ask(Names([NoteId(name)]), state) != [None]
    (vault.root.path / "n.md").write_text(f"{PRIVATE}[[{name}]]")
    [found] = source.ask(Read([NoteId(name)]), state)
    assert isinstance(found, NoteFailure) and found.code == "NOTE_NOT_FOUND", "noticed without a hint"
    assert not source.ask(Images(NoteId(name)), state).images
    assert source.ask(Names([NoteId(name)]), state) == [None]


@pytest.mark.parametrize("path", ["build/a.csv", ".a.csv", ".b/a.csv", "ruled.csv", "alias.csv"])
def test_what_is_hidden_or_ruled_is_opened_by_nobody(
    path: str, make_vault: MakeVault, make_state: MakeState
) -> None:
    contents = dict.fromkeys(("build/a.csv", ".a.csv", ".b/a.csv", "ruled.csv", "real.csv"), CSV)
    rules = {".gitignore": "build/\n", ".workspacedignore": "ruled.*\n", "n.md": f"[[{path}]] [x]({path})"}
    vault = make_vault({**contents, **rules})
    (vault.root.path / "alias.csv").symlink_to("real.csv")
    vault.reconcile()
    assert code(vault, path, make_state(active=path)) is not None
    assert vault.ask(Resolve(path), make_state()).note is None


def test_a_file_has_backlinks_and_an_image_in_front_is_sent(make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"n.md": "[[a.csv]] ![[b.canvas]]", "a.csv": CSV, "b.canvas": "{}", "p.png": images.png()})
    assert [each.source.id for each in vault.ask(Incoming(NoteId("a.csv"), 9), make_state()).links] == ["n.md"]
    assert [each.source.id for each in vault.ask(Incoming(NoteId("b.canvas"), 9), make_state()).links] == ["n.md"]
    assert len(vault.ask(Images(NoteId("p.png")), make_state(active="p.png")).images) == 1
    assert not vault.ask(Images(NoteId("p.png")), make_state()).images


@pytest.mark.parametrize("name", ["a.csv", "a.pdf", "a.png", "a.base"])
def test_what_may_be_opened_has_a_name(name: str, make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"n.md": "# N\n", name: images.png() if name == "a.png" else CSV})
    requested = RequestedVault(vault)
    for source in (vault, requested):
        [found] = source.ask(Names([NoteId(name)]), make_state(active=name))
        assert found is not None and (found.id, found.title) == (name, name)
        assert source.ask(Names([NoteId(name)]), make_state()) == [None], "a guess"
    (vault.root.path / name).unlink()
    for source in (vault, requested):
        assert source.ask(Names([NoteId(name)]), make_state(active=name)) == [None]


def test_a_file_of_a_note_on_request_is_on_request(make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"n.md": "---\nworkspaced: on-request\n---\n[[a.pdf]]", "a.pdf": "bytes \0"})
    state = make_state(active="a.pdf")
    assert vault.ask(Names([NoteId("a.pdf")]), state) == [None]
    assert RequestedVault(vault).ask(Names([NoteId("a.pdf")]), state) != [None]
    assert [each.level for each in vault.why(NoteId("a.pdf"))] == ["on-request"]
    assert WithheldNames(vault, {}).uncounted(NoteId("a.pdf"))


def test_a_canvas_that_is_none_is_shown_as_it_stands(make_vault: MakeVault, make_state: MakeState) -> None:
    found = read(make_vault({"a.canvas": "{oak"}), "a.canvas", make_state())
    assert isinstance(found, Note) and found.text == "{oak" and found.warnings


# -- PDFs --


def test_the_text_of_a_pdf_is_read_page_by_page_and_kept(
    make_vault: MakeVault, make_state: MakeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make_vault({"a.pdf": pdf("Oak floor", "", "Two coats")})
    state = make_state(active="a.pdf")
    found = read(vault, "a.pdf", state)
    assert isinstance(found, Note), found
    assert (found.text, found.pages) == ("[page 1]\n\nOak floor\n\n[page 3]\n\nTwo coats\n\n", 3)
    monkeypatch.setattr(subprocess, "run", pytest.fail)
    assert read(vault, "a.pdf", state) == found


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"%PDF-1.4 broken", "cannot be read"), (b"no PDF", "cannot be read"), (pdf("", ""), "2 pages hold no text")],
)
def test_a_pdf_without_text_is_known_by_name_and_size(
    content: bytes, said: str, make_vault: MakeVault, make_state: MakeState
) -> None:
    found = read(make_vault({"a.pdf": content}), "a.pdf", make_state(active="a.pdf"))
    assert isinstance(found, NoteFailure)
    assert (found.code, found.size) == ("BINARY_FILE", len(content)) and said in found.message


def test_without_the_package_the_user_is_told_what_to_install(
    make_vault: MakeVault, make_state: MakeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_texts, "find_spec", lambda _name: None)
    found = read(make_vault({"a.pdf": pdf("Oak")}), "a.pdf", make_state(active="a.pdf"))
    assert isinstance(found, NoteFailure) and "workspaced[pdf]" in found.message


def test_the_picture_in_a_withheld_canvas_is_withheld(make_vault: MakeVault, make_state: MakeState) -> None:
    canvas = '{"nodes": [{"id": "1", "type": "group", "label": "Oak", "background": "x/a.png"}]}'
    contents = {"secret/b.canvas": canvas, ".workspacedignore": "secret/\n", "x/a.png": images.png()}
    vault = make_vault(contents)
    assert code(vault, "x/a.png", make_state(active="x/a.png")) == "NOTE_NOT_FOUND"
