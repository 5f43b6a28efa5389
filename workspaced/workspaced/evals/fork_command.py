"""`workspaced replay LOG --prompt SEQ`: a recorded prompt with other notes, and what models answer to it, checked
by a shell command of the user's."""

import os
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import note_id
from workspaced_events.interrupts import interrupts_held_back
from workspaced_tools.limits import NOTE_BYTES_MAX

from ..errors import SettingsInvalid
from ..terminal.log import read_log
from ..terminal.options import pairs
from ..terminal.output import output
from ..terminal.printing import say, say_difference, say_text, styled

if TYPE_CHECKING:
    from .fork import Fork
    from .models import Answer


RIGHT, WRONG, CANNOT_TELL = 0, 1, 125
"""Exit codes, as for `git bisect run`."""


class Check:
    """A shell command that gets an answer on its standard input; its exit code says whether it is right.

    After the time limit, or if the caller is interrupted, the command is killed with all its child processes.
    """

    def __init__(self, command: str, timeout_s: float) -> None:
        """
        Raises:
            InvalidArgument: the command is empty, so the shell would say that all is as it should be.
        """
        if not command.strip():
            raise InvalidArgument("The command is empty.", hint="Give one whose exit code tells, see --help.")
        self._command = command
        self._timeout_s = timeout_s

    def __call__(self, text: str) -> bool | None:
        """What the command says of `text`; None: it cannot tell.

        Raises:
            WorkspacedError: it ended with another exit code, was killed, or took too long.
        """
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(text.encode() + b"\n")
            given.seek(0)
            code = self._exit_code(given.fileno(), errors.fileno())
            if code in (RIGHT, WRONG, CANNOT_TELL):
                return None if code == CANNOT_TELL else code == RIGHT
            errors.seek(0, os.SEEK_END)
            errors.seek(max(0, errors.tell() - 500))
            stderr = errors.read().decode(errors="replace").strip()
        ended = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
        raise WorkspacedError(
            f"The command {ended} for the answer{': ' + stderr if stderr else '.'}",
            hint="Expected 0 (right), 1 (wrong) or 125 (cannot tell).",
        )

    def _exit_code(self, given: int, errors: int) -> int:
        process: subprocess.Popen[bytes] | None = None
        try:
            with interrupts_held_back():  # until we know which process to kill
                process = subprocess.Popen(  # noqa: S603 (the user's own command)
                    ["/bin/sh", "-c", self._command],
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,  # so that child processes are killed too
                )
            process.wait(self._timeout_s)
        except BaseException as error:
            if process is None:
                raise
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise WorkspacedError(
                f"The command took longer than {self._timeout_s:g} s.", hint="Give it more with --timeout."
            ) from None
        return process.returncode


F = TypeVar("F", bound=Callable[..., Any])
_TIMEOUT_S: Final = 120.0
_NAMES: Final = ("prompt", "models", "base_url", "with_", "without", "check", "timeout_s")


class Forked(msgspec.Struct, frozen=True):
    """What the options say."""

    prompt: int | None
    models: tuple[str, ...]
    base_url: str | None
    notes: dict[str, str | None]
    check: str | None
    timeout_s: float

    def run(self, log: str) -> int:
        """Prints the prompt and the answers; returns the exit code."""
        from ..settings.prices import current_prices
        from .fork import fork
        from .models import Models

        assert self.prompt is not None
        if bool(self.models) != (self.base_url is not None):
            raise SettingsInvalid(
                "--model and --base-url belong together.", hint="Without both no model is asked."
            )
        if self.check is not None and not self.models:
            raise SettingsInvalid(
                "--check is about the answers of models.", hint="Name them with --model and --base-url."
            )
        models = Models(self.base_url, timeout_s=self.timeout_s) if self.base_url is not None else None
        check = Check(self.check, self.timeout_s) if self.check is not None else None
        prices, _ = current_prices()
        with read_log(log) as opened:
            if opened.damage is not None:
                raise opened.damage
            made = fork(opened, self.prompt, self.notes, models, self.models, check=check, prices=prices)
        output(made, lambda made: _print(made, prices.currency))
        is_good = (each.state == "answered" and each.verdict in (None, "right") for each in made.answers)
        return 0 if all(is_good) else 1


