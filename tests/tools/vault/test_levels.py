"""A note's level: by rules, settings and front matter, the strictest counts; and what each audience is shown,
at no more cost than that of a note that is not there."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import images
from support.profiles import examples
from support.requested_vault import RequestedVault
from support.tool_fixtures import MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import SETTLE_S
from workspaced_tools.notes.note import Level, Note
from workspaced_tools.ports import questions as q
from workspaced_tools.ports.asking import Audience
from workspaced_tools.ports.vault import NoteImage, SearchQuery
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE, Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.index.crawl import Bounds
from workspaced_tools.vault.vault import Vault

NEVER, ON_REQUEST, VOLUNTEER = Level
FLAG = "---\nworkspaced: on-request\n---\n"
HERE, BY_WORKERS = Bounds(notes=1_000, stale=1_000), Bounds(notes=0, stale=0)


# -- rules --


def policy(folder: Path, rules: str = "", deny: Sequence[str] = (), on_request: Sequence[str] = ()) -> Policy:
    (folder / IGNORE_FILE).write_text(rules)
    return Policy(VaultRoot(folder), deny, on_request, clock_ns=later_ns)


def test_a_section_gives_its_level_and_the_strictest_source_counts(tmp_path: Path) -> None:
    rules = policy(tmp_path, "a.md\n#: on-request\nb.md\nd/*\n#:never\nc.md\n#: volunteer\nd/e.md\n# text\nf.md\n")
    assert rules.problem is None
    assert [rules.level(f"{name}.md") for name in "abcf"] == [NEVER, ON_REQUEST, NEVER, VOLUNTEER]
    assert (rules.level("d/x.md"), rules.level("d/e.md")) == (ON_REQUEST, VOLUNTEER)
    rules = policy(tmp_path, "#: on-request\na.md\n#: volunteer\nb.md\nc.md\n", ["b.md"], ["c.md", "!d.md"])
    assert [rules.level(f"{name}.md") for name in "abcd"] == [ON_REQUEST, NEVER, ON_REQUEST, VOLUNTEER]


@pytest.mark.parametrize(
    ("text", "line"),
    [("a.md\n#: private\n", 2), ("#:\n", 1), ("#: on-request # x\n", 1), ("#: volunteer\n!a\n", 2)],
)
def test_a_section_that_is_no_level_withholds_everything(tmp_path: Path, text: str, line: int) -> None:
    rules = policy(tmp_path, text)
    assert rules.level("any.md") is NEVER
    assert rules.problem is not None and f"line {line}:" in rules.problem


LINES = st.sampled_from(
    [
        *["a.md", "!a.md", "d/", "!d/", "d/*", "!d/a.md", "d/a.md", "*.md", "!*.md", "*", "!*/", "**/a.md"],
        *["# text", ""],
    ]
)
SECTIONS = st.sampled_from(["#: never", "#: on-request", "#: volunteer"])
PATHS = ("a.md", "b.md", "d/a.md", "d/b.md", "d/e/a.md")


@given(st.lists(st.one_of(LINES, SECTIONS), max_size=8))
@settings(max_examples=examples(300))
def test_a_program_that_knows_no_sections_shows_nothing_that_this_one_does_not(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rules = policy(Path(folder), "\n".join(lines))
        older = policy(Path(folder), "\n".join(f"# {each}" if each.startswith("#:") else each for each in lines))
        for path in PATHS:
            assert older.level(path) is NEVER or rules.level(path) in (VOLUNTEER, NEVER)


# -- what the audiences are shown --


class Folder:
    """A vault's folder with both ways to look at it, and a clock of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_s = 1_000.0
        self.vault = self.open()

    def open(self, **options: Any) -> Vault:
        self.vault = Vault(
            self.path / "vault",
            cache_dir=self.path / "cache",
            clock_ns=later_ns,
            clock_s=lambda: self.now_s,
            **options,
        )
        self.asked = RequestedVault(self.vault)
        return self.vault

    def write(self, **notes: str) -> None:
        images.write(self.path / "vault", {f"{name.replace('__', '/')}.md": text for name, text in notes.items()})

    def rules(self, text: str) -> None:
        (self.path / "vault" / IGNORE_FILE).write_text(text)
        self.vault.policy.refresh()
        self.vault.reconcile()

    def settle(self) -> None:
        self.vault.reconcile()
        self.now_s += 2 * SETTLE_S
        self.vault.settle()
        self.vault.reconcile()

    def levels(self, *names: str) -> list[Level]:
        found = []
        for name in names:
            note = NoteId(f"{name}.md")
            shown, asked = (
                isinstance(self.vault.notes.read([note], Audience(least))[0], Note)
                for least in (VOLUNTEER, ON_REQUEST)
            )
            assert asked or not shown
            found.append(VOLUNTEER if shown else ON_REQUEST if asked else NEVER)
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "vault").mkdir()
    made = Folder(tmp_path)
    yield made
    made.vault.close()


