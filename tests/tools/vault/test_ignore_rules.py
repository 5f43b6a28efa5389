"""`Policy`: which notes are withheld, by rules and by themselves; what cannot be understood withholds all."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.growth import costs_less_than
from support.profiles import examples

from workspaced_events.ids import NoteId
from workspaced_tools.limits import SETTLE_EMPTY_S, SETTLE_S
from workspaced_tools.notes.note import Level, Note, StatKey
from workspaced_tools.notes.privacy_flag import HEAD_BYTES, level_of, level_of_head, not_understood
from workspaced_tools.vault.files import glob_rules as module
from workspaced_tools.vault.files.glob_rules import RULE_CHARS_MAX, RuleInvalid, compile_rules
from workspaced_tools.vault.files.ignore_rules import IGNORE_BYTES_MAX, IGNORE_FILE, RULES_MAX, Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.files.stored_rules import RulesStore, StoredRules

LONG_AGO_NS = 1_700_000_000_000_000_000
LATER_NS = 10_000_000_000
PATHS = (
    "open.md",
    "private/plan.md",
    "work/private/plan.md",
    "work/plan.md",
    "work/deep/er/plan.md",
    "плани/й.md",
)


class Folder:
    """A vault's folder with a policy over it."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self.file = path / IGNORE_FILE
        self.root = VaultRoot(path)
        self.now_s = 1_000.0
        """Our own clock."""

    def policy(self, *deny: str, **options: object) -> Policy:
        # Files just written count as certain: the clock runs ahead of theirs.
        clocks = {"clock_ns": lambda: time.time_ns() + LATER_NS, "clock_s": lambda: self.now_s}
        return Policy(self.root, deny, **{**clocks, **options})  # type: ignore[arg-type]

    def settle(self, policy: Policy) -> bool:
        """Looks again after as long as any file takes to settle."""
        policy.refresh()
        self.now_s += SETTLE_EMPTY_S
        return policy.refresh()

    def write(self, content: str | bytes) -> None:
        self.file.write_bytes(content.encode() if isinstance(content, str) else content)

    def withheld(self, content: str, *paths: str, **options: object) -> list[str]:
        self.write(content)
        policy = self.policy(**options)
        assert policy.problem is None
        return [path for path in paths or PATHS if policy.denies(path)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "vault")


def says_private(text: Note) -> bool:
    return level_of(text) is Level.NEVER


def note(text: str | bytes, path: str = "a.md") -> Note:
    source = text if isinstance(text, bytes) else text.encode()
    return Note(NoteId(path), StatKey(1, 1, 1, 1, 1), None, "", source)


# -- rules --


def test_without_rules_nothing_is_withheld(folder: Folder) -> None:
    policy = folder.policy()
    assert policy.problem is None and not any(map(policy.denies, PATHS))


def test_rules_have_gitignores_meaning(folder: Folder) -> None:
    assert folder.withheld("private/\n") == ["private/plan.md", "work/private/plan.md"]
    assert folder.withheld("/private/\n") == ["private/plan.md"]
    assert folder.withheld("# a comment\n\nwork/**/plan.md\r\n") == [
        "work/private/plan.md",
        "work/plan.md",
        "work/deep/er/plan.md",
    ]
    assert folder.withheld("*\n!/open.md\n") == [path for path in PATHS if path != "open.md"]
    assert folder.withheld("*\n!*/\n!plan.md") == ["open.md", "плани/й.md"]
    assert folder.withheld("\ufeffopen.md   \n") == ["open.md"]
    assert folder.withheld("# one\ropen.md\r\r# two\rprivate/") == [
        "open.md",
        "private/plan.md",
        "work/private/plan.md",
    ]
    assert folder.withheld("Icon[\r]\nopen.md\n", "Icon\r", "Icon", "open.md") == ["Icon\r", "open.md"]
    assert folder.withheld("open.md\r\n\r\n/private/\rx\n") == ["open.md", "private/plan.md"]
    assert folder.withheld("\\!odd.md\n\\#odd.md", "!odd.md", "#odd.md", "odd.md") == ["!odd.md", "#odd.md"]


def test_what_lies_in_a_denied_folder_cannot_be_brought_back(folder: Folder) -> None:
    assert folder.withheld("private/\n!private/plan.md\n") == ["private/plan.md", "work/private/plan.md"]
    assert folder.withheld("private/*\n!private/plan.md\n") == []


