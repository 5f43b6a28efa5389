"""That the real Claude Code refuses to read what our rules deny, and reads all else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.runtimes.bed import Bed
from support.runtimes.programs import ClaudeCode

from workspaced.connecting import deny_rules

pytestmark = pytest.mark.by_hand
NOTES = ("a.md", "secret.md", "deep/secret.md", "drafts/a.md", "deep/drafts/a.md", "key.pem", "other/b.md")
WITHHELD = {
    "secret.md": {"secret.md", "deep/secret.md"},
    "/secret.md": {"secret.md"},
    "drafts/": {"drafts/a.md", "deep/drafts/a.md"},
    "/drafts": {"drafts/a.md"},
    "*.pem": {"key.pem"},
    "deep/**": {"deep/secret.md", "deep/drafts/a.md"},
}


@pytest.mark.parametrize("glob", WITHHELD)
def test_claude_code_reads_what_is_not_withheld_and_nothing_else(start: Callable[..., Bed], glob: str) -> None:
    bed = start(ClaudeCode)
    vault: Path = bed.program.vault
    for name in NOTES:
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(f"The words of {name.replace('/', ' ')}.\n")
    (vault / ".workspacedignore").write_text(f"{glob}\n")
    settings = bed.program.home / ".claude" / "settings.json"
    settings.write_text(deny_rules.add(settings.read_text(), deny_rules.wanted(str(vault), [])))
    for number, name in enumerate(NOTES):
        bed.model.calls[f"Read note {number}."] = ("Read", {"file_path": str(vault / name)})
        bed.program.ask(f"Read note {number}.", "--allowedTools", "Read")
    sent = json.dumps(bed.model.bodies[-1])
    unread = {name for name in NOTES if f"The words of {name.replace('/', ' ')}." not in sent}
    assert unread == WITHHELD[glob]
