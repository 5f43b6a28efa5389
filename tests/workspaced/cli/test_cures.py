"""An error's hint is the step that repairs it."""

import json
import shlex
import subprocess
from typing import Any

import pytest

from workspaced.cli.daemon.doctor import ask_to_forget
from workspaced.errors import PackageMissing
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.privacy.asked_notes import AskedNote


def doctor(running: Any) -> dict[str, dict[str, str]]:
    """The findings of the running daemon by level."""
    found = json.loads(running.cli("doctor", "--json").stdout)
    return {each["level"]: each for each in found if each["about"] == "daemon"}


def test_doctor_and_why_name_rules_that_match_nothing(daemon: Any) -> None:
    rules = "keep/\r# old line ends\r./secret.md\rpriv\\a.md\r{x,y}.md"
    notes = {".workspacedignore": rules, "secret.md": "s", "keep/k.md": "k", "priv/a.md": "a", "plain.md": "p"}
    running = daemon(notes=notes)
    running.reconcile()
    idle = running.call("workspaced/share/rules")["idleRules"]
    assert [(each["line"], each["rule"]) for each in idle] == [
        (3, "./secret.md"),
        (4, "priv\\a.md"),
        (5, "{x,y}.md"),
    ]
    said = [each["says"] for each in json.loads(running.cli("doctor", "--json").stdout)]
    assert any("'./secret.md', .workspacedignore, line 3, matches no file" in each for each in said)
    assert any("line 5, matches no file" in each for each in said)
    why = running.cli("why", "secret.md").stdout
    assert "secret.md: shown" in why and "'./secret.md', .workspacedignore, line 3, matches no file" in why
    why = running.cli("why", "keep/k.md").stdout
    assert "withheld from every agent" in why and "matches no file" not in why


def test_doctor_names_notes_that_a_flag_withholds_which_is_not_understood(daemon: Any) -> None:
    notes = {"a.md": "---\nworkspaced: privte\n---\n", "b.md": "---\nworkspaced: private\n---\n", "c.md": "# C\n"}
    running = daemon(notes=notes)
    running.reconcile()
    said = [each["says"] for each in json.loads(running.cli("doctor", "--json").stdout)]
    unclear = [each for each in said if "is not understood" in each]
    assert len(unclear) == 1 and unclear[0].startswith("a.md, line 2: ") and "privte" in unclear[0]


def test_what_an_extra_brings_is_installed_by_the_command_of_the_hint() -> None:
    command = shlex.split(PackageMissing("A link", "nats").hint.removeprefix("Install them: "))
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "nats-py" in done.stdout and "pynacl" in done.stdout, "both are installed here"


@pytest.mark.parametrize(
    "command",
    [
        ["calls"],
        ["context"],
        ["bundle", "-o", "b.wsb"],
        ["log", "salvage", "--to", "new"],
        ["forget", "a.md", "--yes"],
    ],
    ids=" ".join,
)
def test_before_the_first_start_the_step_is_to_start_the_daemon(daemon: Any, command: list[str]) -> None:
    never = daemon(start=False)
    done = never.cli(*command, env={"WORKSPACED_SOCKET": "", "XDG_RUNTIME_DIR": str(never.root)})
    assert done.returncode == 3 and "[NO_DAEMON]" in done.stderr
    assert "Workspace default has no log yet" in done.stderr
    assert "`workspaced start DIR`" in done.stderr


def test_a_command_to_paste_names_any_note_and_holds_nothing_that_a_terminal_obeys() -> None:
    for name in ("--help.md", 'a b\'s $(id) `id` "x".md', "a\x1b]52;c;eA==\x07\n\u202eb.md", "é\t✓.md"):
        fix = ask_to_forget(AskedNote(NoteId(name), VaultId("v"), "laptop")).fix
        assert fix.isprintable()
        pasted = "workspaced() { printf '%s\\0' \"$@\"; }\n" + fix
        said = subprocess.run(["bash", "-c", pasted], stdout=subprocess.PIPE, check=True).stdout.decode()
        assert said.split("\0") == ["stop", "forget", "--of-vault", "v", "--", name, ""]
