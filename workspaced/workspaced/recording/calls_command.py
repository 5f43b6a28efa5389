"""`workspaced calls`: the recorded calls of agents, with their exact answers."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import Any

import click
import msgspec

from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import Event
from workspaced_tools.prompts.model.token_estimate import (
    CHARS_PER_JSON_TOKEN,
    CHARS_PER_TOKEN,
    estimate_json_tokens,
)
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
from workspaced_tools.recording.reported_prompts import ReportedCounter, ReportedPrompts
from workspaced_tools.recording.usage import SESSION_PAUSE_MINUTES, Usage, UsageCounter

from .. import replay
from ..terminal.log import open_log, read_log
from ..terminal.options import daemon_options, given, utc_option
from ..terminal.output import output, output_rows, print_table, print_warnings, segment_progress
from ..terminal.printing import counted, print_bytes, print_json, say, say_difference, say_text, styled
from ..terminal.screen import local_time, print_labelled

LIMIT = 20
ARGUMENTS_CHARS_SHOWN = 60
ESTIMATE = (
    f"Tokens are an estimate: {CHARS_PER_JSON_TOKEN} characters of JSON to one, {CHARS_PER_TOKEN} of a text, "
    "of Chinese, Japanese and Korean one character."
)


class _WithList(click.Group):
    """A group whose default command is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="calls", cls=_WithList)
def calls_command() -> None:
    """What agents asked and were shown: list, show, diff, stats.

    \b
    workspaced calls                     the latest calls; options as of `calls list`
    workspaced calls show 412 --result   the answer of call 412, to the byte
    workspaced calls diff 390 412        what differed, and why
    workspaced calls diff 390 391 bug.wsb --of RUN
                                         the same of a call that an agent made again in the past
    workspaced calls stats               what was served to whom, and what would have been cheaper

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
    log: str | None,
    limit: int,
    tool: str | None,
    caller: str | None,
    failed: bool,
    since: str | None,
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
        _print_text(call)
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


def _print_text(call: RecordedCall) -> None:
    texts = texts_of(call.answer())
    if not texts:
        say("The answer holds no note's text.", err=True)
    for text in texts:
        say(styled(f"--- {text.note}", bold=True))
        say_text("\n".join(text.content.splitlines()))


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


@calls_command.command("stats")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--client", "caller", metavar="NAME", help="Only calls of this client.")
@click.option("--since", metavar="SEQ|TIME", help="Only from this event, or this time, on.")
@daemon_options
def stats_command(log: str | None, caller: str | None, since: str | None) -> None:
    """Count what was served to whom: calls, tokens, times; what was asked twice; what would have been cheaper.

    Of prompts whose tokens a provider reported, its counts stand beside our estimates.
    """
    wanted = Wanted(caller=caller, since=parse_position(since) if since is not None else None)
    with open_log(log) as source:
        counter, reported = UsageCounter(source.blob), ReportedCounter(wanted)

        def feed(events: Sequence[Event]) -> None:
            counter.feed(filter(wanted.takes, events))
            reported.feed(events)

        with segment_progress("reading") as progress:
            warnings = source.feed(feed, progress)
    print_warnings(warnings)
    stats = _Stats(**msgspec.structs.asdict(counter.usage()), prompts=reported.sums())
    output(stats, _print_stats)


class _Stats(Usage, frozen=True, kw_only=True):
    prompts: list[ReportedPrompts]


def _print_stats(stats: _Stats) -> None:
    _print_usage(stats)
    if not stats.prompts:
        return
    print_labelled("", "Of prompts, the tokens that the provider counted, beside our estimate:")
    head = ("CLIENT", "MODEL", "PROMPTS", "~TOKENS", "TOKENS", "CACHED", "OUT")
    rows = [
        (each.caller, f"{each.provider}/{each.model}", *(f"{count:,}" for count in _counts(each)))
        for each in stats.prompts
    ]
    print_table([head, *rows], right={2, 3, 4, 5, 6}, drop=(6, 2, 5), wrap=1)


def _counts(each: ReportedPrompts) -> tuple[int, ...]:
    return each.prompts, each.estimate, each.input_tokens, each.cached_tokens, each.output_tokens


_STATS_DROPPED = (6, 4, 7, 3, 8, 5)
"""P50, BYTES, P99, FAILED, REPEATED, ~TOKENS."""


def _print_usage(usage: Usage) -> None:
    if not usage.calls:
        say("no calls", err=True)
        return
    tokens = sum(each.tokens for each in usage.used)
    print_labelled(
        "",
        f"{counted(usage.calls, 'call')} in {counted(usage.sessions, 'session')}, about {tokens:,} tokens served",
    )
    print_labelled(
        "", f"{ESTIMATE} A session is one client's calls, at most {SESSION_PAUSE_MINUTES} minutes apart."
    )
    if usage.not_kept:
        print_labelled("", f"Of {usage.not_kept} calls the answer is not kept; its bytes give their tokens.")
    head = ("CLIENT", "TOOL", "CALLS", "FAILED", "BYTES", "~TOKENS", "P50", "P99", "REPEATED")
    rows = [
        (
            each.caller,
            each.tool,
            str(each.calls),
            str(each.failures),
            f"{each.bytes:,}",
            f"{each.tokens:,}",
            _took(each.p50_us),
            _took(each.p99_us),
            str(each.repeated),
        )
        for each in usage.used
    ]
    print_table([head, *rows], right={2, 3, 4, 5, 6, 7, 8}, drop=_STATS_DROPPED, wrap=1)
    repeated = sum(each.repeated for each in usage.used)
    if repeated:
        again = sum(each.repeated_tokens for each in usage.used)
        print_labelled(
            "",
            f"{repeated} of {usage.calls} calls repeated an answer that the client had: about {again:,} tokens.",
        )
    for each in usage.advised:
        who = f"{each.caller}, {each.tool}"
        print_labelled(
            "", f"{who}: {counted(each.calls, 'call')}, about {each.tokens:,} tokens, such as call {each.example}"
        )
        print_labelled(" ", each.advice)


# -- printing --


def _took(microseconds: int) -> str:
    return f"{microseconds / 1_000:,.1f} ms"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
