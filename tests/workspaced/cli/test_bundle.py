"""`workspaced bundle`: one file from a running daemon or a directory, which replays where nothing else is."""

import json
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from workspaced.cli.log.bundle import COUNTED_SETTINGS, PLAIN_SETTINGS, bundled_settings
from workspaced.settings.settings import Settings
from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.replay.open import open_source
from workspaced_events.schema import catalogue as c
from workspaced_tools.replay.verify import Outcome, Verified, verify

SECRET = "Zanzibarium"
NOTES = {
    "a.md": f"---\ntitle: Alpha\ntags: [{SECRET}]\n---\n# A\n\nSee [[b]] and [[{SECRET} plan]].\n",
    "b.md": "# Beta\n\nBack to [[a]].\n",
    f"{SECRET}/plan.md": f"# {SECRET} plan\n\nNothing but {SECRET}.\n",
}


def outcomes(bundle: Path) -> list[Outcome]:
    """What became of every call in it."""
    found: list[Verified] = []
    with open_source(bundle) as source:
        verify(source, found.append)
    return [each.outcome for each in found]


def use(running: Any) -> None:
    """A user looks at notes, and an agent asks."""
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.publish([{"type": "note_pinned", "data": {"note": f"{SECRET}/plan.md"}}])
        for tool, arguments in (
            ("get_workspace_context", {"includeContent": True}),
            ("get_current_note", {"includeLinks": True}),
            ("search_workspace", {"query": SECRET.lower()}),
            ("get_note_by_reference", {"reference": f"{SECRET} plan"}),
            ("get_note_by_reference", {"reference": "nowhere"}),
        ):
            client.call("tools/call", {"name": tool, "arguments": arguments})


