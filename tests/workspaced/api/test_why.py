"""`workspaced/share/why`: how far a note may go, as the gate of the tools decides it, and why no further."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import Daemon, Factory, refusal

from workspaced import SyncClient

NOTES = {
    "a.md": "# A\n",
    "keep/plan.md": "# Kept\n",
    "keep-asked/plan.md": "# Kept\n",
    "secret.md": "---\nworkspaced: private\n---\n# Secret\n",
    "asked.md": "---\nworkspaced: on-request\n---\n# Asked\n",
    "deep/b.md": "# A heading\n",
    "deep/hidden.md": "---\nworkspaced: private\n---\n# Secret\n",
    ".workspacedignore": "keep/\n",
}


@pytest.fixture(scope="module")
def shared(module_daemon: Factory) -> Daemon:
    return module_daemon("--on-request", "keep-asked/", notes=NOTES)


@pytest.fixture
def client(shared: Daemon) -> Iterator[SyncClient]:
    with shared.connect("inspector") as made:
        yield made


def level(client: SyncClient, note: str) -> str:
    found: str = client.call("workspaced/share/why", {"path": note})["level"]
    return found


def look_at(client: SyncClient, note: str) -> None:
    client.publish([{"type": "active_note_set", "data": {"note": note}}])


def test_rules_front_matter_and_levels_count(client: SyncClient) -> None:
    assert {note: level(client, note) for note in NOTES if note.endswith(".md")} == {
        "a.md": "volunteer",
        "keep/plan.md": "never",
        "keep-asked/plan.md": "on-request",
        "secret.md": "never",
        "asked.md": "on-request",
        "deep/b.md": "volunteer",
        "deep/hidden.md": "never",
    }
    assert level(client, "keep/nowhere.md") == "never"


def test_a_note_is_withheld_from_the_moment_its_file_says_so(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect()
    look_at(client, "a.md")
    assert level(client, "a.md") == "volunteer"
    (running.vault / "a.md").write_text(NOTES["secret.md"])
    assert level(client, "a.md") == "never"
    (running.vault / ".workspacedignore").write_text("asked.md\n")
    assert level(client, "asked.md") == "never"


def test_a_deleted_private_note_stays_withheld_and_a_deleted_shown_one_does_not(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect()
    for note in ("secret.md", "a.md"):
        look_at(client, note)
        level(client, note)
        client.call("workspaced/reconcile")
    for note in ("secret.md", "a.md"):
        (running.vault / note).unlink()
    client.call("workspaced/reconcile")
    assert (level(client, "secret.md"), level(client, "a.md")) == ("never", "volunteer")


@pytest.mark.parametrize(("path", "code"), [("../a.md", "OUTSIDE_VAULT"), ("", "INVALID_ARGUMENT")])
def test_a_path_that_no_note_can_have_is_refused(client: SyncClient, path: str, code: str) -> None:
    assert refusal(client.call, "workspaced/share/why", {"path": path}).code == code


@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("a", "a.md"),
        ("[[a]]", "a.md"),
        ("A heading", "deep/b.md"),
        ("@deep/b.md", "deep/b.md"),
        ("secret", "secret.md"),
        ("SECRET.md", "secret.md"),
        ("[[secret]]", "secret.md"),
        ("[[Secret#Part|the plan]]", "secret.md"),
        ("![[deep/hidden|x]]", "deep/hidden.md"),
        ("deep/hidden", "deep/hidden.md"),
    ],
)
def test_a_note_is_found_by_what_its_owner_calls_it(client: SyncClient, named: str, path: str) -> None:
    assert client.call("workspaced/share/why", {"path": named})["path"] == path


def test_an_absolute_path_is_one_of_the_vault_or_is_said_to_be_none(
    shared: Daemon, client: SyncClient, tmp_path: Path
) -> None:
    assert client.call("workspaced/share/why", {"path": str(shared.vault / "secret.md")})["path"] == "secret.md"
    error = refusal(client.call, "workspaced/share/why", {"path": str(tmp_path / "elsewhere.md")})
    assert error.code == "OUTSIDE_VAULT" and f"is not in the vault {shared.vault.name}" in error.message


@pytest.mark.parametrize(
    ("named", "code", "hint"),
    [
        ("secrte.md", "NOTE_NOT_FOUND", "Near: secret.md."),
        ("aksed", "NOTE_NOT_FOUND", "Near: asked.md."),
        ("nothing like it", "NOTE_NOT_FOUND", "Check the spelling, or give a path from the vault's root."),
        ("plan", "AMBIGUOUS_REFERENCE", "Give one: keep-asked/plan.md, keep/plan.md."),
    ],
)
def test_a_typo_is_told_from_a_secret(client: SyncClient, named: str, code: str, hint: str) -> None:
    error = refusal(client.call, "workspaced/share/why", {"path": named})
    assert (error.code, error.hint) == (code, hint)


def test_asking_of_a_note_that_only_a_pause_showed_leaves_no_name_in_the_log(daemon: Factory) -> None:
    running = daemon(notes={**NOTES, "paused-secret.md": "# Beta\n"})
    client = running.connect()
    client.call("workspaced/reconcile")
    client.pause()
    look_at(client, "paused-secret.md")
    level(client, "paused-secret.md")
    assert running.stop() == 0
    kept = b"".join(file.read_bytes() for file in (running.data / "log").iterdir() if file.is_file())
    assert b"paused-secret" not in kept