def named(vault: Any, reference: str) -> str | None:
    found = vault.ask(q.Resolve(reference), EMPTY_VAULT)
    assert not found.candidates and not found.near
    return found.note.id if found.note is not None else None


def hits(vault: Any, words: str) -> tuple[list[str], int]:
    found = vault.ask(q.Search(SearchQuery(words, 10)), EMPTY_VAULT)
    return sorted(hit.note.id for hit in found.hits), found.total


@pytest.mark.parametrize("inline", [HERE, BY_WORKERS], ids=["here", "by workers"])
@pytest.mark.parametrize("by", ["flag", "rule", "setting"])
def test_a_note_on_request_is_found_only_by_who_asks(folder: Folder, by: str, inline: Bounds) -> None:
    folder.vault.close()
    flag = FLAG if by == "flag" else ""
    folder.write(a="# A\n\n[[Bee]] zebra", b=f"{flag}# Bee\n\n[[a]] zebra quagga #t", c="# C\n\n#t")
    if by == "rule":
        (folder.path / "vault" / IGNORE_FILE).write_text("#: on-request\n/b.md\n")
    vault = folder.open(on_request=["/b.md"] if by == "setting" else (), inline=inline)
    vault.reconcile()
    for reference in ("b", "b.md", "Bee", "[[bee]]"):
        assert (named(vault, reference), named(folder.asked, reference)) == (None, "b.md")
    assert hits(vault, "zebra") == (["a.md"], 1) and hits(vault, "quagga") == ([], 0)
    assert hits(folder.asked, "zebra") == (["a.md", "b.md"], 2) and hits(folder.asked, "quagga") == (["b.md"], 1)
    assert folder.levels("a", "b", "c") == [VOLUNTEER, ON_REQUEST, VOLUNTEER]
    assert vault.index.count() == 2 and vault.searches.overview(9).tags == (("t", 1),)
    vault.close()
    again = folder.open(on_request=["/b.md"] if by == "setting" else (), inline=inline)
    again.reconcile()  # what was kept serves as well
    assert named(folder.asked, "Bee") == "b.md" and hits(folder.asked, "quagga") == (["b.md"], 1)
    assert folder.levels("b") == [ON_REQUEST]


def test_in_what_is_said_of_other_notes_it_does_not_exist(folder: Folder) -> None:
    folder.write(
        a="# A\n\n[[b]] [[c]]", b=f"{FLAG}# B\n\n[[a]] [[b]] [[c]] [[d]]", c=f"{FLAG}# C\n\n[[b]]", d="[[b]]"
    )
    folder.vault.reconcile()
    links = list("abcd")

    def targets(source: str) -> list[str | None]:
        found = folder.asked.ask(q.LinkTargets(NoteId(source), links), EMPTY_VAULT)
        return [each.note.id if each.note is not None else None for each in found]

    def sources(note: str) -> list[str]:
        return [each.source.id for each in folder.asked.ask(q.Incoming(NoteId(note), 9), EMPTY_VAULT).links]

    assert targets("a.md") == ["a.md", None, None, "d.md"]
    assert targets("b.md") == ["a.md", "b.md", None, "d.md"], "its links to itself lead somewhere"
    assert (sources("a.md"), sources("b.md"), sources("c.md")) == ([], ["a.md", "d.md"], ["a.md"])


