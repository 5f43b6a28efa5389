"""`workspaced calls`: the recorded calls of agents, with their exact answers."""

from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import Any

import click
import msgspec

from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.replay.position import parse_position
from workspaced_tools.prompts.model.token_estimate import estimate_json_tokens
from workspaced_tools.recording.call_diff import compared
from workspaced_tools.recording.recorded_calls import (
    Listed,
    RecordedCall,
    Wanted,
    checked_call,
    listed,
    made_from,
    recorded_call,
    texts_of,
)

from .. import replay
from ..terminal.log import read_log
from ..terminal.options import WithList, daemon_options, given, utc_option
from ..terminal.output import output, output_rows, print_table
from ..terminal.printing import print_bytes, print_json, say, say_difference, say_text, styled
from ..terminal.screen import local_time

LIMIT = 20
ARGUMENTS_CHARS_SHOWN = 60


@click.group(name="calls", cls=WithList)
def calls_command() -> None:
    """What agents asked and were shown: list, show, diff.

    \b
    workspaced calls                     the latest calls; options as of `calls list`
    workspaced calls show 412 --result   the answer of call 412, to the byte
    workspaced calls diff 390 412        what differed, and why
    workspaced calls diff 390 391 bug.wsb --of RUN
                                         the same of a call that an agent made again in the past

    LOG is a data directory, an export, a bundle, or - for standard input; without it that of the running daemon
    is read, or where none runs the workspace's own.
    """


@calls_command.command("list")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--limit", type=click.IntRange(min=1), default=LIMIT, metavar="N", help=f"The latest N ({LIMIT}).")
@click.option("--tool", metavar="NAME", help="Only calls of this tool.")
@click.option("--client", "caller", metavar="NAME", help="Only calls of this client.")
@click.option("--failed", is_flag=True, help="Only calls that failed.")
@click.option("--since", metavar="SEQ|TIME", help="Only from this event, or this time, on.")
@utc_option
@daemon_options
def list_command(
    log: str | None, limit: int, tool: str | None, caller: str | None, failed: bool, since: str | None
) -> None:
    """List the latest calls, newest last."""
    wanted = Wanted(tool, caller, failed, parse_position(since) if since is not None else None)
    with read_log(log) as opened:
        if opened.damage is not None:
            raise opened.damage
        found = islice(filter(wanted.takes, reversed(opened.events())), limit)
        calls = [listed(event, opened.blob) for event in found][::-1]
    table = partial(print_table, right={0, 5, 6, 7}, drop=_DROPPED, wrap=4)
    output_rows(calls, lambda rows: table([_HEAD, *map(_row, rows)]), "no calls")


_DROPPED = (7, 5, 6, 2, 1)
"""TOOK, BYTES, ~TOKENS, CLIENT, TIME: what a narrow terminal does without, in this order."""
_HEAD = ("SEQ", "TIME", "CLIENT", "TOOL", "ARGUMENTS", "BYTES", "~TOKENS", "TOOK", "")


def _row(call: Listed) -> tuple[str, ...]:
    arguments = ", ".join(f"{name}={_json(value)}" for name, value in call.arguments.items())
    if call.arguments_sha256 is not None:
        arguments = "(long)"
    if len(arguments) > ARGUMENTS_CHARS_SHOWN:
        arguments = arguments[: ARGUMENTS_CHARS_SHOWN - 3] + "..."
    outcome = "ok" if call.ok else call.code or "failed"
    return (
        str(call.seq),
        local_time(call.time),
        call.caller,
        call.tool,
        arguments,
        f"{call.bytes:,}",
        f"{call.tokens:,}",
        _took(call.duration_us),
        outcome if call.kept else f"{outcome}, not kept",
    )


