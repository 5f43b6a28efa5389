"""The command line. A command's module lies beside its program; it is imported when the command runs, so that all
start fast."""

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from workspaced_events.errors import WorkspacedError

from ..__about__ import __version__
from ..errors import wire
from ..terminal.printing import print_json, say, say_text, styled

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

GROUPS: Final = {
    "Start": {
        "start": (
            "connecting.start_command",
            "Serve a folder in the background, and connect the agents that are installed.",
        ),
        "serve": ("cli.daemon.serve", "Run the daemon for one or more vaults."),
        "status": ("cli.daemon.status", "What the daemon is doing."),
        "stop": ("cli.daemon.status", "Stop the daemon in good order."),
        "doctor": ("cli.daemon.doctor", "Look for problems; say the fix for each."),
        "connect": (
            "connecting.connect_command",
            "Connect an agent's program with a vault; list what is connected.",
        ),
        "service": ("service_units.command", "Have the daemon start with the user's session."),
        "uninstall": ("cli.setup.uninstall", "Remove what workspaced has left on this machine, once you agree."),
        "demo": ("demo.command", "The whole story on a sample vault, in a temporary directory, in seconds."),
    },
    "Daily": {
        "publish": ("cli.workspace.publish", "Publish an action, or actions from standard input."),
        "state": ("cli.workspace.state", "The folded state of the workspace."),
        "watch": ("cli.workspace.state", "Follow events as they are recorded."),
        "tools": ("cli.workspace.state", "List the tools agents may call."),
        "call": ("cli.workspace.state", "Call a tool as an agent would."),
        "context": (
            "cli.prompts.context",
            "What prompts held, layer by layer, and what became of the provider's cache.",
        ),
        "calls": ("recording.calls_command", "What agents asked and were shown: list, show, diff."),
        "judge": ("evals.judge_command", "Say that an answer was right or wrong, and what a right one says."),
        "inspect": ("inspector.command", "A page that shows what agents were shown, why, and what it cost."),
        "memory": ("memory.command", "What agents wrote into the memory folder: list, undo."),
        "link": ("peers.command", "One workspace on several machines: link daemons, see how far they are."),
    },
    "Privacy": {
        "share": ("cli.workspace.share", "How much a client of the tools is shown: all, names or none."),
        "why": ("cli.workspace.share", "Why a note is shown to agents or not."),
        "pause": ("journal.command", "Record nothing and answer agents nothing for a while."),
        "resume": ("journal.command", "End a pause."),
        "forget": ("cli.log.forget", "Make the log forget a note, while the daemon is stopped."),
    },
    "Debugging": {
        "log": ("cli.log.log", "Export, verify, show, search and shrink the event log."),
        "eval": ("evals.eval_command", "Tests from judged answers, for pytest, Inspect and promptfoo."),
        "replay": ("cli.log.replay", "Fold a log without a daemon."),
        "bundle": ("cli.log.bundle", "Put the log's last events into one file that replays anywhere."),
        "traces": ("traces.command", "Send recorded calls and prompts to a receiver of OpenTelemetry traces."),
    },
    "Building with it": {
        "mcp": ("cli.daemon.mcp", "Serve an agent over standard input and output."),
        "hook": (
            "hooks.command",
            "Answer a hook of an agent's runtime: tell what changed before the user's eyes.",
        ),
        "proxy": ("proxy.command", "Put context into any runtime's requests on their way to the provider."),
        "ide": (
            "editor_link.command",
            "Be the editor that Claude Code in a terminal connects to, for all that publish to us.",
        ),
        "lsp": (
            "lsp.command",
            "A language server for any editor: shows agents what is open, and completes links.",
        ),
        "completion": ("cli.setup.manual", "Print the script that completes commands and names in a shell."),
        "manual": ("cli.setup.manual", "Print the man page."),
        "path": ("cli.setup.manual", "Print where a part of this installation is, such as the Neovim plugin."),
        "schema": ("cli.daemon.schema", "Print or check the JSON Schemas."),
    },
}
"""The commands as --help shows them: for each its module, beside its program if it has one, and its line, which is
shown without an import."""

COMMANDS: Final = {name: row for group in GROUPS.values() for name, row in group.items()}


_BELOW: Final = ("log find", "log search", "log shrink", "service install")
"""Commands that people look for here."""


class LazyGroup(click.Group):
    """A group that imports only the module of the requested command."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"..{COMMANDS[name][0]}", __name__)
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=[*COMMANDS, *_BELOW], ctx=ctx
            ) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_module, line) in commands.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workspaced")
def cli() -> None:
    """What an editor's user is looking at, recorded as events, served to AI agents, replayable to the byte."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits with the code of the outcome (see `workspaced.errors.CODES`)."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    Prints every expected error as one line on stderr; with `--json` also as one JSON line on standard output.
    """
    stdout = sys.stdout
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        returned: Any = cli.main(args=arguments, prog_name="workspaced", standalone_mode=False)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        return _reader_left()
    except SystemExit:
        if sys.stdout is stdout:
            raise
        return _reader_left()  # click replaces stdout by a muted stream when the pipe is broken
    except (click.ClickException, WorkspacedError, UnicodeEncodeError, OSError) as error:
        return _report(error, as_json=as_json)
    return returned if isinstance(returned, int) else 0


def _reader_left() -> int:
    """The reader of our output has closed it (`| head`), which is no error. Silences Python's error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failure(error: Exception) -> tuple[str, str, str, int]:
    """The code of an error, its message, its hint and the exit code."""
    match error:
        case WorkspacedError():
            index = error.details.get("index")
            where = f" (action {index})" if index is not None else ""
            return (error.code, f"{error.message}{where}", error.hint, wire(error.code).exit)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx is not None else "workspaced"
            return ("INVALID_ARGUMENT", error.format_message(), f"See `{path} --help`.", error.exit_code)
        case click.ClickException():
            return ("INTERNAL", error.format_message(), "", error.exit_code)
        case UnicodeEncodeError():
            message = "An argument is not valid UTF-8; notes have UTF-8 names."
            return ("INVALID_ARGUMENT", message, "", 2)
        case OSError():
            message = f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")
            return ("READ_ERROR", message, "", 1)
    raise error


def _report(error: Exception, *, as_json: bool) -> int:
    """Prints the error on stderr, and with `as_json` as JSON on standard output; returns the exit code."""
    code, message, hint, exit_code = _failure(error)
    if as_json:
        try:
            print_json({"error": {"code": code, "message": message, "hint": hint}})
        except BrokenPipeError:
            _reader_left()
    if isinstance(error, click.ClickException):
        error.show(shown := io.StringIO())
        say_text(shown.getvalue(), err=True)
        return exit_code
    bracketed = "" if isinstance(error, OSError) else f" [{code}]"
    first, *rest = f"{message}{bracketed}".split("\n")
    say(styled("workspaced:", fg="red"), f" {first}", err=True)
    for line in (*rest, *([f"  {hint}"] if hint else [])):
        say_text(line, err=True)
    return exit_code
