"""Any prompt of any conversation is made again, to the byte, of the log and its blobs alone.

A random conversation of 200 turns goes through the daemon's service, which is stopped and started on the way. Then
the vault is gone, and other processes, each with hashes of its own, make all prompts anew.
"""

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from support import session_machine as sessions

from workspaced.prompts import commands
from workspaced.prompts import params as p
from workspaced.prompts.assemble import assemble
from workspaced.prompts.message_commands import nothing_uploaded
from workspaced.prompts.start import start
from workspaced_tools.errors import BudgetExceeded
from workspaced_tools.prompts.model.types import Envelope

TURNS = 200
RESTART_TURNS = 35
ID = "chat"
CALLER = "runtime"
NOTES = ("a.md", "b.md", "work/plan.md", "work/日記.md")
KINDS = ("note", "note", "note", "active_note", "folder", "tag", "url", "selected_text", "file", "tool_result")
PINS: tuple[dict[str, Any], ...] = (
    {"kind": "text", "text": "Pinned words."},
    {"kind": "note", "path": "b.md"},
    {"kind": "folder", "folder": "work"},
    {"kind": "workspace"},
    {"kind": "recent-changes"},
    {"kind": "linked-files"},
    {"kind": "next-notes"},
)
REBUILD = """\
import json, sys
from hashlib import sha256
from pathlib import Path
import msgspec
from workspaced_events.replay.source import DirectorySource
from workspaced_tools.replay.verify import verify

def each_prompt(made):
    envelope = sha256(msgspec.json.encode(made.envelope)).hexdigest()
    print(json.dumps([made.seq, made.prompt.message, made.outcome, envelope]))

with DirectorySource(Path(sys.argv[1])) as source:
    verify(source, lambda _call: None, each_prompt=each_prompt)
"""
Sent = dict[int, str]
"""The sha256 of each envelope that was answered, by the sequence of its prompt."""


