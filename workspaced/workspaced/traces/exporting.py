"""Sends spans to a receiver by OTLP over HTTP. Needs the extra `workspaced[traces]`.

The keys that a receiver wants are read from `OTEL_EXPORTER_OTLP_HEADERS` by the exporter, and are in no file.
"""

import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from ..__about__ import __version__
from .spans import SCHEMA_URL, Span

BATCH_MAX: Final = 512
"""Spans of one request, as the SDK's own default."""
_KINDS: Final = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
_SCOPE: Final = InstrumentationScope("workspaced", __version__, SCHEMA_URL)
_PATH: Final = "/v1/traces"


class Delivery:
    """Sends spans to one receiver in batches, and counts them. Blocks while a batch is sent; not thread-safe."""

    def __init__(self, url: str, timeout_s: float, failed_max: int | None = None) -> None:
        """
        Args:
            url: the receiver's; `/v1/traces` is added to its path unless it ends so.
            timeout_s: for each batch, with all attempts.
            failed_max: after so many batches in a row that were not taken, no more are tried; None: all are.
        """
        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        endpoint = parts._replace(path=path if path.endswith(_PATH) else path + _PATH).geturl()
        self._reasons = _Reasons()
        library = logging.getLogger("opentelemetry")
        library.propagate = False
        library.handlers[:] = [self._reasons]
        self._exporter = OTLPSpanExporter(endpoint, timeout=timeout_s)
        self._resource = Resource.create({"service.name": "workspaced", "service.version": __version__})
        self._failed_max = failed_max
        self._failed = 0
        """Batches since the last one that was taken."""
        self._batch: list[Span] = []
        self.sent = 0
        self.dropped = 0
        self.problem = ""
        """Why the last batch was not taken; empty: it was."""

    def add(self, spans: Sequence[Span]) -> None:
        """Sends what fills a batch; the rest waits for more."""
        self._batch += spans
        while len(self._batch) >= BATCH_MAX:
            self._send(self._batch[:BATCH_MAX])
            del self._batch[:BATCH_MAX]

    def flush(self) -> None:
        """Sends what waits."""
        if self._batch:
            self._send(self._batch)
            self._batch = []

    def _send(self, batch: Sequence[Span]) -> None:
        if self._failed_max is None or self._failed < self._failed_max:
            self._reasons.first = ""
            if self._exporter.export([*map(self._readable, batch)]) is SpanExportResult.SUCCESS:
                self.sent += len(batch)
                self._failed, self.problem = 0, ""
                return
            self._failed += 1
            self.problem = self._reasons.first or "the receiver does not take them"
        self.dropped += len(batch)

    def _readable(self, span: Span) -> ReadableSpan:
        parent = None
        if span.parent_id is not None:
            parent = SpanContext(span.trace_id, span.parent_id, is_remote=True, trace_flags=_SAMPLED)
        return ReadableSpan(
            name=span.name,
            context=SpanContext(span.trace_id, span.span_id, is_remote=False, trace_flags=_SAMPLED),
            parent=parent,
            resource=self._resource,
            attributes=span.attributes,
            kind=_KINDS[span.kind],
            instrumentation_scope=_SCOPE,
            status=Status(StatusCode.ERROR) if span.error else Status(StatusCode.UNSET),
            start_time=span.start_us * 1_000,
            end_time=span.end_us * 1_000,
        )


_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class _Reasons(logging.Handler):
    """The library only logs why it could not send: the first time with its cause, at last that it gave up."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage()[:300]
