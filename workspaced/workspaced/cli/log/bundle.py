"""`workspaced bundle`."""

import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from workspaced_events.replay.log_slice import LAST_EVENTS, cut
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_tools.privacy.recording_redaction import under_pseudonyms

from ...finding.command import write_bundle
from ...terminal.log import open_log
from ...terminal.options import bundle_option, daemon_options, visibility_option
from ...terminal.output import output, print_warnings, segment_progress, write_lines
from ...terminal.printing import counted, say

_CHUNK_BYTES: Final = 1024 * 1024
_SPOOLED_BYTES_MAX: Final = 16 * 1024 * 1024
_UNREDACTED: Final = (
    "It holds the text of notes that agents were shown, paths, and selections. Look whom you give it to, "
    "or make one with --redact."
)
_REDACTED: Final = (
    "Names and texts are pseudonyms. What can still be seen: what happened when, how folders and notes are "
    "structured, how long each word is, and which words are the same."
)


@click.command()
@bundle_option
@click.option("--last", type=click.IntRange(min=1), metavar="N", help=f"So many events (default: {LAST_EVENTS}).")
@click.option("--from", "since", metavar="SEQ|TIME", help="From this event on, or from this time on.")
@click.option("--to", "until", metavar="SEQ|TIME", help="Up to this event, or this time (default: the last one).")
@click.option("--redact", is_flag=True, help="Put pseudonyms for names, paths and texts.")
@visibility_option
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False),
    metavar="D",
    help="Read this directory; no daemon needed.",
)
@daemon_options
def bundle_command(
    to: Path,
    last: int | None,
    since: str | None,
    until: str | None,
    redact: bool,
    with_visibility: bool,
    data_dir: str | None,
) -> None:
    """Put the last events of the log into one file, with all that replaying them needs.

    `workspaced replay FILE --verify` then makes the same calls of tools again, on any machine and without the
    vault. Whatever reads a log takes the file.

    A bundle holds the text of notes as agents were shown it; look whom you give it to. With --redact it holds
    pseudonyms instead, under which the same calls give the same answers.
    """
    if last is not None and since is not None:
        raise click.UsageError("--last counts back from the end; with --from leave it out.")
    if redact and with_visibility:
        raise click.UsageError("Redaction leaves out which notes are withheld: give one of the two options.")
    begin, end = (parse_position(each) if each is not None else None for each in (since, until))
    is_in_reverse = isinstance(begin, int) and isinstance(end, int) and begin > end
    if is_in_reverse or (isinstance(begin, str) and isinstance(end, str) and begin > end):
        raise click.UsageError(f"--from {since} comes after --to {until}: nothing lies between them.")
    with ExitStack() as open_until_written:
        source = open_until_written.enter_context(open_log(data_dir))
        draft = open_until_written.enter_context(tempfile.SpooledTemporaryFile(_SPOOLED_BYTES_MAX))
        with segment_progress("reading") as progress:
            part = cut(source, last=last or LAST_EVENTS, since=begin, until=end, progress=progress)
        lost = 0
        if redact:
            redacted = open_until_written.enter_context(under_pseudonyms(part))
            part, lost = redacted.part, redacted.calls_lost
        manifest = write_bundle(draft, part, redacted=redact, visibility=with_visibility)
        size = draft.tell()
        draft.seek(0)
        write_lines(iter(partial(draft.read, _CHUNK_BYTES), b""), to)
    facts = {
        "output": str(to),
        "bytes": size,
        "first": manifest.first,
        "last": manifest.last,
        "calls": sum(isinstance(event.data, ToolCalled) for event in part.events),
        "callsLost": lost,
        "missing": manifest.missing,
        "redacted": manifest.redacted,
    }
    print_warnings(part.warnings)
    output(facts, _report)


def _report(facts: dict[str, Any]) -> None:
    events = f"events {facts['first']} to {facts['last']}"
    size = max(1, facts["bytes"] // 1024)
    say(f"{facts['output']}: {events}, {counted(facts['calls'], 'call')} of tools, {size} KiB", err=True)
    if facts["callsLost"]:
        say(
            f"{facts['callsLost']} calls cannot be made again under pseudonyms; what they read was left out.",
            err=True,
        )
    elif facts["missing"]:
        gone = f"{len(facts['missing'])} blobs that they name are not kept any more"
        say(f"{gone}; those calls cannot be replayed.", err=True)
    say(_REDACTED if facts["redacted"] else _UNREDACTED, err=True)