def contents(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_a_bundle_of_a_running_daemon_holds_the_calls_it_answered_just_now(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    done = running.cli("bundle", "-o", "bug.wsb")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    running.stop()
    shutil.rmtree(running.vault)
    shutil.rmtree(running.data)
    assert outcomes(running.root / "bug.wsb") == [Outcome.SAME] * 5
    replayed = json.loads(running.cli("replay", "bug.wsb", "--json").stdout)
    assert replayed["activeNote"]["id"] == "a.md"
    assert running.cli("log", "find", "bug.wsb", "--when", "pinnedNotes").returncode == 0


def test_it_holds_the_images_that_a_runtimes_tools_gave(daemon: Any) -> None:
    running = daemon()
    image = {"text": "data:image/png;base64,iVBORw0KGgo="}
    with running.connect("runtime") as client:
        settings = {"provider": "anthropic", "model": "m", "context_window": 9_000, "output_reserve": 0}
        talk = client.context.start(conversation="talk", **settings)["conversation"]
        result = {"id": "1", "name": "look", "text": "Seen.", "images": [image]}
        client.context.message(talk, {"role": "user", "toolResults": [result]})
    assert running.cli("bundle", "-o", "bug.wsb").returncode == 0
    assert b"\x89PNG\r\n\x1a\n" in contents(running.root / "bug.wsb").values()


def test_a_bundle_of_a_directory_needs_no_daemon_and_says_what_it_holds(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    running.stop()
    done = running.cli("bundle", "-o", "bug.wsb", "--last", "3", "--data-dir", str(running.data))
    assert done.returncode == 0
    manifest = json.loads(contents(running.root / "bug.wsb")["manifest.json"])
    assert manifest["last"] - manifest["first"] + 1 >= 3
    assert f"events {manifest['first']} to {manifest['last']}" in done.stderr
    assert "text of notes" in done.stderr
    assert manifest["versions"]["workspaced"]
    assert str(running.root) not in json.dumps(manifest)


def test_a_part_can_be_chosen_by_its_ends(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    running.stop()
    done = running.cli("bundle", "-o", "x.wsb", "--from", "2", "--to", "4", "--data-dir", str(running.data))
    assert done.returncode == 0
    manifest = json.loads(contents(running.root / "x.wsb")["manifest.json"])
    assert (manifest["first"], manifest["last"]) == (2, 4)


def test_what_was_swept_is_said_and_no_error(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    running.stop()
    shutil.rmtree(running.data / "served")
    done = running.cli("bundle", "-o", "bug.wsb", "--data-dir", str(running.data))
    assert done.returncode == 0
    assert "cannot be replayed" in done.stderr
    assert json.loads(contents(running.root / "bug.wsb")["manifest.json"])["missing"]
    assert set(outcomes(running.root / "bug.wsb")) == {Outcome.NOT_RECORDED}


def test_a_redacted_bundle_holds_no_name_and_no_text_and_replays_to_the_byte(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    use(running)
    done = running.cli("bundle", "-o", "bug.wsb", "--redact")
    assert done.returncode == 0, done.stderr
    assert "pseudonyms" in done.stderr
    for name, content in contents(running.root / "bug.wsb").items():
        text = (name + content.decode()).casefold()
        for secret in (SECRET, "Alpha", "Beta", "nothing", str(running.root)):
            assert secret.casefold() not in text, name
    assert outcomes(running.root / "bug.wsb") == [Outcome.SAME] * 5
    assert running.cli("log", "find", "bug.wsb", "--when", "pinnedNotes").returncode == 0


def test_settings_are_told_without_what_is_personal(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    env = {"WORKSPACED_DENY": f"{SECRET}/**\nother", "WORKSPACED_WORKSPACE": "privatework"}
    done = running.cli("bundle", "-o", "bug.wsb", "--data-dir", str(running.data), env=env)
    assert done.returncode == 0
    manifest = contents(running.root / "bug.wsb")["manifest.json"].decode()
    assert json.loads(manifest)["settings"]["deny"] == 2
    assert SECRET not in manifest
    assert "privatework" not in manifest


def test_every_setting_is_told_counted_or_left_out_as_personal() -> None:
    personal = {"link", "workspace", "data_dir", "cache_dir", "socket", "templates", "memory", "agents_folder"}
    personal |= {"traces"}
    assert {*PLAIN_SETTINGS, *COUNTED_SETTINGS, *personal} == set(Settings.model_fields)
    assert all(isinstance(each, bool | int | float | str | None) for each in bundled_settings(Settings()).values())


def test_a_setting_that_is_wrong_keeps_nobody_from_reporting(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    bad = {"WORKSPACED_CACHE_BYTES": "many"}
    done = running.cli("bundle", "-o", "bug.wsb", "--data-dir", str(running.data), env=bad)
    assert done.returncode == 0
    assert "cache_bytes" in done.stderr
    assert json.loads(contents(running.root / "bug.wsb")["manifest.json"])["settings"] == {}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-o", "x.wsb", "--last", "0"),
        ("-o", "x.wsb", "--last", "5", "--from", "1"),
        ("-o", "x.wsb", "--from", "yesterday"),
        ("-o", "x.wsb", "--data-dir", "nowhere"),
        ("-o", "x.wsb", "--data-dir", "vault"),
        (
            "-o",
            "vault",
        ),
    ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(shared: Any, arguments: tuple[str, ...]) -> None:
    done = shared.cli("bundle", *arguments)
    assert done.returncode == 2, done.stderr
    assert not (shared.root / "x.wsb").exists()


def test_a_former_bundle_is_replaced_whole_or_not_at_all(shared: Any) -> None:
    former = shared.root / "former.wsb"
    former.write_bytes(b"former")
    assert shared.cli("bundle", "-o", "former.wsb", "--from", "99999").returncode == 2
    assert former.read_bytes() == b"former"
    assert shared.cli("bundle", "-o", "former.wsb").returncode == 0
    assert zipfile.is_zipfile(former)


def test_what_is_no_whole_bundle_is_refused_by_whoever_reads_it(shared: Any) -> None:
    assert shared.cli("bundle", "-o", "whole.wsb").returncode == 0
    content = (shared.root / "whole.wsb").read_bytes()
    (shared.root / "cut.wsb").write_bytes(content[: len(content) // 2])
    for command in (("replay",), ("log", "find", "--when", "activeNote")):
        done = shared.cli(*command, "cut.wsb")
        assert done.returncode == 4
        assert "cut.wsb" in done.stderr


# -- conversations --


def put(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def say(data: Path) -> None:
    """Two conversations, one of which goes on at the end of the log: a prompt, and all that was read for it."""
    journal = open_journal(RealDisk(data), version="t")
    artifact = f'{{"kind":"note","id":"a.md","title":"A","revision":"{put("a note")}"}}'
    provided = f'{{"id":"tabs","kind":"workspace","textSha256":"{put("the tabs")}"}}'
    inputs = (
        f'{{"version":1,"conversation":"talk","message":"m1","artifacts":[{artifact}],"provided":[{provided}]}}'
    )
    for name in ("silent", "talk"):
        settings = {"provider": "p", "model": "m", "context_window": 9, "output_reserve": 1}
        sections = (c.Section("system", put(f"you are {name}")),)
        started = c.ConversationStarted(conversation=ConversationId(name), sections=sections, **settings)
        asked = c.MessageAdded(ConversationId(name), MessageId("m1"), "user", put(f"{SECRET} {name}"))
        append(journal, started, f"you are {name}")
        append(journal, asked, f"{SECRET} {name}")
    append(journal, c.MessageAdded(ConversationId("talk"), MessageId("m2"), "assistant", put("answer")), "answer")
    entry = c.LibraryEntry("a.md", "note", put("a note"), put("a block"), 9, MessageId("m1"))
    prompt = c.PromptAssembled(
        conversation=ConversationId("talk"),
        message=MessageId("m1"),
        inputs_sha256=put(inputs),
        manifest_sha256=put("manifest"),
        layer_hashes=c.LayerHashes(*[put("layer")] * 5),
        combined_hash=put("all"),
        prefix_tokens=5,
        estimate=9,
        seed_estimate=9,
        limit=99,
        as_of_seq=journal.log.tail.seq,
    )
    append(journal, prompt, inputs, "manifest", "a note", "the tabs")
    held = c.ContextFolded(conversation=ConversationId("talk"), reason="asked", library=(entry,))
    append(journal, held, "a block")
    journal.writer.close()


def append(journal: Journal, data: c.Data, *texts: str) -> None:
    done: list[Any] = []
    journal.writer.submit([Action(data, blobs=tuple(map(str.encode, texts)))], "agent", done.append)
    for tell, outcome in journal.writer.commit().outcomes:
        tell(outcome)
    assert isinstance(done[0], list), done


def test_a_bundle_holds_what_the_prompts_in_it_were_made_from(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    running.stop()
    say(running.data)
    assert running.cli("bundle", "-o", "bug.wsb", "--last", "2", "--data-dir", str(running.data)).returncode == 0
    held = {content.decode() for name, content in contents(running.root / "bug.wsb").items() if "blobs/" in name}
    said = {"you are talk", f"{SECRET} talk", "answer", "manifest", "a note", "the tabs", "a block"}
    assert {each for each in held if not each.startswith("{")} == said
    assert len(held) == len(said) + 1  # and the inputs
    manifest = json.loads(contents(running.root / "bug.wsb")["manifest.json"])
    assert manifest["missing"] == []


def test_a_redacted_bundle_holds_no_text_of_conversations(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    running.stop()
    say(running.data)
    done = running.cli("bundle", "-o", "bug.wsb", "--last", "3", "--redact", "--data-dir", str(running.data))
    assert done.returncode == 0
    held = contents(running.root / "bug.wsb")
    assert [name for name in held if "blobs/" in name] == []
    assert json.loads(held["manifest.json"])["missing"] == []
    assert json.loads(held["state.json"])["conversations"] == {}
    for content in held.values():
        assert SECRET.casefold().encode() not in content.lower()
        assert put(f"{SECRET} talk").encode() not in content
    types = [json.loads(line).get("type") for line in held["log.jsonl"].splitlines()]
    assert types == [None, "message_added", "prompt_assembled", "context_folded"]
    replayed = running.cli("replay", "bug.wsb", "--verify")
    assert replayed.returncode == 3 and "No prompt could be compared" in replayed.stderr
