"""Makes the log that `workspaced demo` leaves: a person's morning, in which an agent answers wrongly.

    python docs/generator/demo_morning.py [--output FILE] [--place FOLDER]

A real daemon serves a copy of the sample vault; only its clock is ours (morning_daemon.py). The editors' actions,
the tools' calls, the prompts and what hooks told are real. The words of the model are written here, and its cache
is a small one (`Provider`): no model is asked. The bundle is checked in, since it is the same on every machine and
its sequences stand in pages; after a change of the story, run this again.

What goes wrong: the writer's conversation is shown `Kickoff.md`, which says 22 June. A compaction takes it over
into the library. Later it is changed to 29 June in another editor. No prompt brings it again, only one line says
that it changed, and the writer, asked for the date, answers from the library.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from workspaced import SyncClient, connect

ROOT: Final = Path(__file__).parents[2]
DEMO: Final = ROOT / "workspaced" / "workspaced" / "demo"
BUNDLE: Final = DEMO / "morning.wsb"
PLACE: Final = Path("/tmp/workspaced-morning")
START: Final = datetime(2026, 4, 17, 6, 58, tzinfo=UTC)
EVENING: Final = datetime(2026, 4, 16, 20, 0, tzinfo=UTC)
"""When the vault's notes were written last."""

KICKOFF: Final = "projects/ferrybook/Kickoff.md"
LETTER: Final = "letter-to-imke"
KITCHEN: Final = "kitchen-questions"
SYSTEM: Final = "You are Nora's writer. Answer from her notes, in one or two sentences, and name the note."
MODEL: Final = {"provider": "anthropic", "model": "claude-sonnet-4-5", "output_reserve": 1_000}


