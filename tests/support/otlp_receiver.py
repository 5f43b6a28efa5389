"""A receiver of OTLP over HTTP: keeps the spans that come, or behaves as receivers do on a bad day."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.patience import PATIENCE_S


@dataclass(frozen=True)
class Received:
    """One span."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    is_error: bool
    attributes: Mapping[str, Any]
    schema_url: str

    @property
    def seq(self) -> int:
        seq: int = self.attributes["workspaced.seq"]
        return seq


class Receiver:
    """`with Receiver() as url`."""

    def __init__(self, status: int = 200, *, hangs: bool = False) -> None:
        """
        Args:
            status: of every answer; what is not taken is not kept.
            hangs: no answer comes before the end.
        """
        self.url = ""
        self.status = status
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.asked = threading.Event()
        """Set at the first request."""
        self._hangs = hangs
        self._spans: list[Received] = []
        self._came = threading.Condition()
        self._ended = threading.Event()

    def __enter__(self) -> str:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._take(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        self.asked.set()
        if self._hangs:
            self._ended.wait(PATIENCE_S)
            return
        is_ours = handler.path == "/v1/traces"
        if is_ours and self.status == 200:
            with self._came:
                self.bodies.append(body)
                self.headers.append({name.lower(): value for name, value in handler.headers.items()})
                self._spans += spans_in(body)
                self._came.notify_all()
        handler.send_response(self.status if is_ours else 404)
        handler.send_header("content-length", "0")
        handler.end_headers()

    def wait_for(self, count: int) -> list[Received]:
        """The spans, by their sequences, once so many came."""
        with self._came:
            assert self._came.wait_for(lambda: len(self._spans) >= count, PATIENCE_S), self._spans
            return sorted(self._spans, key=lambda span: (span.seq, span.name))

    @property
    def spans(self) -> list[Received]:
        """As `wait_for`: those that are there."""
        return self.wait_for(0)


def spans_in(body: bytes) -> Iterable[Received]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        assert {each.key: _value(each.value) for each in resource.resource.attributes}[
            "service.name"
        ] == "workspaced"
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    span.name,
                    span.kind,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.status.code == 2,
                    {each.key: _value(each.value) for each in span.attributes},
                    scope.schema_url,
                )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
