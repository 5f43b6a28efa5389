"""`workspaced doctor` and editors in a sandbox: what it says, and when it has nothing to say."""

import json
from pathlib import Path
from typing import Any

import pytest


def findings(running: Any, *flags: str) -> list[dict[str, str]]:
    """What doctor says of sandboxes."""
    found = json.loads(running.cli("doctor", "--json", *flags).stdout)
    return [each for each in found if each["about"] == "sandbox"]


@pytest.mark.parametrize(
    ("traces", "kind"), [(".var/app/md.obsidian.Obsidian", "Flatpak"), ("snap/obsidian", "Snap")]
)
def test_a_socket_that_a_sandbox_does_not_see_gets_a_place_that_it_sees(
    daemon: Any, traces: str, kind: str
) -> None:
    here = daemon(start=False)
    home = Path(here.env["HOME"])
    assert findings(here) == []
    (home / traces).mkdir(parents=True)
    [finding] = findings(here)
    assert finding["level"] == "warning" and f"Obsidian ran as a {kind}" in finding["says"]
    assert finding["fix"].startswith(f"workspaced serve --socket {home / 'workspaced.sock'}")
    [cured] = findings(here, "--socket", str(home / "workspaced.sock"))
    assert cured["level"] == "ok"