def test_a_name_that_means_other_notes_means_these_still(folder: Folder) -> None:
    folder.write(Plan=FLAG, x__Plan="# One", y__Plan="# Two", z__Only=f"{FLAG}# Only", Onlx="# Onlx", v__Pair=FLAG)
    folder.write(w__Pair=FLAG)
    folder.vault.reconcile()
    found = folder.asked.ask(q.Resolve("plan"), EMPTY_VAULT)
    assert [each.id for each in found.candidates] == ["x/Plan.md", "y/Plan.md"]
    exact = folder.asked.ask(q.Resolve("Plan.md"), EMPTY_VAULT)
    assert exact.note is not None and exact.note.id == "Plan.md", "a path names one note"
    missing = folder.asked.ask(q.Resolve("Onli"), EMPTY_VAULT)
    assert "Onlx.md" in [each.id for each in missing.near] and not any("Only" in each.id for each in missing.near)
    two = folder.asked.ask(q.ResolveFrom("[[Only]]", "z/Only.md"), EMPTY_VAULT)
    assert two.note is not None and two.note.id == "z/Only.md", "a reference may stand in it"
    pair = folder.asked.ask(q.Resolve("Pair"), EMPTY_VAULT)
    assert (pair.note, pair.candidates) == (None, ())


def test_an_image_that_it_embeds_is_shown_with_it_alone(folder: Folder) -> None:
    folder.write(
        a="![[p.png]]", b=f"{FLAG}![[p.png]]", c="---\nworkspaced: private\n---\n![[q.png]]", d=f"{FLAG}![[q.png]]"
    )
    images.write(folder.path / "vault", {"p.png": images.png(3, 3), "q.png": images.png(4, 4)})
    folder.vault.reconcile()

    def shown(note: str) -> list[bool]:
        found = folder.asked.ask(q.Images(NoteId(note)), EMPTY_VAULT)
        return [isinstance(each, NoteImage) for each in found.images]

    assert (shown("a.md"), shown("b.md"), shown("d.md")) == ([False], [True], [False])


@pytest.mark.fault(row=67)
def test_a_looser_level_counts_once_the_file_has_settled_and_a_stricter_one_at_once(folder: Folder) -> None:
    flags = {NEVER: "---\nworkspaced: private\n---\n", ON_REQUEST: FLAG, VOLUNTEER: "---\ntitle: x\n---\n"}
    folder.write(n=flags[VOLUNTEER])
    folder.vault.reconcile()
    for before in Level:
        for after in Level:
            folder.write(n=flags[before])
            folder.settle()
            assert folder.levels("n") == [before]
            folder.write(n=flags[after] + "more")
            assert folder.levels("n") == [min(before, after)]
            folder.settle()
            assert folder.levels("n") == [after]
            assert (named(folder.asked, "n") is None) is (after is NEVER)


@pytest.mark.fault(row=67)
def test_rules_that_loosen_wait_and_rules_saved_in_parts_loosen_nothing(folder: Folder) -> None:
    folder.write(a="# A", b="# B")
    folder.rules("a.md\n#: on-request\nb.md\n")
    folder.settle()
    assert folder.levels("a", "b") == [NEVER, ON_REQUEST]
    for part in ("", "a.md\n", "a.md\n#: on-req", "#: on-request\na.md\nb.md\n"):
        folder.rules(part)
        assert max(folder.levels("a", "b")) < VOLUNTEER and folder.levels("a") == [NEVER]
    folder.settle()
    assert folder.levels("a", "b") == [ON_REQUEST, ON_REQUEST]