def test_the_files_rules_come_after_the_settings(folder: Folder) -> None:
    folder.write("!open.md\nwork/\n")
    policy = folder.policy("*.md", "!private/**")
    assert [path for path in PATHS if not policy.denies(path)] == ["open.md", "private/plan.md"]


def test_rules_are_compared_in_nfc_and_with_case(folder: Folder) -> None:
    assert folder.withheld("плани/и\u0306.md\n") == ["плани/й.md"]
    assert folder.withheld("PRIVATE/\nOpen.md\n") == []
    assert folder.withheld("PRIVATE/\nOpen.md\n", ignore_case=True) == [
        "open.md",
        "private/plan.md",
        "work/private/plan.md",
    ]
    assert folder.withheld("й.md", "и\u0306.md") == ["и\u0306.md"]


def test_a_name_may_hold_a_newline(folder: Folder) -> None:
    assert folder.withheld("secret/", "a\nb/secret/c.md") == ["a\nb/secret/c.md"]


def test_many_stars_take_no_longer_than_few() -> None:
    rules = compile_rules(["*a*a*a*a*a*a*a*ab", "**/x/**/y/*b*c*d.md"])

    def match() -> None:
        for rule in rules:
            assert not rule.matches("a" * 250)
            assert not rule.matches("x/y/" * 200 + "bcbcbc")

    assert costs_less_than(1, match)


GIT_RULES = [
    *("private/", "!private/x.md", "*", "!*/", "!*.md", "a/**", "!a/b/", "!a/b/c.md", "/a", "a", "**/c.md", "a/*"),
    *("!a/b", "*.md", "!a", "x*", "!**/c.md", "a/**/c.md", "b/", "!b/", "**/b/", "a/b/**", "?.md", "[a-c].md"),
    *("*c*", "!*c*.md", "**/", "!**/", "*/", "a/*/c.md", "\\!x.md", "# hey", "", "**", "/*", "**/a/**", "a**"),
    *(
        "./x.md",
        "a\\c.md",
        "a\\b",
        "{a,x}.md",
        "x.md # note",
        " x.md",
        '"x.md"',
        "a//c.md",
        "../x.md",
        "x.md/",
        "x",
    ),
    *(
        "a/./c.md",
        "./a/",
        "~/x.md",
        "X.md",
        "a/***/c.md",
        "***",
        "a**/c.md",
        "a[!b]c.md",
        "a/[!c]",
        "x.md   ",
        "a/ ",
    ),
]
GIT_PATHS = [
    *("private/x.md", "private/y.md", "a/b/c.md", "a/c.md", "c.md", "x.md", "b/c.md", "a/b/b/c.md"),
    *("private/a/c.md", "a/x.md", "!x.md", "a/a/a/c.md", "ac.md", "ab", "{a,x}.md", " x.md", "a/bc/d.md"),
]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_itself_ignores_the_same(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True, env=environment)

    @settings(max_examples=examples(60))
    @given(st.lists(st.sampled_from(GIT_RULES), min_size=1, max_size=4))
    @example(["b/", "!**/c.md"])
    @example(["*", "!*/", "!*.md"])
    def ignores_the_same(lines: list[str]) -> None:
        (repository / ".gitignore").write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            ["git", "check-ignore", "--no-index", "--stdin"],
            input="\n".join(GIT_PATHS),
            capture_output=True,
            text=True,
            env=environment,
            cwd=repository,
        )
        rules = module.RuleList([], compile_rules(lines, is_file=True), [], "")
        assert [path for path in GIT_PATHS if rules.level(path) is Level.NEVER] == done.stdout.splitlines()

    ignores_the_same()


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_a_line_holds_it_is_a_rule_or_refused(line: str, path: str) -> None:
    try:
        rules = compile_rules([line], is_file=True)
    except RuleInvalid as error:
        assert error.message and error.details["line"] == 1
        return
    for rule in rules:
        rule.matches(path)


# -- failing closed --