class Runtime:
    """Holds a conversation over a session's service, as a connection would."""

    def __init__(self, session: Any, dice: Random, window: int) -> None:
        self.session = session
        self.dice = dice
        self.window = window
        self.sent: Sent = {}
        self.refused = 0

    def told(self, params: Any, of: dict[str, Any]) -> Any:
        return msgspec.convert({"conversation": ID, **of}, params)

    def record(self, plan: Any) -> None:
        self.session.run(self.session.service.publishing.record(plan, CALLER))

    def start(self) -> None:
        params = {"provider": "someone", "model": "large", "contextWindow": self.window, "outputReserve": 500}
        more = {
            "system": f"You help, {self.dice.randrange(2)}.",
            "memory": "Nothing yet.",
            "tools": [{"name": "find"}],
        }
        self.session.run(start(self.session.service, self.told(p.Start, {**params, **more}), CALLER))

    def say(self, **message: Any) -> str:
        ids, plan, _size = commands.add_messages(self.told(p.Messages, {"messages": [message]}), nothing_uploaded)
        self.record(plan)
        return str(ids[0])

    def prompt(self, **more: Any) -> bool:
        params = self.told(p.Assemble, {"layers": True, **more})
        try:
            made = self.session.run(assemble(self.session.service, params, CALLER))
        except BudgetExceeded:
            self.refused += 1
            return False
        envelope = Envelope(**{name: getattr(made, name) for name in Envelope.__struct_fields__})
        name = sha256(msgspec.json.encode(envelope)).hexdigest()
        assert self.sent.setdefault(made.seq, name) == name
        return True

    # -- what happens --

    def attachment(self) -> dict[str, Any]:
        kind, note, number = self.dice.choice(KINDS), self.dice.choice(NOTES), self.dice.randrange(4)
        match kind:
            case "note":
                return {"kind": kind, "id": self.dice.choice((note, note, "gone.md"))}
            case "active_note":
                return {"kind": kind}
            case "folder" | "tag":
                return {"kind": kind, "id": "work" if kind == "folder" else "two"}
            case _:
                return {"kind": kind, "id": f"{kind} {number}", "text": f"Given {number}. " * 20}

    def turn(self, number: int) -> None:
        for _ in range(self.dice.randrange(3)):
            self.meanwhile(number)
        attached = [self.attachment() for _ in range(self.dice.randrange(4))]
        asked = self.say(
            role="user", text=f"Question {number}? " * self.dice.choice((1, 30)), attachments=attached
        )
        answered = self.prompt()
        if answered and self.dice.random() < 0.3:
            call = {"id": f"call-{number}", "name": "find"}
            thinking = [{"text": "Hm.", "signature": self.dice.choice((None, "signed"))}]
            self.say(role="assistant", thinking=thinking, toolCalls=[{**call, "arguments": {"q": number}}])
            self.say(role="user", toolResults=[{**call, "text": "row " * self.dice.choice((1, 800))}])
            self.prompt()
        last = self.say(role="assistant", text=f"Answer {number}. " * self.dice.choice((1, 40)))
        if answered and self.dice.random() < 0.3:
            usage = {"inputTokens": self.dice.randrange(400, 4_000), "cachedTokens": self.dice.randrange(400)}
            usage["cachedInInput"] = True
            self.record(commands.report_usage(self.told(p.Usage, usage)))
        if self.dice.random() < 0.05:
            self.say(role="user", text="Asked otherwise.", attachments=attached, replaces=asked)
            self.prompt(message=asked)
        if self.dice.random() < 0.05:
            remove = {"message": self.dice.choice((asked, last)), "following": True}
            self.record(commands.add_messages(self.told(p.Messages, {"remove": remove}), nothing_uploaded).plan)

    def meanwhile(self, number: int) -> None:
        """The user looks and writes elsewhere, or the runtime keeps house."""
        self.session.advance(self.dice.choice((1.0, 61.0, 3_600.0)))
        match self.dice.randrange(8):
            case 0 | 1 | 2:
                note = self.dice.choice(NOTES)
                lines = "Line.\n" * self.dice.choice((1, 300))
                text = f"# {note} {number}\n\n[[a]] #two </note_context>\n{lines}"
                sessions.write(self.session.vaults["one"], note, text.encode())
                self.session.reconcile()
            case 3 | 4:
                self.session.look_at(self.dice.choice(NOTES))
            case 5:
                pin = {"id": f"pin {self.dice.randrange(3)}", **self.dice.choice(PINS)}
                self.record(commands.pin(self.told(p.Pin, pin)))
            case 6:
                pin = {"id": f"pin {self.dice.randrange(3)}"}
                self.record(commands.unpin(self.told(p.Unpin, pin)))
            case _:
                self.keep_house(number)

    def keep_house(self, number: int) -> None:
        if self.dice.random() < 0.5:
            self.start()
            return
        state = self.session.service.tail.state.conversations.by_id[ID]
        if len(state.messages) > 10:
            up_to = list(state.messages)[-8]
            summary = {"text": f"Up to {number} nothing much.", "upTo": up_to}
            self.record(commands.set_summary(self.told(p.Summarise, summary)))


def rebuilt(data: Path, seed: str) -> list[list[Any]]:
    """Every prompt of a data directory, made again by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", REBUILD, str(data)],
        env={"PYTHONHASHSEED": seed, "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[-4_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize("window", [9_000, 200_000])
def test_any_prompt_is_made_again_of_the_log_alone(tmp_path: Path, window: int) -> None:
    session = sessions.Session(tmp_path)
    try:
        for note in NOTES:
            sessions.write(session.vaults["one"], note, f"# {note}\n\nAt first. #two\n".encode())
        session.open()
        runtime = Runtime(session, Random(window), window)
        session.look_at("a.md")
        runtime.start()
        for number in range(TURNS):
            if number % RESTART_TURNS == RESTART_TURNS - 1:
                session.restart()
            runtime.turn(number)
    finally:
        session.dispose()
    for folder in session.vaults.values():
        shutil.rmtree(folder)
    copy = tmp_path / "copy"
    session.data.rename(copy)
    answers = [rebuilt(copy, seed) for seed in ("0", "1", "4242")]
    assert answers[0] == answers[1] == answers[2]
    assert {outcome for _, _, outcome, _ in answers[0]} == {"same"}
    assert {seq: envelope for seq, _, _, envelope in answers[0]} == runtime.sent
    assert len(runtime.sent) + runtime.refused >= TURNS and len(runtime.sent) > TURNS / 2