@calls_command.command("show")
@click.argument("seq", type=click.IntRange(min=1))
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--result", "only", flag_value="result", help="Only the answer, to the byte.")
@click.option("--text", "only", flag_value="text", help="Only the notes' text that it holds, for reading.")
@utc_option
@daemon_options
def show_command(seq: int, log: str | None, only: str | None) -> None:
    """Show one call: the event, what it was made from, and the answer exactly as it was served."""
    if only and given("json"):
        raise click.UsageError(f"--{only} and --json are two forms: give one.")
    with read_log(log) as opened:
        call = _call(opened, seq)
    if only == "result":
        print_bytes(call.answer())
    elif only == "text":
        texts = texts_of(call.answer())
        if not texts:
            say("The answer holds no note's text.", err=True)
        for note, content in texts:
            say(styled(f"--- {note}", bold=True))
            say_text("\n".join(content.splitlines()))
    elif given("json"):
        answer = msgspec.Raw(call.result) if call.result is not None else None
        print_json({**msgspec.structs.asdict(call), "result": answer})
        call.answer()
    else:
        _print_call(call)


def _call(log: replay.Log, seq: int) -> RecordedCall:
    event = next(log.events_of(after=seq - 1, before=seq + 1), None)
    if event is None and log.damage is not None:
        raise log.damage
    return recorded_call(checked_call(event, seq), log.blob)


def _print_call(call: RecordedCall) -> None:
    event, called = call.event, call.event.data
    tokens = f", about {estimate_json_tokens(call.result)} tokens" if call.result is not None else ""
    outcome = "ok" if called.ok else "failed"
    recorded = call.recording
    _print_sections(
        ("call", [f"{event.seq} at {local_time(event.time)}, of {called.tool} by {called.caller}"]),
        ("arguments", [_json(call.arguments) if call.arguments is not None else "long, and not kept"]),
        ("saw", [f"the state as of event {called.as_of_seq}, the log up to {called.tail}"]),
        ("answered", [f"{called.bytes} bytes{tokens}, in {_took(called.duration_us)}, {outcome}"]),
        ("made from", ["not recorded"] if recorded is None else made_from(recorded) or ["the log alone"]),
    )
    _print_sections(("answer", [call.answer().decode()]))  # last, since it may not be kept


def _print_sections(*sections: tuple[str, Iterable[str]]) -> None:
    """Prints the lines of each section, the first one after its word."""
    for word, texts in sections:
        for number, line in enumerate(texts):
            say(f"{'' if number else word:<10} {line}".rstrip())


@calls_command.command("diff")
@click.argument("first", type=click.IntRange(min=1), metavar="A")
@click.argument("second", type=click.IntRange(min=1), metavar="B")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--of", "other", metavar="LOG", help="B is a call of this log, such as that of a run in the past.")
@daemon_options
def diff_command(first: int, second: int, log: str | None, other: str | None) -> int:
    """How call B differs from call A: in what was asked, in the state, in the notes, in the answer.

    Exit code 0 where nothing does, 1 where something does.
    """
    with read_log(log) as opened, read_log(other) if other is not None else nullcontext(opened) as beside:
        one, two = _call(opened, first), _call(beside, second)
        difference = compared(one, two)
        seqs = [each.event.data.as_of_seq for each in (one, two)]
        moved = seqs[0] != seqs[1] or other is not None
        states = [_state(of, seq) if moved else None for of, seq in zip((opened, beside), seqs, strict=True)]
    unknown = moved and None in states
    changed = changes(states[0], states[1]) if states[0] is not None and states[1] is not None else []
    same = not (difference.call or difference.inputs or difference.answer or changed)
    asked, inputs, answer = difference.call, difference.inputs, difference.answer

    def tell(_: object) -> None:
        in_state = ["not in this log"] if unknown else lines(changed)
        _print_sections(("asked", asked), ("state", in_state), ("made from", inputs))
        say_difference(answer)

    output({"same": same, "call": asked, "state": changed, "inputs": inputs, "answer": answer}, tell)
    return 0 if same else 1


def _state(log: replay.Log, seq: int) -> StateJson | None:
    """The state after an event; None if the log begins later."""
    state = log.state_at(seq)
    return to_json(state) if state.seq <= seq else None


# -- printing --


def _took(microseconds: int) -> str:
    return f"{microseconds / 1_000:,.1f} ms"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