BAD = {
    "not UTF-8": (b"open.md\nsecret\xff.md\n", "line 2: not UTF-8"),
    "an open bracket": (b"# fine\n\n[abc\n", "line 3:"),
    "an empty range": (b"[z-a].md\n", "line 1:"),
    "a class": (b"ok\n[[:alpha:]].md\n", "line 2:"),
    "a wikilink": (b"[[Diary]]\n", "line 1:"),
    "a class that holds a backslash": (b"[\\]x].md\n", "line 1:"),
    "not UTF-8, behind lone CRs": (b"open.md\r\rsecret\xff.md\r", "line 3: not UTF-8"),
    "a last backslash": (b"work\\\n", "line 1:"),
    "a NUL": (b"a\0b\n", "line 1:"),
    "a lone slash": (b"/\n", "line 1:"),
    "a lone exclamation mark": (b"!\n", "line 1:"),
    "folders of folders": (b"a/**/\n", "line 1:"),
    "a long line": (b"a" * (RULE_CHARS_MAX + 1), "line 1:"),
    "too many wildcards": (b"/".join([b"**/a*"] * 9), "line 1:"),
    "too large": (b"#" * (IGNORE_BYTES_MAX + 1), "larger than"),
    "too many rules": (b"a\n" * (RULES_MAX + 1), f"more than {RULES_MAX}"),
}


@pytest.mark.parametrize("what", BAD)
def test_rules_that_cannot_be_understood_withhold_everything_and_say_where(folder: Folder, what: str) -> None:
    content, says = BAD[what]
    folder.write(content)
    policy = folder.policy()
    assert all(map(policy.denies, PATHS))
    assert policy.problem is not None and says in policy.problem and IGNORE_FILE in policy.problem
    assert str(folder.path) not in policy.problem
    assert policy.level("anything.md") is Level.NEVER

    folder.write("open.md\n")
    assert folder.settle(policy)
    assert policy.problem is None and [path for path in PATHS if policy.denies(path)] == ["open.md"]


def _symlink(file: Path) -> None:
    (file.parent / "rules").write_text("open.md\n")
    file.symlink_to("rules")


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "symlink": _symlink,
    "dangling symlink": lambda file: file.symlink_to("/nowhere"),
    "directory": lambda file: file.mkdir(),
    "pipe": os.mkfifo,
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_of_rules_that_is_no_file_withholds_everything(folder: Folder, what: str) -> None:
    UNREADABLE[what](folder.file)
    policy = folder.policy()
    assert all(map(policy.denies, PATHS)) and policy.problem is not None
    assert not policy.refresh() and all(map(policy.denies, PATHS))


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_of_rules_that_may_not_be_read_withholds_everything(folder: Folder) -> None:
    folder.write("open.md")
    folder.file.chmod(0)
    assert all(map(folder.policy().denies, PATHS))


@pytest.mark.parametrize("glob", ["", "# comment", "[abc", "a\nb", "/"])
def test_a_setting_that_is_no_glob_is_refused(folder: Folder, glob: str) -> None:
    with pytest.raises(RuleInvalid) as caught:
        folder.policy("fine.md", glob)
    assert caught.value.details["line"] == 2 and caught.value.code == "INVALID_ARGUMENT"


def test_a_vault_that_was_never_seen_withholds_everything(tmp_path: Path) -> None:
    policy = Policy(VaultRoot(tmp_path / "absent"))
    assert policy.denies("a.md") and policy.problem is not None and str(tmp_path) not in policy.problem
    (tmp_path / "absent").mkdir()
    assert policy.refresh() and not policy.denies("a.md")


def test_a_folder_that_goes_or_is_replaced_by_an_empty_one_keeps_its_rules(folder: Folder) -> None:
    folder.write("private/\n")
    policy = folder.policy()
    away = folder.path.rename(folder.path.with_name("away"))
    assert not policy.refresh() and policy.denies("private/plan.md") and not policy.denies("open.md")
    folder.path.mkdir()  # as an unmounted disk leaves it
    assert not policy.refresh() and policy.denies("private/plan.md")
    folder.path.rmdir()
    away.rename(folder.path)
    assert not policy.refresh() and policy.denies("private/plan.md")
    folder.file.unlink()
    assert folder.settle(policy) and not policy.denies("private/plan.md")


# -- following the file --


