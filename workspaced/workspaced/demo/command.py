"""`workspaced demo`: a tour on a sample vault, with a real daemon, in a temporary directory."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import click
import msgspec
import platformdirs
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from workspaced_events.interpreter import installed_command, own_module
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay

from ..client.sync_client import SyncClient, connect
from ..discovery.autostart import end_started, reach_or_start
from ..discovery.own_files import DEMO_SOCKET
from ..errors import NoDaemon, TimedOut
from ..ipc.socket_path import default_socket
from ..limits import ON_DEMAND_IDLE_MINUTES
from ..terminal.options import given, json_option
from ..terminal.output import output
from ..terminal.printing import print_json, say
from .morning import EDITED, INSTALLED, LINE, QUESTION, copied, edit, leave_log

WORKSPACE = "demo"


class Story:
    """The demo's directory, daemon and screen."""

    def __init__(self, root: Path, console: Console) -> None:
        self.vault = root / "vault"
        self.data = root / "data"
        self.socket = root / DEMO_SOCKET
        self.console = console
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> SyncClient:
        """Starts the daemon and connects."""
        command = own_module("workspaced", "serve", "--vault", str(self.vault))
        command += ["--data-dir", str(self.data), "--socket", str(self.socket)]
        # A HOME of its own hides the demo's daemon from clients that look for running daemons.
        home = {**os.environ, "HOME": str(self.data.parent)}
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, env=home)  # noqa: S603
        assert self._process.stderr is not None
        output = []
        for line in self._process.stderr:
            output.append(line.decode(errors="replace"))
            if b"listening on" in line:
                return connect(self.socket, name="demo")
        raise NoDaemon("The demo's daemon did not start.", hint="".join(output)[-500:])

    def kill(self) -> None:
        """Kills the daemon with SIGKILL."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Ends the daemon if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=10)
        if self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()

    def heading(self, text: str) -> None:
        self.console.print()
        self.console.print(Rule(Text(text, style="bold cyan"), align="left", style="cyan"))

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style))

    def check(self, text: str, holds: bool) -> None:
        """Shows a claim and whether it holds; if not, the demo fails."""
        self.say(f"{'✓' if holds else '✗'} {text}", "green" if holds else "bold red")
        if not holds:
            raise click.ClickException(f"the demo found that this does not hold: {text}")


@click.command()
@click.option("--keep", is_flag=True, help="Keep the temporary directory.")
@click.option("--serve", is_flag=True, help="Only leave a copy of the sample vault served, to try commands on.")
@json_option
def demo_command(keep: bool, serve: bool) -> None:
    """The whole story on a sample vault: navigation in, what an agent sees, an edit, a crash, a replay.

    At its end it leaves the log of a morning in which an agent answers wrongly, for `workspaced inspect`.

    With --serve a daemon goes on serving a copy of the sample vault as the workspace `demo`.
    """
    if serve:
        serve_demo()
        return
    root = copied("vault")
    story = Story(root, Console(highlight=False, soft_wrap=True, quiet=bool(given("json"))))
    try:
        with resources.as_file(resources.files("workspaced.demo")) as package:
            actions = [json.loads(line) for line in (package / "session.jsonl").read_text().splitlines()]
            moments = json.loads((package / "session_moments.json").read_text())
        report = {**play(story, actions, moments), **show_morning(story)}
        if given("json"):
            print_json({**report, **({"kept": str(root)} if keep else {})})
    finally:
        story.stop()
        if keep:
            story.say(f"\nkept: {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)


def serve_demo() -> None:
    """Serves a fresh copy of the sample vault as the workspace `demo`, unless that is already running.

    Raises:
        NoDaemon: the daemon did not start; nothing is left of it.
    """
    if (client := _served()) is None:
        root = copied("notes")
        data = root / "data"
        own = {"WORKSPACE": WORKSPACE, "DATA_DIR": str(data), "CACHE_DIR": str(data / "cache")}
        os.environ.update({f"WORKSPACED_{name}": value for name, value in own.items()})  # the daemon inherits them
        socket = str(default_socket(WORKSPACE))
        try:
            client = reach_or_start(_served, vaults=[str(root / "notes")], socket_path=socket)
        except BaseException:
            with suppress(TimedOut):
                end_started()
            shutil.rmtree(root, ignore_errors=True)
            raise
    with client:
        vault = client.server["vaults"][0]["path"]
    output({"workspace": WORKSPACE, "vault": vault, "socket": str(client.path)}, _print_served)


def _served() -> SyncClient | None:
    try:
        return connect(workspace=WORKSPACE, name="demo")
    except NoDaemon:
        return None


def _print_served(answer: dict[str, str]) -> None:
    say(f"The sample vault is served as workspace {WORKSPACE}: {answer['vault']}")
    say(
        f"It ends with `workspaced stop --workspace {WORKSPACE}`, or {ON_DEMAND_IDLE_MINUTES} minutes after the "
        "last client."
    )
    say("Have the commands in this shell act on it:")
    say(f"  export WORKSPACED_WORKSPACE={WORKSPACE}")


def play(story: Story, actions: list[dict[str, Any]], moments: list[dict[str, Any]]) -> dict[str, Any]:
    """Plays the first four parts of the demo; returns what it did, for programs."""
    started = time.monotonic()
    notes = sum(1 for _ in story.vault.rglob("*.md"))
    story.heading(f"1  A person works in a vault of {notes} notes; an editor publishes what they do")
    client = story.start()
    published = 0
    for moment in moments:
        client.publish(actions[published : moment["after"]], source="demo-editor")
        published = moment["after"]
        show_moment(story, client, published, moment)
    if published < len(actions):
        client.publish(actions[published:], source="demo-editor")

    story.heading("2  A note is edited; the next answer is new")
    first = client.tool("get_note_by_reference", {"reference": EDITED})
    edit(story.vault)
    story.say(f"  {EDITED} gets one more line: “{LINE}”")
    second = client.tool("get_note_by_reference", {"reference": EDITED, "maxContentLength": 10000})
    story.check("the old answer did not have it", LINE not in first["data"]["content"])
    story.check("the next answer has it", LINE in second["data"]["content"])

    story.heading("3  The daemon is killed with SIGKILL and started again")
    before = client.state()
    client.close()
    story.kill()
    client = story.start()
    story.check("the state after the crash is the state before it", client.state() == before)

    story.heading("4  The log is folded without the daemon")
    live = client.state()
    client.call("workspaced/shutdown")
    client.close()
    story.stop()
    folded = replay(story.data)
    story.say(f"{folded.events} events folded")
    story.check(
        "the fold of the log equals what the daemon said",
        msgspec.json.decode(msgspec.json.encode(to_json(folded.state))) == live,
    )
    took_s = round(time.monotonic() - started, 1)
    story.say(f"\nAll of it took {took_s} s.")
    return {"ok": True, "notes": notes, "actions": len(actions), "events": folded.events, "seconds": took_s}


def show_moment(story: Story, client: SyncClient, published: int, moment: dict[str, Any]) -> None:
    """Shows the answers to an agent that asks for the context and the current note's outline."""
    answer = client.tool("get_workspace_context", {"includeContent": True, "maxContentLength": 300})
    data = answer["data"]
    story.say(f"\n{moment['title']}  (after {published} actions, event {answer['asOfSeq']})", "bold yellow")
    active = data["activeNote"]
    if active is not None:
        story.say(f"  active   {active['title']}  ({active['id']})", "bold")
        content = " ".join((active.get("content") or "").split())
        story.say(f"           {content[:160]}…", "dim")
    for key, label in (("pinnedNotes", "pinned"), ("temporaryTabs", "tab")):
        for note in data[key]:
            story.say(f"  {label:<8} {note['title']}  ({note.get('noteId', note['id'])})")
    story.say(f"  {data['summary']['totalNotes']} notes in view of {data['vaultInfo']['noteCount']}", "dim")
    story.say(f"  ask your agent: {moment['question']}", "italic")


