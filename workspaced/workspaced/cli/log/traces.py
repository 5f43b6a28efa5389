"""`workspaced traces`."""

from typing import Final

import click

from ...errors import NotDelivered, SettingsInvalid
from ...traces.settings import check_packages, checked_url
from ..shared.log import read_log
from ..shared.options import json_option
from ..shared.output import output

_TIMEOUT_S: Final = 10.0
_FAILED_MAX: Final = 2
"""After so many batches in a row that were not taken, the rest is not tried."""


@click.command()
@click.argument("log", metavar="LOG")
@click.option("--otlp", "url", required=True, metavar="URL", help="The receiver, such as http://localhost:4318.")
@json_option
def traces_command(log: str, url: str) -> None:
    """Send the calls, prompts and volunteered contexts of LOG to a receiver of OpenTelemetry traces, once.

    LOG is a data directory, the file of an export or a bundle, or - for one on standard input. The spans have the
    same ids each time, and name the event that `workspaced inspect LOG --at SEQ` shows. No text leaves: neither
    arguments, answers nor names of notes. A key of the receiver's is read from OTEL_EXPORTER_OTLP_HEADERS.

    While a daemon runs, it sends them by itself where `[traces] otlp = URL` stands in config.toml.
    """
    try:
        checked_url(url)
    except ValueError as error:
        raise SettingsInvalid(f"{error}.") from None
    check_packages("`workspaced traces`")
    from ...traces.exporting import Delivery
    from ...traces.spans import Spans

    delivery = Delivery(url, _TIMEOUT_S, failed_max=_FAILED_MAX)
    with read_log(log) as opened:
        spans = Spans(opened.log_id)
        for event in opened.events():
            delivery.add(spans.feed(event))
        delivery.add(spans.rest())
        delivery.flush()
        damage = opened.damage
    if delivery.dropped:
        raise NotDelivered(
            f"{delivery.dropped} of {delivery.sent + delivery.dropped} spans were not delivered to {url}: "
            f"{delivery.problem}",
            hint="Once the receiver works, send them again: they have the same ids.",
            sent=delivery.sent,
            dropped=delivery.dropped,
        )
    if damage is not None:
        raise damage
    output({"sent": delivery.sent}, f"{delivery.sent} spans sent to {url}")