def test_an_edit_counts_from_the_next_look(folder: Folder) -> None:
    policy = folder.policy()
    for content in ("open.md", "other.md", "o*.md"):
        folder.write(content)
        before = policy.digest
        assert policy.refresh() and policy.digest != before
        assert policy.denies("open.md" if content != "other.md" else "other.md")


def test_what_is_no_longer_denied_is_shown_once_the_file_has_settled(folder: Folder) -> None:
    folder.write("open.md")
    policy = folder.policy()
    for content, takes_s in (("other.md", SETTLE_S), ("open.md", 0), ("", SETTLE_EMPTY_S), ("open.md", 0)):
        folder.write(content)
        policy.refresh()
        assert policy.denies("open.md"), content
        if not takes_s:
            continue
        due_s = policy.due_s()
        assert due_s == folder.now_s + takes_s
        folder.now_s = due_s - 0.001
        assert not policy.refresh() and policy.denies("open.md"), content
        folder.now_s = due_s
        assert policy.refresh() and not policy.denies("open.md"), content
        assert policy.due_s() is None


def test_what_a_file_denies_only_while_it_is_saved_again_and_again_counts_too(folder: Folder) -> None:
    folder.write("a.md")
    policy = folder.policy()
    for content in ("b.md", "c.md", "", "d.md"):
        folder.write(content)
        policy.refresh()
        folder.now_s += SETTLE_S / 2
    assert all(map(policy.denies, ("a.md", "b.md", "c.md", "d.md"))) and not policy.denies("e.md")
    for number in range(50):
        folder.write(f"n{number}.md")
        policy.refresh()
    assert policy.denies("a.md") and policy.denies("n49.md") and not policy.denies("n0.md"), "bounded"
    assert folder.settle(policy)
    assert [path for path in ("a.md", "d.md", "n48.md", "n49.md") if policy.denies(path)] == ["n49.md"]


def test_who_waits_is_called_when_a_file_has_to_be_looked_at_again(folder: Folder) -> None:
    folder.write("a.md")
    policy = folder.policy()
    calls = []
    policy.on_unsettled = lambda: calls.append(policy.due_s())
    policy.refresh()
    folder.write("")
    policy.refresh()
    assert calls == [folder.now_s + SETTLE_EMPTY_S]
    policy.refresh()
    assert len(calls) == 1


# -- rules that are lost with the notes --


@pytest.fixture
def keeper(tmp_path: Path) -> RulesStore:
    return RulesStore(tmp_path / "data" / "policy" / "brain")