def test_a_lost_index_of_them_costs_a_reading_and_no_answer(folder: Folder) -> None:
    folder.write(b=f"{FLAG}# Bee\n\nzebra", a="zebra")
    folder.vault.reconcile()
    for which in (0, 1):
        folder.vault.close()
        sealed = sorted((folder.path / "cache").glob("*.sqlite"))
        assert len(sealed) == 2
        sealed[which].unlink()
        folder.open().reconcile()
        assert (named(folder.vault, "Bee"), named(folder.asked, "Bee")) == (None, "b.md")
        assert hits(folder.asked, "zebra") == (["a.md", "b.md"], 2) and hits(folder.vault, "zebra") == (
            ["a.md"],
            1,
        )


# -- any levels, by any sources --

NAMES = ("a", "b", "d/a", "d/c", "e/Plan")
STRICT: tuple[Callable[[], q.Question[Any]], ...] = (
    *(lambda name=name: q.Resolve(name) for name in ("a", "A title", "Plan", "Tag", "c", "d/a.md", "shared")),  # type: ignore[misc]
    *(lambda word=word: q.Search(SearchQuery(word, 20)) for word in ("zebra", "quagga", "title", "tag:x")),  # type: ignore[misc]
    *(lambda note=note: q.Incoming(NoteId(f"{note}.md"), 20) for note in NAMES),  # type: ignore[misc]
    *(lambda note=note: q.Similar(NoteId(f"{note}.md"), 20) for note in NAMES),  # type: ignore[misc]
    *(lambda note=note: q.SharingTags(NoteId(f"{note}.md"), 20) for note in NAMES),  # type: ignore[misc]
    lambda: q.LinkTargets(NoteId("home.md"), [*NAMES, "Plan", "shared"]),
    lambda: q.Incoming(NoteId("home.md"), 20),
    lambda: q.Names([NoteId(f"{note}.md") for note in NAMES]),
    *(lambda word=word: q.NamesLike(word, 20) for word in ("", "a", "title", "pl", "shared", "d/")),  # type: ignore[misc]
    lambda: q.Members("", None, 20),
    lambda: q.Members("d", None, 20),
    lambda: q.Members(None, "x", 20),
    lambda: q.Overview(20),
    q.NoteCount,
)


def text_of(name: str, flag: Level) -> str:
    head = {NEVER: "workspaced: private\n", ON_REQUEST: "workspaced: on-request\n", VOLUNTEER: ""}[flag]
    return (
        f"---\n{head}aliases: [shared]\ntags: [x, t{name[-1]}]\n---\n# {name[-1].upper()} title\n\n"
        f"zebra quagga [[a]] [[Plan]] [[home]] [[d/c]] {name} words that these notes share, and more words\n"
    )