class Provider:
    """A provider's cache of prefixes: it forgets a conversation after five minutes, and keeps no short prefix."""

    FORGETS_S: Final = 5 * 60
    TOKENS_MIN: Final = 1_024
    CHARS_PER_TOKEN: Final = 4

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}

    def usage(self, conversation: str, body: dict[str, Any], now_s: int, answer: str) -> dict[str, Any]:
        """The usage of a request, as the Messages API reports it."""
        parts = [body.get("tools"), body.get("system"), *body["messages"]]
        text = "".join(json.dumps(_without_marks(part), ensure_ascii=False) for part in parts)
        before, then_s = self._last.get(conversation, ("", 0))
        self._last[conversation] = (text, now_s)
        same = _same_chars(before, text) if now_s - then_s < self.FORGETS_S else 0
        cached, total = same // self.CHARS_PER_TOKEN, len(text) // self.CHARS_PER_TOKEN
        cached = cached if cached >= self.TOKENS_MIN else 0
        return {
            "input_tokens": 12,
            "cache_creation_input_tokens": max(0, total - cached - 12),
            "cache_read_input_tokens": cached,
            "output_tokens": max(1, len(answer) // self.CHARS_PER_TOKEN),
        }


def _same_chars(one: str, other: str) -> int:
    """How many characters both texts begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (this, that) in pairs if this != that), min(len(one), len(other)))


def _without_marks(part: Any) -> Any:
    """A part of a request without the marks that tell the provider where to cache; they move from turn to turn."""
    if isinstance(part, dict):
        return {key: _without_marks(value) for key, value in part.items() if key != "cache_control"}
    return [_without_marks(each) for each in part] if isinstance(part, list) else part


class Morning:
    """The vault, the daemon, its clients and the time of the story."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
        self.vault = place / "notes"
        shutil.copytree(DEMO / "vault", self.vault)
        for path in self.vault.rglob("*"):
            os.utime(path, (EVENING.timestamp(),) * 2)
        self._ahead = place / "ahead"
        self._ahead.write_text("0")
        self._ahead_s = 0
        self._daemon = self._start()
        socket = place / "socket"
        self.editor = connect(socket, name="obsidian", timeout_s=60)
        self.other_editor = connect(socket, name="vscode", timeout_s=60)
        self.claude = connect(socket, name="claude-code", timeout_s=60)
        self.writer = connect(socket, name="writer", timeout_s=60)
        self.person = connect(socket, name="workspaced", timeout_s=60)
        self.person.call("workspaced/reconcile")  # the index is complete, so answers do not depend on its pace
        self.context: Any = self.writer.context  # its messages are put together from parts here
        self.provider = Provider()
        self._session = [json.loads(line) for line in (DEMO / "session.jsonl").read_text().splitlines()]
        self._played = 0

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, str(Path(__file__).with_name("morning_daemon.py"))]
        command += [str(self._ahead), str(int(START.timestamp())), "serve", "--no-watch"]
        command += [
            "--vault",
            str(self.vault),
            "--data-dir",
            str(self.place / "data"),
            "--socket",
            str(self.place / "socket"),
        ]
        daemon = subprocess.Popen(command, stderr=subprocess.PIPE, env=_environment(self.place))
        assert daemon.stderr is not None
        said = []
        for line in daemon.stderr:
            said.append(line)
            if b"listening on" in line:
                return daemon
        raise SystemExit(b"".join(said).decode())

    # -- time --

    def at(self, time: str) -> None:
        """Moves on to this time of day, UTC."""
        hours, minutes = map(int, time.split(":"))
        ahead_s = int((START.replace(hour=hours, minute=minutes) - START).total_seconds())
        assert ahead_s >= self._ahead_s, f"{time} is past"
        self._set(ahead_s)

    def pass_s(self, seconds: int) -> None:
        self._set(self._ahead_s + seconds)

    def _set(self, ahead_s: int) -> None:
        written = self._ahead.with_suffix(".new")
        written.write_text(str(ahead_s))
        written.replace(self._ahead)
        self._ahead_s = ahead_s

    # -- the person --

    def act(self, until: int, every_s: int) -> None:
        """Publishes the recorded session up to this action, one action after another."""
        for action in self._session[self._played : until]:
            self.editor.publish([action], source="obsidian")
            self.pass_s(every_s)
        self._played = until

    def edit(self, note: str, old: str, new: str) -> None:
        """Changes a note on disk, as every editor does."""
        path = self.vault / note
        text = path.read_text()
        assert old in text, f"{note} does not hold {old!r}"
        path.write_text(text.replace(old, new, 1))
        now_s = START.timestamp() + self._ahead_s
        os.utime(path, (now_s, now_s))
        self.person.call("workspaced/reconcile")
        self.pass_s(20)

    def show_in_other_editor(self, active: str | None, tabs: Sequence[str], *, focused: bool) -> None:
        tabs_shown = [{"note": note, "source": "navigation"} for note in tabs]
        view = {"source": "vscode", "active": active, "pins": [], "tabs": tabs_shown, "focused": focused}
        self.other_editor.call("workspaced/snapshot", view)
        self.pass_s(20)

    # -- agents --

    def ask(self, client: SyncClient, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = client.tool(tool, arguments)
        self._let_calls_be_recorded()
        self.pass_s(15)
        return answer

    def tell_claude(self) -> None:
        """What the hook of Claude Code does when the person sends a prompt."""
        offer = {"client": "claude-code", "session": "a-morning", "event": "UserPromptSubmit"}
        offered = self.claude.call("workspaced/volunteer", {**offer, "folders": [str(self.vault)]})
        if offered["token"] is not None:
            self.claude.call("workspaced/volunteer/confirm", {"token": offered["token"]})
            self._let_calls_be_recorded()
        self.pass_s(5)

    def _let_calls_be_recorded(self) -> None:
        """A call's event is appended after its answer; here before the time goes on."""
        self.person.call("workspaced/calls")

    def turn(
        self, conversation: str, name: str, text: str, answer: str, *attached: dict[str, Any], searched: str = ""
    ) -> None:
        """A turn of the writer: the person's message, a search if it makes one, and the answer."""
        context = self.context
        message = {"role": "user", "id": name, "text": text, "attachments": list(attached)}
        context.message(conversation, message)
        if searched:
            self._search(conversation, name, searched)
        self._complete(conversation, answer)
        context.message(conversation, {"role": "assistant", "id": f"{name}-answer", "text": answer})
        self.pass_s(40)

    def _search(self, conversation: str, name: str, query: str) -> None:
        call: dict[str, Any] = {"id": f"{name}-search", "name": "search_workspace"}
        arguments = {"query": query, "limit": 3}
        self._complete(conversation, json.dumps(arguments))
        context = self.context
        context.message(
            conversation,
            {"role": "assistant", "id": f"{name}-asks", "toolCalls": [{**call, "arguments": arguments}]},
        )
        result = {**call, "text": json.dumps(self.ask(self.writer, "search_workspace", **arguments))}
        context.message(conversation, {"role": "user", "id": f"{name}-found", "toolResults": [result]})

    def _complete(self, conversation: str, answer: str) -> None:
        """Assembles a prompt, lets the model answer, and reports what that cost."""
        made = self.context.assemble(conversation, shape="anthropic", layers=False)
        self.pass_s(6)
        report = self.provider.usage(conversation, made["body"], self._ahead_s, answer)
        self.context.usage(conversation, report=report)

    # -- the end --

    def bundle(self, output: Path) -> None:
        """Ends the daemon, and puts its whole log into the bundle."""
        self.person.call("workspaced/shutdown")  # before an editor leaves, whose view would close at its own pace
        for client in (self.editor, self.other_editor, self.claude, self.writer, self.person):
            client.close()
        self._daemon.wait(timeout=60)
        command = [
            sys.executable,
            "-m",
            "workspaced",
            "bundle",
            "--data-dir",
            str(self.place / "data"),
            "--from",
            "1",
            "--with-visibility",
        ]
        subprocess.run([*command, "-o", str(output)], check=True, env=_environment(self.place))


def _environment(home: Path) -> dict[str, str]:
    """The environment without the settings of whoever runs this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WORKSPACED_", "XDG_"))}
    return {**kept, "HOME": str(home)}


def note(path: str) -> dict[str, Any]:
    return {"kind": "note", "id": path}


def kitchen(day: Morning) -> None:
    """Seven o'clock: the kitchen's budget; Claude Code is told and asks, the writer answers twice."""
    day.at("07:01")
    day.act(13, every_s=45)
    day.tell_claude()
    day.ask(day.claude, "get_workspace_context")
    day.ask(day.claude, "get_current_note", includeOutline=True, includeLinks=True)
    day.act(22, every_s=50)
    day.tell_claude()
    day.ask(day.claude, "search_workspace", query="ceiling", limit=5)
    day.at("07:32")
    context = day.context
    context.start(conversation=KITCHEN, context_window=64_000, system=SYSTEM, **MODEL)
    context.pin(KITCHEN, "here", "workspace")
    budget = note("move/Kitchen budget.md")
    day.turn(
        KITCHEN,
        "k1",
        "What is the ceiling now, and why did it go up?",
        "7,900 €, since 9 April: the oven needs a three-phase line for 640 € (Kitchen budget).",
        budget,
        note("meetings/2026-04-09 Kitchen and electrician.md"),
        {"kind": "folder", "id": "people"},
    )
    day.turn(
        KITCHEN, "k2", "And what is paid?", "2,120 €, of which 1,250 € for the oven (Kitchen budget).", budget
    )
    changed = f"{SYSTEM} Write sums with a euro sign."
    context.start(conversation=KITCHEN, context_window=64_000, system=changed, **MODEL)
    day.turn(KITCHEN, "k3", "What is left for the fridge?", "650 €, unpaid (Kitchen budget).", budget)


def ferry(day: Morning) -> None:
    """Eight o'clock: the letter to Imke begins, and grows until it is compacted: the kickoff is in the library."""
    day.at("08:10")
    day.act(34, every_s=40)
    day.tell_claude()
    day.ask(day.claude, "get_related_notes", reference="projects/ferrybook/Ferrybook.md")
    day.act(45, every_s=40)
    day.ask(day.claude, "get_note_by_reference", reference=KICKOFF)
    day.at("08:44")
    context = day.context
    tools = [
        {key: tool[key] for key in ("name", "description", "inputSchema")}
        for tool in day.writer.call("tools/list")["tools"]
        if tool["name"] == "search_workspace"
    ]
    context.start(conversation=LETTER, context_window=7_200, system=SYSTEM, tools=tools, **MODEL)
    day.turn(
        LETTER,
        "q1",
        "What did we agree with Imke in February?",
        "That nobody answers the same call two hundred times on a windy day; release 1 on 22 June, before the "
        "school holidays (Kickoff).",
        note(KICKOFF),
    )
    day.turn(
        LETTER,
        "q2",
        "What did passengers want to know when a boat was cancelled?",
        "Not why, but when it is decided and what happens to them then (Field research).",
        note("projects/ferrybook/Field research.md"),
        {"kind": "active_note"},
    )
    day.turn(
        LETTER,
        "q3",
        "Who proposed the new word?",
        "P3, the retired pilot: “decided at 18:00” (2026-04-16 Usability round).",
        note("meetings/2026-04-16 Usability round.md"),
        searched="decided at 18:00",
    )
    day.turn(
        LETTER,
        "q4",
        "What does the screen show before that hour, and did we plan it so at the kickoff?",
        "The departure with ◐ (Booking flow). The kickoff did not speak of screens.",
        note(KICKOFF),
        note("projects/ferrybook/Booking flow.md"),
        note("meetings/2026-03-24 Ferrybook review.md"),
    )
    day.turn(
        LETTER,
        "q5",
        "Does that fit the timetable?",
        "Yes: each dependent departure has its hour of decision the evening before (Timetable data).",
        note("projects/ferrybook/Timetable data.md"),
        note("projects/ferrybook/Ferrybook.md"),
    )


def interruptions(day: Morning) -> None:
    """Nine o'clock: a private call, a shared screen, and a diary that no agent shall read any more."""
    day.at("09:15")
    day.person.pause()
    day.at("09:31")
    day.person.resume()
    day.at("09:35")
    day.person.call("workspaced/share", {"client": "claude-code", "level": "names"})
    day.ask(day.claude, "get_workspace_context", includeContent=True)
    day.tell_claude()
    day.person.call("workspaced/share", {"client": "claude-code", "level": "all"})
    day.at("09:42")
    day.edit("daily/2026-04-17.md", "mood: tired, content", "mood: tired, content\nworkspaced: private")
    day.act(46, every_s=40)


def date_moves(day: Morning) -> None:
    """Ten o'clock: Imke moves the date. Nora changes it in VS Code; the writer is not shown that."""
    day.at("10:04")
    ferrybook = "projects/ferrybook/Ferrybook.md"
    day.show_in_other_editor(KICKOFF, [KICKOFF, ferrybook], focused=True)
    day.edit(KICKOFF, "**22 June**", "**29 June**, moved with Imke on 17 April")
    day.show_in_other_editor(ferrybook, [KICKOFF, ferrybook], focused=True)
    day.edit(ferrybook, "due: 2026-06-22", "due: 2026-06-29")
    day.edit("Home.md", "release 1 on 22 June", "release 1 on 29 June")
    day.tell_claude()
    day.show_in_other_editor(None, [], focused=False)
    day.act(48, every_s=30)
    day.ask(day.claude, "get_note_by_reference", reference="Kickoff")
    day.ask(day.claude, "get_note_by_reference", reference=KICKOFF)
    day.ask(day.claude, "get_note_diff", reference=KICKOFF)
    day.at("10:58")
    day.turn(
        LETTER,
        "q6",
        "Which of the six understood the sign?",
        "P1 and P3 (2026-04-16 Usability round).",
        note("meetings/2026-04-16 Usability round.md"),
    )


def wrong_answer(day: Morning) -> None:
    """A minute before eleven: the question, and the wrong answer. Then the glazes."""
    day.turn(
        LETTER,
        "q7",
        "One sentence for the letter: when do we deliver release 1?",
        "We deliver release 1 on 22 June, before the school holidays (Kickoff).",
    )
    day.turn(LETTER, "q8", "Shorter, please.", "Release 1 comes on 22 June.")
    day.at("11:10")
    day.act(58, every_s=35)
    day.tell_claude()
    day.ask(day.claude, "get_current_note", maxContentLength=400)
    day.act(65, every_s=35)
    day.ask(day.claude, "get_note_by_reference", reference="[[Heating quotes]]")
    day.ask(day.claude, "get_navigation_history", limit=10)
    day.tell_claude()
    day.ask(day.writer, "get_workspace_summary")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the log that `workspaced demo` leaves.")
    parser.add_argument("--output", type=Path, default=BUNDLE)
    parser.add_argument("--place", type=Path, default=PLACE, help="a folder for the vault and the daemon; emptied")
    chosen = parser.parse_args()
    day = Morning(chosen.place)
    for hour in (kitchen, ferry, interruptions, date_moves, wrong_answer):
        hour(day)
    day.bundle(chosen.output)
    shutil.rmtree(chosen.place)


if __name__ == "__main__":
    main()
