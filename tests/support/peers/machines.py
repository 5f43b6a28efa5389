"""Real daemons of one link, over a real NATS server."""

import json
import time
from typing import Any

from support.daemon import Daemon, Factory
from support.nats_server import Cluster, NatsServer

NOTES = {"plan.md": "# The plan\nas it is on this machine\n", "other.md": "x\n", "diary.md": "x\n"}
PRIVATE = {"diary.md": "---\nworkspaced: private\n---\nx\n"}
"""As it is on the machine where it is pinned; elsewhere nobody would withhold it."""
SEEN_S = 60.0
"""Far from what anything takes: a busy machine fails no test."""


def until(daemon: Daemon, tool: str, holds: Any, **arguments: Any) -> dict[str, Any]:
    """Asks again until something holds of the answer."""
    ends = time.monotonic() + SEEN_S
    with daemon.connect() as client:
        while True:
            answer = client.tool(tool, arguments)
            if holds(answer):
                return answer
            assert time.monotonic() < ends, (answer, status(daemon))
            time.sleep(0.05)


def status(daemon: Daemon) -> dict[str, Any]:
    found: dict[str, Any] = daemon.call("workspaced/link/status")["link"]
    return found


def until_linked(daemon: Daemon, holds: Any) -> dict[str, Any]:
    ends = time.monotonic() + SEEN_S
    while not holds(found := status(daemon)):
        assert time.monotonic() < ends, found
        time.sleep(0.05)
    return found


def cli(daemon: Daemon, *arguments: str) -> Any:
    done = daemon.cli("link", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def link_alone(daemon: Daemon) -> None:
    """Links the daemon and its vault to other machines; no server is there, so it hears nothing of any."""
    cli(daemon, "new", "--servers", "nats://127.0.0.1:1", "--person", "Ann", "--machine", "here", "--auto-approve")
    cli(daemon, "map", str(daemon.vault), "notes")


def linked(daemon: Factory, server: NatsServer | Cluster) -> tuple[Daemon, Daemon]:
    """Two machines of one person, with the same vault."""
    laptop, desk = daemon(notes=NOTES | PRIVATE), daemon(notes=NOTES)
    servers = [part for url in server.urls for part in ("--servers", url)]
    made = cli(laptop, "new", *servers, "--person", "Ann", "--machine", "laptop", "--auto-approve")
    cli(laptop, "map", str(laptop.vault), "notes")
    cli(desk, "join", made["code"], *servers, "--machine", "desk")
    until_linked(desk, lambda found: found["state"] == "connected" and len(found["members"]) == 2)
    cli(desk, "map", str(desk.vault), "notes")
    return laptop, desk