def test_the_rules_last_in_force_are_kept_for_the_next_start(folder: Folder, keeper: RulesStore) -> None:
    folder.write("private/\n")
    policy = folder.policy(keeper=keeper)
    assert keeper.load() is None, "how many notes there are is not known yet"
    policy.counted(10, folder.now_s)
    assert keeper.load() == StoredRules("private/\n", 10)
    policy.counted(11, folder.now_s)
    assert keeper.load() == StoredRules("private/\n", 10), "roughly"
    policy.counted(12, folder.now_s)
    assert keeper.load() == StoredRules("private/\n", 12)
    folder.write("[broken\n")
    policy.refresh()
    policy.counted(12, folder.now_s)
    assert keeper.load() == StoredRules("private/\n", 12), "only what is understood"
    assert (keeper._path.stat().st_mode & 0o777, keeper._path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_vault_without_rules_leaves_no_file(folder: Folder, keeper: RulesStore) -> None:
    folder.policy(keeper=keeper).counted(10, folder.now_s)
    assert keeper.load() is None and not keeper._path.exists()


NOT_KEPT = [b"", b"garbage", b'{"text":1}', b'{"text":"a","notes":1,"version":9}', b"\xff"]


@pytest.mark.parametrize("content", NOT_KEPT)
def test_where_kept_rules_cannot_be_read_a_folder_without_rules_denies_everything_until_that_is_accepted(
    folder: Folder, keeper: RulesStore, content: bytes
) -> None:
    keeper._path.parent.mkdir(parents=True)
    keeper._path.write_bytes(content)
    policy = folder.policy(keeper=keeper)
    policy.counted(10, folder.now_s)
    assert policy.denies("open.md") and policy.problem is not None and "accept-rules" in policy.problem
    assert folder.policy(keeper=keeper).denies("open.md"), "at the next start too"
    policy.accept()
    assert policy.problem is None and not policy.denies("open.md")
    policy.counted(10, folder.now_s)
    assert folder.policy(keeper=keeper).problem is None


@pytest.mark.parametrize("content", NOT_KEPT)
def test_where_kept_rules_cannot_be_read_the_folders_own_count(
    folder: Folder, keeper: RulesStore, content: bytes
) -> None:
    keeper._path.parent.mkdir(parents=True)
    keeper._path.write_bytes(content)
    folder.write("private/\n")
    policy = folder.policy(keeper=keeper)
    assert policy.problem is None
    assert policy.denies("private/plan.md") and not policy.denies("open.md")
    policy.counted(10, folder.now_s)
    assert keeper.load() == StoredRules("private/\n", 10)


@pytest.mark.parametrize("restart", [True, False])
def test_rules_lost_together_with_most_notes_deny_everything(
    folder: Folder, keeper: RulesStore, restart: bool
) -> None:
    folder.write("private/\n")
    policy = folder.policy(keeper=keeper)
    policy.counted(10, folder.now_s)
    folder.file.unlink()
    if restart:
        policy = folder.policy(keeper=keeper)
    policy.refresh()
    folder.settle(policy)
    assert policy.denies("private/plan.md") and not policy.denies("open.md"), "until somebody has counted"
    assert policy.wants_count
    policy.counted(4, folder.now_s)
    assert policy.denies("open.md") and policy.problem is not None and "accept-rules" in policy.problem
    assert not policy.refresh() and policy.denies("open.md")
    assert not policy.wants_count and policy.due_s() is None
    assert keeper.load() == StoredRules("private/\n", 10)


def test_lost_rules_come_back_with_the_file(folder: Folder, keeper: RulesStore) -> None:
    policy = lost(folder, keeper)
    folder.write("private/\n")
    assert policy.refresh() and policy.problem is None
    assert policy.denies("private/plan.md") and not policy.denies("open.md")


def test_lost_rules_are_no_rules_once_the_notes_are_back_without_them(folder: Folder, keeper: RulesStore) -> None:
    policy = lost(folder, keeper)
    policy.counted(5, folder.now_s)
    assert policy.problem is None and not policy.denies("private/plan.md")
    assert keeper.load() == StoredRules("", 5)


def test_lost_rules_are_accepted_as_they_are(folder: Folder, keeper: RulesStore) -> None:
    policy = lost(folder, keeper)
    policy.accept()
    assert policy.problem is None and not policy.denies("private/plan.md")
    policy.counted(0, folder.now_s)
    assert folder.policy(keeper=keeper).problem is None


def test_a_count_that_began_before_the_file_went_tells_nothing(folder: Folder, keeper: RulesStore) -> None:
    folder.write("private/\n")
    policy = folder.policy(keeper=keeper)
    policy.counted(10, folder.now_s)
    begun_s = folder.now_s
    folder.now_s += 1
    folder.file.unlink()
    policy.refresh()
    folder.now_s += SETTLE_EMPTY_S
    policy.counted(10, begun_s)
    assert policy.denies("private/plan.md") and policy.wants_count
    policy.counted(10, folder.now_s)
    assert not policy.denies("private/plan.md"), "it was deleted on purpose"


def lost(folder: Folder, keeper: RulesStore) -> Policy:
    """A policy that denies everything."""
    folder.write("private/\n")
    policy = folder.policy(keeper=keeper)
    policy.counted(10, folder.now_s)
    folder.file.unlink()
    policy.refresh()
    folder.settle(policy)
    policy.counted(0, folder.now_s)
    assert policy.denies("open.md")
    return policy


def test_an_edit_that_keeps_size_and_mtime_counts(folder: Folder) -> None:
    folder.write("open.md")
    os.utime(folder.file, ns=(0, LONG_AGO_NS))
    policy = folder.policy()
    folder.write("shut.md")
    os.utime(folder.file, ns=(0, LONG_AGO_NS))
    assert policy.refresh() and policy.denies("shut.md")
    assert folder.settle(policy) and policy.denies("shut.md") and not policy.denies("open.md")


def test_a_file_too_young_to_be_certain_is_read_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("open.md")
    reads = []
    read = folder.root.read_root_file
    monkeypatch.setattr(folder.root, "read_root_file", lambda *args: (reads.append(1), read(*args))[1])
    now = [folder.file.stat().st_mtime_ns]
    policy = folder.policy(clock_ns=lambda: now[0])
    for _ in range(3):
        assert not policy.refresh()
    assert len(reads) == 4
    now[0] += LATER_NS
    for _ in range(3):
        assert not policy.refresh()
    assert len(reads) == 5, "once it is certain a stat is enough"


def test_equal_rules_have_equal_digests(folder: Folder) -> None:
    folder.write("private/\n")
    policy = folder.policy("x.md")
    assert policy.digest == folder.policy("x.md").digest != folder.policy("y.md").digest
    folder.write("private/\n")
    assert not policy.refresh()


def test_more_paths_than_are_remembered_are_answered_all_the_same(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KNOWN_PATHS_MAX", 3)
    folder.write("private/\n")
    policy = folder.policy()
    for _ in range(3):
        assert [path for path in PATHS if policy.denies(path)] == ["private/plan.md", "work/private/plan.md"]


# -- notes that say it themselves --

SAYS = [
    "workspaced: private",
    "workspaced: PRIVATE",
    "Workspaced:   ' private '",
    '"workspaced": "private"',
    "workspaced: private, for now",
    "workspaced: [draft, Private]",
    "workspaced: {private: true}",
    "workspaced: {private: yes}",
    "workspaced: {private: }",
    "workspaced: {share: none}",
    "workspaced: {share: names}",
    "workspaced:\n  - private",
    "workspaced:\n  Private: true",
    "workspaced: public",
    "workspaced: privat",
    "workspaced: false",
    "workspaced: 0",
    "workspaced: {visibility: private}",
    "workspaced: {visibility: none, private: false}",
    "workspaced: [all, what]",
    "workspaced: privately",
]
SAYS_NOT = [
    "workspaced:",
    "workspaced: true",
    "workspaced: All",
    "workspaced: volunteer",
    "workspaced: []",
    "workspaced: {level: volunteer}",
    "workspaced: {private: false}",
    "workspaced: {private: no}",
    "workspaced: {share: all}",
    "private: true",
    "title: private",
    "tags: [private]",
]


@pytest.mark.parametrize("fields", SAYS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_may_say_private_in_these_ways(fields: str, end: str) -> None:
    assert says_private(note(f"---\n{fields}\n---\ntext\n".replace("\n", end)))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("workspaced: privat", 'workspaced: "privat"'),
        ("a: 1\nWorkspaced: {visibility: none}", 'Workspaced: {"visibility":"none"}'),
        ("workspaced: [private, hush]", 'workspaced: ["private","hush"]'),
        ("a: b: c\nworkspaced: @x", "workspaced: @x"),
        *[
            (fields, None)
            for fields in ("workspaced: private", "workspaced: {private: true}", "workspaced: ' never '")
        ],
        *[
            (fields, None)
            for fields in ("workspaced: {share: names}", "workspaced: on-request", "workspaced:", "x: y")
        ],
        *[(fields, None) for fields in ("workspaced: private for now", "workspaced: all", "a: b: c")],
    ],
)
def test_a_value_that_is_not_understood_is_named(fields: str, named: str | None) -> None:
    assert not_understood(f"---\n{fields}\n---\ntext".encode()) == named
    assert named is None or says_private(note(f"---\n{fields}\n---\ntext"))


@pytest.mark.parametrize("fields", SAYS_NOT)
def test_front_matter_that_says_something_else_is_not_private(fields: str) -> None:
    assert not says_private(note(f"---\n{fields}\n---\nprivate text\n"))


@pytest.mark.parametrize(
    "text",
    [
        "---\nworkspaced: private\ntitle: [unclosed\n---\n",
        "---\n# Private!\n: : :\n---\n",
        "---\nworkspaced: private\n",
        "---\n- workspaced: private\n---\n",
        "---\nworkspaced: private\nworkspaced: private\n---\n",
        f"---\nworkspaced: private\nlong: {'x' * 70_000}\n---\n",
        "---\ntitle: a: b\nworkspaced: @x\n---\n",
        "---\ntitle: a: b\n'WORKSPACED' : [x\n---\n",
    ],
    ids=["a bad value", "no YAML", "never closed", "a list", "a key twice", "too long", "the key alone", "it too"],
)
def test_unreadable_front_matter_with_the_word_is_private(text: str) -> None:
    assert note(text).front_matter.problem is not None
    assert says_private(note(text))


def test_unreadable_front_matter_without_the_word_is_not(folder: Folder) -> None:
    assert not says_private(note("---\ntitle: [unclosed\n---\nThis is private.\n"))


@pytest.mark.parametrize(
    "source",
    [
        b"\n\n---\nworkspaced: private\n---\n",
        b"  \t---\nworkspaced: private\n---\n",
        "\ufffd\ufffd".encode() + "---\nworkspaced: private\n---\n".encode("utf-16-le"),
        b"\xef\xbb\xbf\n---\nworkspaced: private\n---\n",
    ],
    ids=["blank lines", "blanks", "UTF-16 as it is read", "a BOM and a blank line"],
)
def test_front_matter_where_readers_do_not_look_for_it_counts(source: bytes) -> None:
    assert says_private(note(source))


@pytest.mark.parametrize("text", ["", "# private", "\n---\nprivate text below a rule\n", "----\nprivate\n---\n"])
def test_a_text_that_is_no_front_matter_says_nothing(text: str) -> None:
    assert not says_private(note(text))


# -- the head of a file decides --

PADDING = "x" * HEAD_BYTES


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("\u200b---\nworkspaced: private\n---\n", True),
        ("\u00a0---\nworkspaced: private\n---\n", True),
        ("\u2060\n---\nworkspaced: private\n---\n", True),
        ("\ufeff\ufeff---\nworkspaced: private\n---\n", True),
        ("--- # a comment\nworkspaced: private\n---\n", True),
        ("--- !x\nworkspaced: private\n---\n", True),
        ("--- &a\nworkspaced: private\n---\n", True),
        ("\uff0d\uff0d\uff0d\nworkspaced: private\n---\n", True),
        ("---\nworkspaced: !x private\n---\n", True),
        ("---\nworkspaced: !x [open, private]\n---\n", True),
        ("---\nbase: &b\n  workspaced: private\n<<: *b\n---\n", True),
        ("---\n<<: [{a: b}, {workspaced: private}]\n---\n", True),
        ("---\nworkspaced: {<<: {private: true}}\n---\n", True),
        ("---\nworkspaced: \uff50\uff52\uff49\uff56\uff41\uff54\uff45\n---\n", True),
        ("---\nworkspaced: pri\u200bvate\n---\n", True),
        ("---\nwork\u00adspaced: private\n---\n", True),
        ('---\n"work\\u0073paced": "\\x70rivate"\n---\n', True),
        ("---\nworkspaced: on-request\n: [\n---\n", True),
        (f"---\nfill: {PADDING}\nworkspaced: private\n---\n", True),
        (f"---\nfill: {PADDING}\n---\n", True),
        (f"---\n{PADDING}", True),
        ("\n" * 5_000 + "---\nworkspaced: private\n---\n", True),
        (f"\n---\n{PADDING}", False),
        ("--- Title ---\nprivate\n---\n", False),
        ("---\ntitle: A: b\n---\nprivate\n", False),
        ("---\nbase: {workspaced: private}\n---\n", False),
        ("---\nworkspaced: on-request\n---\n", False),
        (f"---\ntitle: x\n---\n{PADDING} private", False),
        (PADDING + "\n---\nworkspaced: private\n---\n", False),
        ("\n" * 2 * HEAD_BYTES, False),
        ("-", False),
        ("", False),
    ],
    ids=lambda value: ascii(value[:40]) if isinstance(value, str) else str(value),
)
def test_the_head_of_a_file_says_whether_it_is_private(text: str, private: bool) -> None:
    content = text.encode()
    assert (level_of_head(content[:HEAD_BYTES], whole=len(content) <= HEAD_BYTES) is Level.NEVER) is private
    assert says_private(note(content)) is private


@given(st.binary(max_size=200), st.sampled_from([b"", b"---\n", b"\xef\xbb\xbf---\n", b"\xff\xfe-\0-\0-\0\n\0"]))
def test_whatever_a_file_holds_it_is_private_or_not(content: bytes, before: bytes) -> None:
    assert level_of_head(before + content, whole=True) in Level
    assert level_of_head(before + content, whole=False) in Level
