"""Drives a real daemon with clients that we did not write; see README.md beside this file."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conformance
from programs import Unreachable, node_programs, python_program

sys.path.insert(1, str(Path(__file__).parents[1]))  # `support` lies there

from support import mcp_schema
from support.daemon import Factory

HERE = Path(__file__).parent
MODES = ("legacy", "auto", "2026-07-28")
RUN_S = 120
OURS = [sys.executable, "-m", "workspaced"]


# -- runs --


def tapped(daemon: Any, record: Path) -> list[str]:
    """The command that an agent's runtime would run, with a tap on it."""
    bridge = [*OURS, "mcp", "--socket", str(daemon.socket)]
    return [sys.executable, str(HERE / "tap.py"), str(record), "--", *bridge]


def publishing(daemon: Any) -> str:
    """The command that stands for a user interface."""
    return json.dumps([*OURS, "publish", "--socket", str(daemon.socket)])


def python_sdk(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    client = [str(python_program()), str(HERE / "python_sdk.py"), mode, publishing(daemon), "--"]
    environment = {**daemon.env, "WORKSPACED_SOCKET": str(daemon.socket), "PYTHONWARNINGS": "ignore"}
    subprocess.run(
        [*client, *tapped(daemon, record)], check=True, timeout=RUN_S, env=environment, cwd=daemon.vault
    )


def node(daemon: Any, record: Path, *command: str, **options: Any) -> None:
    """Runs a program of the npm packages on the daemon. Raises Unreachable or CalledProcessError."""
    place, environment = node_programs()
    program, *rest = [each.replace("MODULES", str(place)) for each in command]
    subprocess.run(
        [str(place / "node_modules" / ".bin" / program), *rest, "--", *tapped(daemon, record)],
        check=True,
        timeout=RUN_S,
        env=environment,
        cwd=daemon.root,
        **options,
    )


def typescript_sdk(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    node(daemon, record, "node", str(HERE / "typescript_sdk.mjs"), "MODULES", mode, publishing(daemon))


def inspector(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    with daemon.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    era = "legacy" if mode == "legacy" else "modern"
    for number, asked in enumerate(
        (
            ["tools/list", "--strict"],
            ["tools/call", "--tool-name", "get_workspace_context"],
            ["tools/call", "--tool-name", "get_note_by_reference", "--tool-arg", "reference=Plan"],
            ["resources/list"],
            ["resources/templates/list"],
            ["resources/read", "--uri", "workspace://note/current"],
            ["prompts/list"],
            ["prompts/get", "--prompt-name", "current-note"],
        )
    ):
        one = record.with_name(f"{record.name}.{number}")  # each is a connection of its own
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        node(daemon, one, "mcp-inspector", "--cli", "--protocol-era", era, "--method", *asked, **quiet)


@dataclass(frozen=True)
class Client:
    """Somebody who talks to a daemon, and how."""

    drive: Callable[[Any, str, Path], None]
    """Given the daemon, a mode, and where to write down what goes by. Raises Unreachable or CalledProcessError."""
    modes: tuple[str, ...]
    start: Callable[[Any], Any] = lambda factory: factory()
    """Starts its daemon."""


CLIENTS = {
    "python-sdk": Client(python_sdk, MODES),
    "typescript-sdk": Client(typescript_sdk, MODES),
    "inspector": Client(inspector, ("legacy", "modern")),
    "conformance": Client(conformance.drive, conformance.REVISIONS, conformance.start),
}


def checked(records: list[Path]) -> int:
    """How many messages went over the wire, all of them valid."""
    count = 0
    for record in records:
        lines = [line.split(b" ", 1) for line in record.read_bytes().splitlines()]
        count += mcp_schema.check_exchange([(sender.decode(), line) for sender, line in lines])
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail where something cannot be installed")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; default: all")
    options = parser.parse_args()
    factory = Factory()
    skipped = False
    try:
        for name in options.clients or CLIENTS:
            client = CLIENTS[name]
            for mode in client.modes:
                daemon = client.start(factory)
                try:
                    client.drive(daemon, mode, daemon.root / "record")
                except Unreachable as reason:
                    sys.stderr.write(f"{name}: skipped: {reason}\n")
                    skipped = True
                    break
                count = checked(sorted(daemon.root.glob("record*")))
                messages = f", {count} messages valid" if count else ""
                sys.stdout.write(f"{name} {mode}: passed{messages}\n")
                sys.stdout.flush()
    finally:
        factory.tear_down()
    return 1 if skipped and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
