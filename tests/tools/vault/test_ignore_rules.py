"""`Policy`: which notes are withheld, by rules and by themselves; what cannot be understood withholds all;
and the rules that name nothing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import git
from support.profiles import examples
from support.tool_fixtures import later_ns

from workspaced_tools.limits import SETTLE_EMPTY_S, SETTLE_S
from workspaced_tools.notes.note import Level
from workspaced_tools.vault.files import glob_rules as module
from workspaced_tools.vault.files.glob_rules import (
    RULE_CHARS_MAX,
    IdleRule,
    RuleInvalid,
    compile_rules,
    idle_rules,
)
from workspaced_tools.vault.files.ignore_rules import (
    IGNORE_BYTES_MAX,
    IGNORE_FILE,
    RULES_MAX,
    Policy,
    RulesStore,
    StoredRules,
)
from workspaced_tools.vault.files.safe_open import VaultRoot

PATHS = (
    *["open.md", "private/plan.md", "work/private/plan.md", "work/plan.md", "work/deep/er/plan.md", "плани/й.md"],
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
        clocks = {"clock_ns": later_ns, "clock_s": lambda: self.now_s}
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


# -- rules --


@pytest.mark.parametrize(
    ("content", "withheld"),
    [
        ("private/\n", "private/plan.md work/private/plan.md"),
        ("/private/\n", "private/plan.md"),
        ("# a comment\n\nwork/**/plan.md\r\n", "work/private/plan.md work/plan.md work/deep/er/plan.md"),
        ("*\n!*/\n!plan.md", "open.md плани/й.md"),
        ("\ufeffopen.md   \n", "open.md"),
        ("# one\ropen.md\r\r# two\rprivate/", "open.md private/plan.md work/private/plan.md"),
        ("private/\n!private/plan.md\n", "private/plan.md work/private/plan.md"),
        ("private/*\n!private/plan.md\n", ""),
        ("плани/и\u0306.md\n", "плани/й.md"),
        ("PRIVATE/\nOpen.md\n", ""),
    ],
)
def test_rules_have_gitignores_meaning(folder: Folder, content: str, withheld: str) -> None:
    assert folder.withheld(content) == withheld.split()


def test_the_files_rules_come_after_the_settings(folder: Folder) -> None:
    folder.write("!open.md\nwork/\n")
    policy = folder.policy("*.md", "!private/**")
    assert [path for path in PATHS if not policy.denies(path)] == ["open.md", "private/plan.md"]


GIT_RULES = [
    *["private/", "!private/x.md", "*", "!*/", "!*.md", "a/**", "!a/b/", "!a/b/c.md", "/a", "a", "**/c.md", "a/*"],
    *["!a/b", "*.md", "!a", "x*", "!**/c.md", "a/**/c.md", "b/", "!b/", "**/b/", "a/b/**", "?.md", "[a-c].md"],
    *["*c*", "!*c*.md", "**/", "!**/", "*/", "a/*/c.md", "\\!x.md", "**", "/*", "**/a/**", "a**", "./x.md"],
    *["a\\c.md", "a\\b", "{a,x}.md", "a//c.md", "../x.md", "x.md/", "x", "a/./c.md", "./a/", "~/x.md", "X.md"],
    *["a/***/c.md", "***", "# hey", "", "x.md # note", " x.md", '"x.md"', "a**/c.md", "a[!b]c.md", "a/[!c]"],
    *["x.md   ", "a/ "],
]
GIT_PATHS = [
    *("private/x.md", "private/y.md", "a/b/c.md", "a/c.md", "c.md", "x.md", "b/c.md", "a/b/b/c.md"),
    *("private/a/c.md", "a/x.md", "!x.md", "a/a/a/c.md", "ac.md", "ab", "{a,x}.md", " x.md", "a/bc/d.md"),
]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_itself_ignores_the_same(tmp_path: Path) -> None:
    repository = git.repository(tmp_path / "repository")

    @settings(max_examples=examples(60))
    @given(st.lists(st.sampled_from(GIT_RULES), min_size=1, max_size=4))
    @example(["b/", "!**/c.md"])
    @example(["*", "!*/", "!*.md"])
    def ignores_the_same(lines: list[str]) -> None:
        (repository / ".gitignore").write_text("\n".join(lines) + "\n")
        rules = module.RuleList([], compile_rules(lines, is_file=True), [], "")
        assert [path for path in GIT_PATHS if rules.level(path) is Level.NEVER] == git.ignored(
            repository, GIT_PATHS
        )

    ignores_the_same()


# -- failing closed --

BAD = {
    "not UTF-8": (b"open.md\r\rsecret\xff.md\r", "line 3: not UTF-8"),
    "an open bracket": (b"# fine\n\n[abc\n", "line 3:"),
    "an empty range": (b"[z-a].md\n", "line 1:"),
    "a class": (b"ok\n[[:alpha:]].md\n", "line 2:"),
    "a wikilink": (b"[[Diary]]\n", "line 1:"),
    "a class that holds a backslash": (b"[\\]x].md\n", "line 1:"),
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


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "symlink": lambda file: file.symlink_to("open.md"),
    "directory": lambda file: file.mkdir(),
    "pipe": os.mkfifo,
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_of_rules_that_is_no_file_withholds_everything(folder: Folder, what: str) -> None:
    (folder.path / "open.md").write_text("open.md\n")
    UNREADABLE[what](folder.file)
    policy = folder.policy()
    assert all(map(policy.denies, PATHS)) and policy.problem is not None
    assert not policy.refresh() and all(map(policy.denies, PATHS))


@pytest.mark.parametrize("setting", ["deny", "on_request"])
@pytest.mark.parametrize("glob", ["", "# comment", "[abc", "a\nb", "/"])
def test_a_setting_that_is_no_glob_is_refused(folder: Folder, setting: str, glob: str) -> None:
    with pytest.raises(RuleInvalid) as caught:
        Policy(folder.root, **{setting: ["fine.md", glob]})
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


NOT_KEPT = [b"", b'{"text":1}', b'{"text":"a","notes":1,"version":9}', b"\xff"]


@pytest.mark.parametrize("content", NOT_KEPT)
def test_without_readable_kept_rules_the_folders_count(folder: Folder, keeper: RulesStore, content: bytes) -> None:
    keeper._path.parent.mkdir(parents=True)
    keeper._path.write_bytes(content)
    policy = folder.policy(keeper=keeper)
    policy.counted(10, folder.now_s)
    assert policy.denies("open.md") and policy.problem is not None and "accept-rules" in policy.problem
    assert folder.policy(keeper=keeper).denies("open.md"), "at the next start too"
    folder.write("private/\n")
    own = folder.policy(keeper=keeper)
    assert own.problem is None and own.denies("private/plan.md") and not own.denies("open.md")
    folder.file.unlink()
    policy.accept()
    assert policy.problem is None and not policy.denies("open.md")
    policy.counted(10, folder.now_s)
    assert folder.policy(keeper=keeper).problem is None


@pytest.mark.parametrize("restart", [True, False])
def test_rules_lost_with_most_notes_deny_all(folder: Folder, keeper: RulesStore, restart: bool) -> None:
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
    folder.write("private/\n")
    assert policy.refresh() and policy.problem is None, "they come back with the file"
    assert policy.denies("private/plan.md") and not policy.denies("open.md")


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


def test_paths_beyond_those_remembered_are_answered(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KNOWN_PATHS_MAX", 3)
    folder.write("private/\n")
    policy = folder.policy()
    for _ in range(3):
        assert [path for path in PATHS if policy.denies(path)] == ["private/plan.md", "work/private/plan.md"]


IDLE_PATHS = [
    "secret.md",
    "priv/a.md",
    "priv/b.md",
    "keep/deep/x.md",
    "Über.md",
    "a.md",
    "b.md",
    "a b.md",
    "{c,d}.md",
]
IDLE = [
    *("./secret.md", "././secret.md", "keep/./deep/", "keep//deep", "priv\\a.md", ".\\priv", "{a,b}.md"),
    *("priv/{a,b}.md", "{a,nothing}.md", "secret", "priv/a", "Secret", "secret.md/", "secret.md  # my diary"),
    *('"secret.md"', " secret.md", "!./secret.md", "nothing.md", "~/vault/secret.md"),
]
MATCH = [
    *["secret.md", "/priv", "priv/", "**/x.md", "keep/**", "*.md", "!a.md", "a\\ b.md", "\\{c,d}.md", "{c,d}.md"]
]


def named(line: str) -> list[IdleRule]:
    return idle_rules(compile_rules([line], is_file=True, source=".workspacedignore"), IDLE_PATHS)


def test_a_rule_that_matches_nothing_is_named() -> None:
    for line in IDLE:
        assert named(line) == [IdleRule(line, ".workspacedignore", 1)]
    assert [line for line in MATCH if named(line)] == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_matches_nothing_by_the_same_rules(tmp_path: Path) -> None:
    git.repository(tmp_path)
    for line in (*IDLE, *MATCH):
        if line.startswith("!"):
            continue
        (tmp_path / ".gitignore").write_text(f"{line}\n")
        assert bool(named(line)) == (git.ignored(tmp_path, IDLE_PATHS) == []), line