@pytest.mark.fault(row=67)
@settings(max_examples=examples(60))
@given(
    st.lists(st.sampled_from(Level), min_size=len(NAMES), max_size=len(NAMES)),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(Level)), max_size=4),
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.lists(st.sampled_from(NAMES), max_size=2),
)
def test_what_is_pushed_is_that_of_a_vault_without_all_other_notes(
    flags: list[Level], ruled: list[tuple[str, Level]], deny: list[str], on_request: list[str]
) -> None:
    last = dict(ruled)
    expected = {
        name: min(
            flag,
            last.get(name, VOLUNTEER),
            NEVER if name in deny else VOLUNTEER,
            ON_REQUEST if name in on_request else VOLUNTEER,
        )
        for name, flag in zip(NAMES, flags, strict=True)
    }
    rules = "\n".join(f"#: {level.word}\n/{name}.md" for name, level in ruled)
    with tempfile.TemporaryDirectory() as place:
        one, other = Path(place) / "one", Path(place) / "other"
        for root in (one, other):
            root.mkdir()
            for name, flag in zip(NAMES, flags, strict=True):
                if root is one or expected[name] is VOLUNTEER:
                    (root / f"{name}.md").parent.mkdir(exist_ok=True)
                    (root / f"{name}.md").write_text(text_of(name, flag))
                    os.utime(root / f"{name}.md", ns=(1, 1_700_000_000_000_000_000))
            (root / "home.md").write_text(
                "# Home\n\n[[a]] [[b]] [[Plan]] [[shared]] zebra words that these notes share"
            )
            os.utime(root / "home.md", ns=(1, 1_700_000_000_000_000_000))
        (one / IGNORE_FILE).write_text(rules)
        globs = {"deny": [f"/{name}.md" for name in deny], "on_request": [f"/{name}.md" for name in on_request]}
        vaults = [Vault(one, **globs, clock_ns=later_ns), Vault(other, clock_ns=later_ns)]  # type: ignore[arg-type]
        for vault in vaults:
            vault.reconcile()
        shown, bare = vaults
        for question in STRICT:
            assert shown.ask(question(), EMPTY_VAULT) == bare.ask(question(), EMPTY_VAULT), question()
        asked = RequestedVault(shown)
        notes = [NoteId(f"{name}.md") for name in NAMES]
        read = [isinstance(each, Note) for each in asked.ask(q.Read(notes), EMPTY_VAULT)]
        assert read == [expected[name] is not NEVER for name in NAMES]
        found = {hit.note.id for hit in asked.ask(q.Search(SearchQuery("quagga", 20)), EMPTY_VAULT).hits}
        assert found == {f"{name}.md" for name in NAMES if expected[name] is not NEVER}
        for vault in vaults:
            vault.close()


@pytest.mark.fault(row=67)
def test_moves_between_folders_of_all_levels(folder: Folder) -> None:
    folder.write(open__n="# N")
    folder.rules("never/\n#: on-request\nasked/\n")
    folder.settle()
    places = {"open": VOLUNTEER, "asked": ON_REQUEST, "never": NEVER}
    at = "open"
    for to in ("asked", "open", "never", "asked", "never", "open"):
        (folder.path / "vault" / to).mkdir(exist_ok=True)
        os.rename(folder.path / "vault" / at / "n.md", folder.path / "vault" / to / "n.md")
        folder.vault.reconcile()
        folder.settle()
        assert folder.levels(f"{at}/n", f"{to}/n") == [NEVER, places[to]]
        assert named(folder.vault, "n") == (f"{to}/n.md" if to == "open" else None)
        assert named(folder.asked, "n") == (f"{to}/n.md" if to != "never" else None)
        at = to


LARGE = "words " * 700_000
HEAD_BYTES_MAX = 64 * 1024
PRIVATE = f"---\nworkspaced: private\n---\n{LARGE}"
NOTES = {"open.md": "# Open\n", "keep/denied.md": LARGE, "private.md": PRIVATE, IGNORE_FILE: "keep/\n"}


class Reads:
    """Counts what is opened and read of notes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.bytes = 0
        opening, reading = os.open, os.read

        def opened(path: Any, *rest: Any, **named: Any) -> int:
            if isinstance(path, str) and path.endswith(".md"):
                self.opened.append(path)
            return opening(path, *rest, **named)

        def read(descriptor: int, size: int) -> bytes:
            data = reading(descriptor, size)
            self.bytes += len(data)
            return data

        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(os, "read", read)


@pytest.mark.fault(row=63)
@pytest.mark.parametrize("indexed", [True, False])
def test_a_denied_note_is_not_opened_and_of_a_private_one_a_bounded_head_is_read(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    vault = make_vault(NOTES, indexed=indexed)
    reads = Reads(monkeypatch)
    [denied] = vault.notes.read([NoteId("keep/denied.md")])
    assert (denied.code, reads.opened) == ("NOTE_NOT_FOUND", [])
    for _ in range(3):
        reads.bytes = 0
        [private] = vault.notes.read([NoteId("private.md")])
        assert private.code == "NOTE_NOT_FOUND"
        assert reads.bytes <= HEAD_BYTES_MAX
