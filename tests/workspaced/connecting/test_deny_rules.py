"""Rules in Claude Code's settings against reading what a vault withholds: which ones, and that only ours go."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from pathspec import GitIgnoreSpec

from workspaced.cli import run
from workspaced.connecting import deny_rules
from workspaced_tools.vault.files.glob_rules import RuleList, compile_rules

from .conftest import Command

PATHS = [
    *("a.md", "secret.md", "key.pem", "deep/secret.md", "deep/key.pem", "deep/er/secret.md", "work/a.md"),
    *("deep/work/a.md", "drafts/x.md", "deep/drafts/x.md", "a (1).md", "ä.md", "private/deep/a.md"),
]


GLOBS = (
    *("secret.md", "/secret.md", "deep/secret.md", "*.pem", "work/", "/work/", "deep/work/", "drafts", "/drafts"),
    *(
        "**/drafts/",
        "deep/**",
        "deep/**/secret.md",
        "private/**",
        "a*.md",
        "[k]ey.pem",
        "a (1).md",
        "ä.md",
        "?.md",
    ),
)


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def connect(settings: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, "connect", "claude")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "my [old] notes*"
    path.mkdir()
    (path / ".workspacedignore").write_text("secret/\n#: on-request\njournal/\n")
    return path


def rules(settings: Path) -> list[str]:
    found: list[str] = json.loads(settings.read_text())["permissions"]["deny"]
    return found


def test_a_rule_denies_the_files_that_the_vaults_rule_withholds(vault: Path) -> None:
    """As gitignore's matching, which Claude Code documents, reads them from the file system's root."""
    for glob in GLOBS:
        (vault / ".workspacedignore").write_text(f"{glob}\n")
        made = deny_rules.wanted(str(vault), [])
        assert all(rule.startswith("Read(//") and rule.endswith(")") for rule in made)
        spec = GitIgnoreSpec.from_lines(rule.removeprefix("Read(/").removesuffix(")") for rule in made)
        own = RuleList((), compile_rules([glob], is_file=True), (), "")
        withheld = {path for path in PATHS if own.why(path) is not None}
        assert {path for path in PATHS if spec.match_file(str(vault / path).lstrip("/"))} == withheld != set(), (
            glob
        )


def test_what_is_withheld_from_all_is_denied(
    connect: Command, settings: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _code, out, _err = connect("--vault", vault, "--dry-run")
    assert "Read(/" in out and not settings.exists()
    assert connect("--vault", vault)[0] == 0
    assert rules(settings) == [rf"Read(/{vault.parent}/my \[old\] notes\*/**/secret/**)"]
    connect("--vault", vault, "--remove")
    assert not settings.exists()
    monkeypatch.setenv("WORKSPACED_DENY", "diary.md")
    connect("--vault", vault)
    assert [each.rpartition("/")[2] for each in rules(settings)] == ["diary.md)", "**)"]


def test_rules_follow_the_vaults_and_those_of_others_stay(connect: Command, settings: Path, vault: Path) -> None:
    own = f"Read(/{vault.parent}/my \\[old\\] notes\\*/**/mine/**)"
    before = json.dumps({"permissions": {"deny": ["Read(.env)", own], "allow": ["Bash(ls)"]}}, indent=4)
    settings.write_text(before)
    (vault / ".workspacedignore").write_text("secret/\nmine/\n")
    connect("--vault", vault)
    assert len(rules(settings)) == 3, "a rule that stood before is no second time"
    (vault / ".workspacedignore").write_text("other/\n")
    connect("--vault", vault)
    assert rules(settings)[:2] == ["Read(.env)", own] and rules(settings)[2].endswith("/other/**)")
    connect("--vault", vault, "--remove")
    assert settings.read_text() == before


@pytest.mark.parametrize(
    ("ignored", "text", "says"),
    [
        ("a/\n", '{"permissions": []}', "nothing was changed"),
        ("a/\n", '{"permissions": {"deny": "x"}}', "nothing was changed"),
        ("ok/\n#: sometimes\n", "{}", ".workspacedignore, line 2: "),
    ],
)
def test_settings_of_another_form_and_rules_that_are_none_are_named(
    connect: Command, settings: Path, vault: Path, ignored: str, text: str, says: str
) -> None:
    (vault / ".workspacedignore").write_text(ignored)
    settings.write_text(text)
    code, _out, err = connect("--vault", vault)
    assert code == 2 and says in err and settings.read_text() == text


def test_what_a_program_cannot_do_and_that_it_is_not_here_is_said(
    connect: Command, vault: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    answer = json.loads(Command(capsys, "connect")("codex", "--vault", vault, "--json")[1])
    missing, reads = answer["remarks"]
    assert missing.startswith("Codex was not found here (no command codex, ") and "withheld notes" in reads
    _code, _out, err = connect("--vault", vault)
    assert "Claude Code was not found here" in err and "withheld notes" not in err


def test_the_doctor_says_that_rules_are_missing_and_how_to_have_them(
    connect: Command, vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> list[dict[str, Any]]:
        run(["doctor", "--json"])
        return [each for each in json.loads(capsys.readouterr().out) if "file tools" in each["says"]]

    connect("--vault", vault)
    assert said() == []
    (vault / ".workspacedignore").write_text("secret/\ndiary/\n")
    [found] = said()
    assert found["says"].endswith(" lacks 1 rules") and str(vault) in found["says"]
    assert run(shlex.split(found["fix"])[1:]) == 0
    capsys.readouterr()
    assert said() == []
