"""`workspaced traces`."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from workspaced_events.errors import WorkspacedError
from workspaced_events.replay.source import DirectorySource

from ..errors import SettingsInvalid
from ..settings.settings import check_packages, checked_url, load_settings
from ..terminal.log import read_log
from ..terminal.options import json_option
from ..terminal.output import output

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspaced_events.schema.catalogue import Event

    from .. import replay
    from .spans import Attributes

_TIMEOUT_S: Final = 10.0
_FAILED_MAX: Final = 2
"""After so many batches in a row that were not taken, the rest is not tried."""


@click.command()
@click.argument("log", metavar="LOG")
@click.option("--otlp", "url", required=True, metavar="URL", help="The receiver, such as http://localhost:4318.")
@click.option("--texts", "with_texts", is_flag=True, help="Also what calls asked and answered; of a directory.")
@json_option
def traces_command(log: str, url: str, with_texts: bool) -> None:
    """Send the calls, prompts and volunteered contexts of LOG to a receiver of OpenTelemetry traces, once.

    LOG is a data directory, an export, a bundle, or - for standard input. The spans have the same ids each time,
    and name the event that `workspaced inspect LOG --at SEQ` shows. A key of the receiver's is read from
    OTEL_EXPORTER_OTLP_HEADERS.

    No text leaves: neither arguments, answers nor names of notes. With --texts those of calls do, and what agents
    were told unasked, but for each that names a note which may not be shown to agents unasked at present.

    While a daemon runs, it sends them by itself where `[traces] otlp = URL` stands in config.toml.
    """
    try:
        checked_url(url)
    except ValueError as error:
        raise SettingsInvalid(f"{error}.") from None
    check_packages("`workspaced traces`")
    from .exporting import Delivery
    from .spans import Spans

    delivery = Delivery(url, _TIMEOUT_S, failed_max=_FAILED_MAX)
    with read_log(log) as opened:
        spans = Spans(opened.log_id, _texts(log, opened)) if with_texts else Spans(opened.log_id)
        for event in opened.events():
            delivery.add(spans.feed(event))
        delivery.add(spans.rest())
        delivery.flush()
        damage = opened.damage
    if delivery.dropped:
        raise WorkspacedError(
            f"{delivery.dropped} of {delivery.sent + delivery.dropped} spans were not delivered to {url}: "
            f"{delivery.problem}",
            hint="Once the receiver works, send them again: they have the same ids.",
            code="NOT_DELIVERED",
            sent=delivery.sent,
            dropped=delivery.dropped,
        )
    if damage is not None:
        raise damage
    output({"sent": delivery.sent}, f"{delivery.sent} spans sent to {url}")


def _texts(log: str, opened: "replay.Log") -> "Callable[[Event], Attributes]":
    """What may leave of each event's texts, by what the whole log knows of its notes.

    Raises:
        SettingsInvalid: the log is an export or a bundle, which does not say which notes may be shown.
    """
    from .texts import Texts

    data = Path(log)
    if not data.is_dir():
        raise SettingsInvalid(
            "--texts needs a data directory: an export or a bundle does not say which notes are withheld.",
            hint="Send its spans without texts.",
        )
    settings = load_settings()
    texts = Texts(DirectorySource(data).root, settings.deny, settings.on_request)
    for event in opened.events():
        texts.feed([event])
    return texts.of
