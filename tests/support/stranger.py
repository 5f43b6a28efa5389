"""A program of another user that listens where a daemon's socket should be, and forges answers.

`python stranger.py PATH UID`, started as root: it prints a line once it listens; when its standard input ends it
prints how many bytes it was sent, once all who connected have gone.
"""

import json
import os
import socket
import sys
import threading
from typing import Any


def forged(request: dict[str, Any]) -> dict[str, Any]:
    actions = request.get("params", {}).get("actions", [])
    events = [{"seq": 1, "id": action.get("id", "x"), "duplicate": False} for action in actions]
    result = {"version": "0", "events": events, "clock": "forged:1", "durability": "synced"}
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def main(path: str, uid: int) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen()
    received: list[int] = []
    served: list[threading.Thread] = []
    ending = threading.Event()

    def serve(made: socket.socket) -> None:
        with made, made.makefile("rb") as lines:
            try:
                for line in lines:
                    received.append(len(line))
                    made.sendall(json.dumps(forged(json.loads(line))).encode() + b"\n")
            except OSError:
                pass

    def accept() -> None:
        while not ending.is_set():
            made = listener.accept()[0]
            served.append(threading.Thread(target=serve, args=(made,)))
            served[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    sys.stdin.read()
    ending.set()
    last = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    last.connect(listener.getsockname())  # wakes `accept`; all who came before are taken by then
    last.close()
    accepting.join()
    for each in served:
        each.join()
    sys.stdout.write(f"{sum(received)}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
