"""`workspaced judge`: says whether an answer was right, and what a right one says."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import EventId, uuid7
from workspaced_events.replay.bundle import BundleSource, append_to_bundle
from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import ENTRY_OF, AnswerJudged
from workspaced_tools.recording.judgements import judgement_of

from .. import replay
from ..terminal.daemon import daemon
from ..terminal.options import daemon_options
from ..terminal.output import output, write_lines

_CHUNK_BYTES: Final = 1024 * 1024
_SPOOLED_BYTES_MAX: Final = 16 * 1024 * 1024
_SOURCE: Final = "workspaced-cli"


@click.command()
@click.argument("seq", type=click.IntRange(min=1), metavar="PROMPT|CALL")
@click.argument("verdict", type=click.Choice(["right", "wrong"]))
@click.argument("bundle", required=False, type=click.Path(path_type=Path), metavar="[BUNDLE]")
@click.option("--wanted", metavar="TEXT", help="What a right answer says; a wrong one must have it.")
@click.option("--why", metavar="TEXT", help="Your words, for whoever reads the test.")
@daemon_options
def judge_command(seq: int, verdict: str, bundle: Path | None, wanted: str | None, why: str | None) -> None:
    """Say that the answer to a prompt, or of a call, was right or wrong. It replaces an earlier judgement.

    It is an event of the running daemon's log; with BUNDLE it is appended to that file. `workspaced eval export`
    makes tests of what was judged.

    \b
    workspaced judge 163 wrong --wanted '29 June' --why 'Kickoff.md says so since 17 April.'
    """
    if bundle is None:
        said = {"of": seq, "verdict": verdict, "wanted": wanted, "why": why}
        with daemon(write=True) as connected:
            judged = int(connected.call("workspaced/judge", said)["seq"])
    else:
        with _held(bundle):
            judged = _in_bundle(bundle, seq, partial(judgement_of, verdict=verdict, wanted=wanted, why=why))
    output({"of": seq, "verdict": verdict, "seq": judged}, f"{seq} is judged {verdict}, as event {judged}")


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Waits until nobody else judges in the file, and keeps others out: each writes the file anew."""
    while path.is_file():  # what else it is `open_source` says
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):  # nobody has put a new one there meanwhile
                yield
                return
    yield


def _in_bundle(path: Path, seq: int, judgement: Any) -> int:
    """Appends the judgement to the bundle, and returns its sequence.

    Raises:
        InvalidArgument: it is no bundle, or a redacted one; or the event cannot be judged.
    """
    with open_source(path) as source:
        if not isinstance(source, BundleSource):
            raise InvalidArgument(f"{path} is no bundle.", hint="In the daemon's own log: leave the file out.")
        log = replay.Log(source)
        if log.redacted:
            raise InvalidArgument(
                f"{path} is redacted, and a judgement has your words.", hint="Judge the original."
            )
        events = log.events()
        event = next(log.events_of(after=seq - 1, before=seq + 1), None)
        data: AnswerJudged = judgement(event, seq)
        last = events[-1]
        time = max(system_clock(), last.time)
        vault = event.vault if event is not None else None
        judged = ENTRY_OF[AnswerJudged].event(last.seq + 1, EventId(uuid7()), time, _SOURCE, vault, data)
    with path.open("rb") as file, tempfile.SpooledTemporaryFile(_SPOOLED_BYTES_MAX) as draft:
        append_to_bundle(file, draft, judged)
        draft.seek(0)
        write_lines(iter(partial(draft.read, _CHUNK_BYTES), b""), path)
    return int(judged.seq)