def show_morning(story: Story) -> dict[str, Any]:
    """Leaves a log with a wrong answer in the user's cache directory, and says how to open it.

    Where that directory cannot be written to, the installed bundle is named instead.
    """
    folder = platformdirs.user_cache_path("workspaced")
    story.heading("5  A log to look into: a morning, two agents, one wrong answer")
    warnings = []
    try:
        log = leave_log(folder)
    except OSError as error:
        log = INSTALLED
        warnings = [
            f"The log cannot be copied to {folder} ({error.strerror}); it is opened where it is installed."
        ]
        story.say(f"  {warnings[0]}", "yellow")
    story.say(f"  {QUESTION}", "italic")
    command = _own_command()
    story.say(f"  Find it by clicking:  {command} inspect {_for_shell(log)}", "bold")
    story.say(f"\nNext: {command} start YOUR-NOTES", "bold")
    return {"log": str(log), "question": QUESTION, **({"warnings": warnings} if warnings else {})}


def _own_command() -> str:
    """The command as this shell finds it: `make demo` installs it where no shell looks."""
    if shutil.which("workspaced"):
        return "workspaced"
    program, *arguments = installed_command()
    near = os.path.relpath(program)
    return shlex.join([program if near.startswith(os.pardir) else near, *arguments])


def _for_shell(path: Path) -> str:
    """The path as a word of a command line, with `~` for the home directory."""
    home = Path.home()
    if path.is_relative_to(home) and home != path:
        return f"~/{shlex.quote(str(path.relative_to(home)))}"
    return shlex.quote(str(path))
