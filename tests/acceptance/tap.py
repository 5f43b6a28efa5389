"""Runs a server of MCP's stdio transport and writes down every line that passes: `tap.py RECORD -- COMMAND...`.

A line of RECORD is `client` or `server`, a space and the line as it went by.
"""

import subprocess
import sys
import threading
from typing import BinaryIO


def copy(sender: bytes, source: BinaryIO, sink: BinaryIO, record: BinaryIO, lock: threading.Lock) -> None:
    """Copies lines until there are no more, each written down before it goes on."""
    for line in source:
        with lock:
            record.write(sender + b" " + line)
            record.flush()
        sink.write(line)
        sink.flush()
    sink.close()


def main() -> int:
    _, path, dashes, *command = sys.argv
    assert dashes == "--" and command, __doc__
    lock = threading.Lock()
    with open(path, "ab") as record:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin is not None and server.stdout is not None
        there = (b"client", sys.stdin.buffer, server.stdin, record, lock)
        threading.Thread(target=copy, args=there, daemon=True).start()
        copy(b"server", server.stdout, sys.stdout.buffer, record, lock)
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