def fork_options(function: F) -> F:
    """The options of `--prompt`, as one argument `forked`."""

    @wraps(function)
    def command(*given: Any, **options: Any) -> Any:
        prompt, models, base_url, texts, without, check, timeout_s = (options.pop(name) for name in _NAMES)
        others = (models, base_url, texts or None, without or None, check)
        if prompt is None and any(each is not None for each in others):
            raise click.UsageError("--model, --base-url, --with, --without and --check belong to --prompt.")
        named = [*(each.partition("=")[0] for each in texts), *without]
        if twice := [note for note, times in Counter(named).items() if times > 1]:
            raise click.UsageError(f"--with and --without name a note once, and {twice[0]} is named more often.")
        notes: dict[str, str | None] = {note_id(note): _text(file) for note, file in pairs(texts).items()}
        notes |= dict.fromkeys(map(note_id, without))
        names = tuple(name for name in (models or "").split(",") if name)
        return function(*given, forked=Forked(prompt, names, base_url, notes, check, timeout_s), **options)

    decorated: Any = command
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


_OPTIONS: Final = (
    click.option("--prompt", type=click.IntRange(min=1), metavar="SEQ", help="Look at this recorded prompt."),
    click.option("--model", "models", metavar="A,B", help="Of the prompt: ask these models."),
    click.option(
        "--base-url", metavar="URL", help="Their server, as SDKs take it: chat completions lie below it."
    ),
    click.option(
        "--with",
        "with_",
        multiple=True,
        metavar="NOTE=FILE",
        help="As if NOTE had had the text of FILE; if the prompt did not show it, as if it had been attached.",
    ),
    click.option("--without", multiple=True, metavar="NOTE", help="As if NOTE had not been there."),
    click.option("--check", metavar="CMD", help="Gets an answer; exit code 0: right, 1: wrong, 125: cannot tell."),
    click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0.1),
        default=_TIMEOUT_S,
        show_default=True,
        metavar="S",
        help="How long a model, or the check, may take.",
    ),
)


def _text(file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(NOTE_BYTES_MAX + 1)
        if len(content) > NOTE_BYTES_MAX:
            raise InvalidArgument(f"Cannot read {file}: it has more than {NOTE_BYTES_MAX:,} bytes.")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArgument(f"Cannot read {file}: {why}.") from None


def _print(made: "Fork", currency: str) -> None:
    for note in made.attached:
        say(f"{note} was not in the prompt; it is attached.")
    if made.changes:
        say_difference(made.changes)
    if made.recorded is not None:
        say(styled("--- answered then", bold=True))
        say_text(made.recorded)
    for answer in made.answers:
        say(styled(f"--- {answer.model}", bold=True), f": {_facts(answer, currency) or 'answered'}")
        for call in answer.calls:
            said = msgspec.json.encode(call.arguments).decode()
            say(f"called {call.tool}({said}){'' if call.recorded else ', which was not recorded'}")
        if answer.text:
            say_text(answer.text)


def _facts(answer: "Answer", currency: str) -> str:
    verdict = [answer.verdict] if answer.verdict is not None else []
    state = [answer.state.replace("_", " ")] if answer.state != "answered" else []
    tokens = [f"{answer.input_tokens:,} tokens in, {answer.cached_tokens:,} of them cached"]
    tokens += [f"{answer.output_tokens:,} out"]
    cost = [f"{answer.cost:.4f} {currency}"] if answer.cost is not None else []
    facts = ", ".join([*verdict, *state, *(tokens if answer.input_tokens else []), *cost])
    return f"{facts}; {answer.why}" if answer.why else facts
