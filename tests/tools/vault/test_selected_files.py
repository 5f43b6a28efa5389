"""Which files that are no Markdown are notes, in every way to ask: by path, by a walk, from the index."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git
from support.images import write
from support.patience import is_indexed
from support.profiles import examples
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_tools.errors import BinaryFile, FileTooLarge, NoteNotFound, ToolError
from workspaced_tools.limits import NOTE_BYTES_MAX
from workspaced_tools.notes.formats.kinds import is_image_name
from workspaced_tools.notes.note import Note, NoteFailure
from workspaced_tools.ports.questions import Members, Names, Read, Resolve, ResolveFrom, Search
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.files.selected_files import FileChoice, SelectedFiles
from workspaced_tools.vault.files.walk import ScannedFile, scan

STATE = VaultState()


def walked(folder: Path, *globs: str, gitignore: bool = True) -> set[str]:
    """The notes of a walk. They and the other files that it finds must be those that can be opened by path."""
    root = VaultRoot(folder, SelectedFiles(FileChoice(globs, gitignore)))
    others: list[ScannedFile] = []
    found = {note.id for note in scan(root, others=others)}
    every = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    openable = {path for path in every if opens(root, path)}
    assert openable >= found
    listed = {path for path in openable - found if path.rpartition("/")[2].count(".")}
    assert {path for path in listed if not is_image_name(path)} == {
        each.path for each in others if not is_image_name(each.path)
    }
    root.close()
    return {str(note) for note in found}


def opens(root: VaultRoot, path: str) -> bool:
    try:
        os.close(root.open_note(NoteId(path)))
    except ToolError as error:
        assert error.code == NoteNotFound.code
        return False
    return True


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        ((), set()),
        (("src/**",), {"src/a.py", "src/gen/b.py", "src/gen/deep/c.py"}),
        (("src",), {"src/a.py", "src/gen/b.py", "src/gen/deep/c.py"}),
        (("*.py",), {"src/a.py", "src/gen/b.py", "src/gen/deep/c.py", "top.py"}),
        (("/*.py",), {"top.py"}),
        (("src/**", "!src/gen/**"), {"src/a.py"}),
        (("*", "!*.py"), {"Makefile"}),
        (("**",), {"src/a.py", "src/gen/b.py", "src/gen/deep/c.py", "top.py", "Makefile"}),
    ],
)
def test_globs_name_files_as_gitignore_does(tmp_path: Path, globs: tuple[str, ...], expected: set[str]) -> None:
    files = ("src/a.py", "src/gen/b.py", "src/gen/deep/c.py", "top.py", "Makefile", "src/.env", ".github/x.yml")
    write(tmp_path, {**dict.fromkeys(files, "x"), "note.md": "# Note\n", "src/a.png": b"\x89PNG"})
    assert walked(tmp_path, *globs) == {*expected, "note.md"}


# -- .gitignore --


TREE = ("a.py", "b.log", "src/a.py", "src/b.log", "src/gen/a.py", "src/gen/keep.log", "src/gen/x/a.py", "out/a.py")
LINES = (
    *["*.log", "!keep.log", "src/gen/", "!src/gen/", "/a.py", "a.py", "gen", "/src/*", "!/src/a.py", "**/x"],
    *["out/**", "src/**/a.py", "# a.py", "", "!*.log", "*", "!*/", "\\!a.py", "x/", "gen/*.log", "a.?y"],
    *["[ab].py", "/out"],
)


@pytest.mark.fault(row=72)
@settings(max_examples=examples(60))
@given(
    st.dictionaries(
        st.sampled_from(["", "src/", "src/gen/"]), st.lists(st.sampled_from(LINES), max_size=5), max_size=3
    )
)
def test_gitignore_files_leave_out_what_git_leaves_out(tmp_path: Path, rules: dict[str, list[str]]) -> None:
    folder = git.repository(tmp_path / str(time.monotonic_ns()))
    write(folder, dict.fromkeys(TREE, "x"))
    write(folder, {f"{prefix}.gitignore": "\n".join(lines) + "\n" for prefix, lines in rules.items()})
    theirs = {path for path in git.untracked(folder) if not path.endswith(".gitignore")}
    assert walked(folder, "**") == theirs


def test_gitignore_never_leaves_out_markdown_and_can_be_switched_off(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*\n", "a.md": "", "a.py": "", "src/.gitignore": "*.py\n", "src/b.py": ""})
    assert walked(tmp_path, "**") == {"a.md"}
    assert walked(tmp_path, "**", gitignore=False) == {"a.md", "a.py", "src/b.py"}
    (tmp_path / ".gitignore").write_text("[a.py\n*.log\n")
    assert walked(tmp_path, "**") == {"a.md", "a.py"}, "a line that no glob is counts as none"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("classA.py", "class[[:upper:]].py\n"),
        ("key2.py", f"key[2{'x' * 1100}].py\n"),
        ("aXbXcXdXeXfXgXhXiXj.py", "a*[X]b*[X]c*[X]d*[X]e*[X]f*[X]g*[X]h*[X]i*[X]j.py\n"),
        ("key3.py", "key3.py\nx\u2028!key3.py\n"),
        ("key4.py", "key4*\n#\x85!key4.py\n"),
        ("large.py", "#" * 300_000),
    ],
    ids=["a class", "a long line", "many stars", "a line separator", "a next line", "too large"],
)
def test_a_line_that_only_git_understands_leaves_out_more(tmp_path: Path, name: str, rules: str) -> None:
    write(tmp_path, {f"src/{name}": "x"})
    assert walked(tmp_path, "src/**") == {f"src/{name}"}
    write(tmp_path, {"src/.gitignore": rules})
    assert walked(tmp_path, "src/**") == set()


def test_a_changed_gitignore_file_counts_at_the_next_read(make_vault: MakeVault) -> None:
    vault = make_vault({"src/a.py": "x = 1\n"}, files=FileChoice(("src/**",)))
    note = NoteId("src/a.py")
    assert isinstance(vault.notes.read([note])[0], Note)
    write(vault.root.path, {".gitignore": "a.py\n"})
    [found] = vault.notes.read([note])
    assert isinstance(found, NoteFailure) and found.code == NoteNotFound.code
    vault.reconcile()
    assert vault.ask(Members("src", None, 9), STATE).total == 0


# -- what is found and read --


def test_code_is_found_by_name_by_path_and_by_word(make_vault: MakeVault) -> None:
    vault = make_vault(
        {"src/main.py": "needle = 1\n", "docs/Main.md": "# Main\n\nneedle\n"}, files=FileChoice(("src/**",))
    )
    assert is_indexed(vault)
    for reference in ("src/main.py", "main.py", "MAIN.PY"):
        found = vault.ask(Resolve(reference), STATE).note
        assert found is not None and found.id == "src/main.py", reference
    main = vault.ask(Resolve("main"), STATE).note
    assert main is not None and main.id == "docs/Main.md"
    hits = vault.ask(Search(SearchQuery("needle", 9)), STATE).hits
    assert {hit.note.id: hit.line for hit in hits} == {"src/main.py": 1, "docs/Main.md": 3}


def test_code_has_no_links_but_links_lead_to_it(make_vault: MakeVault) -> None:
    contents = {"a.lua": "x = [[b]] -- #tag ![[p.png]]\n", "b.md": "# B\n\n[[a.lua]] [[Makefile]] [x](a.lua)\n"}
    vault = make_vault({**contents, "Makefile": "all:\n"}, files=FileChoice(("*",)))
    code, note = (vault.notes.read([NoteId(name)])[0] for name in ("a.lua", "b.md"))
    assert isinstance(code, Note) and isinstance(note, Note)
    assert (code.markdown.links, code.markdown.headings, code.tags, code.images) == ((), (), (), ())
    assert vault.links.incoming(NoteId("b.md"), 9, STATE).total == 0
    assert vault.links.incoming(NoteId("a.lua"), 9, STATE).total == 2
    assert vault.links.incoming(NoteId("Makefile"), 9, STATE).total == 1
    followed = vault.ask(ResolveFrom("Makefile", "b.md"), STATE).note
    assert followed is not None and followed.id == "Makefile"


@pytest.mark.fault(row=72)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\x7fELF\0\0\1", BinaryFile.code),
        (b"caf\xe9\n", BinaryFile.code),
        (b"\xff\xfea\0b\0", BinaryFile.code),
        (b"x" * (NOTE_BYTES_MAX + 1), FileTooLarge.code),
        (b"x" * 9_000 + b"\0", None),
        (b"\xef\xbb\xbftext\n", None),
        (b"", None),
    ],
    ids=["elf", "latin-1", "utf-16", "large", "late-nul", "bom", "empty"],
)
def test_what_is_no_text_is_named_and_not_read(make_vault: MakeVault, content: bytes, code: str | None) -> None:
    vault = make_vault({"src/x.bin": content}, files=FileChoice(("src/**",)))
    note = NoteId("src/x.bin")
    [found] = vault.ask(Read([note]), STATE)
    assert (found.code if isinstance(found, NoteFailure) else None) == code
    [ref] = vault.ask(Names([note]), STATE)
    assert ref is not None and ref.title == "x.bin"
    named = vault.ask(Resolve("x.bin"), STATE).note
    assert named is not None and named.id == note
    assert [each.id for each in vault.ask(Members("src", None, 9), STATE).notes] == [note]
    assert not vault.withholds(note)


@pytest.mark.fault(row=72)
def test_a_large_file_costs_neither_memory_nor_the_reading_of_it(make_vault: MakeVault) -> None:
    vault = make_vault({}, files=FileChoice(("*.bin",)))
    with (vault.root.path / "huge.bin").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    [found] = vault.notes.read([NoteId("huge.bin")])
    assert isinstance(found, Note) and found.unread == "large" and found.source == b""
