"""A tap before a server: `with Tap(url) as url` it passes each request on, and keeps its body as it came."""

import threading
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PIECE = 65_536
WAIT_S = 60


@dataclass
class Tap:
    target: str
    bodies: list[bytes] = field(default_factory=list)

    def __enter__(self) -> str:
        target, bodies = urlsplit(self.target), self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(body)
                connection = HTTPConnection(str(target.hostname), target.port, timeout=WAIT_S)
                headers = {name.lower(): value for name, value in self.headers.items()}
                headers |= {"host": target.netloc, "accept-encoding": "identity"}
                connection.request("POST", target.path + self.path, body, headers)
                response = connection.getresponse()
                self.send_response(response.status)
                self.send_header("Content-Type", response.headers["Content-Type"])
                self.end_headers()
                while piece := response.read1(PIECE):
                    self.wfile.write(piece)
                    self.wfile.flush()
                connection.close()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
