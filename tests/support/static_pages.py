"""A server of a test's own pages, under the Content Security Policy of the inspector's page."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


@contextmanager
def serve(pages: Mapping[str, str], vendor: Path) -> Iterator[str]:
    """Serves `pages` (path, such as `/index.html`, to text) and the folder `vendor` below `/vendor/`.

    Gives the address, without a slash at its end. Only pages, scripts and styles are there.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = PurePosixPath(self.path)
            file = vendor / path.name
            body = pages[self.path].encode() if self.path in pages else None
            if body is None and path.parent == PurePosixPath("/vendor") and file.is_file():
                body = file.read_bytes()
            found = body is not None and path.suffix in TYPES
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", TYPES.get(path.suffix, "text/plain"))
            self.send_header("Content-Security-Policy", CSP)
            self.send_header("Content-Length", str(len(body or b"") if found else 0))
            self.end_headers()
            if body is not None and found:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
