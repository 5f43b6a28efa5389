"""`workspaced demo --serve`: a daemon that serves a copy of the sample vault and outlives the command."""

import shutil
import subprocess
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Final

from workspaced_events.interpreter import own_module

from ...client.sync_client import SyncClient, connect
from ...errors import NoDaemon
from ...limits import ON_DEMAND_IDLE_MINUTES, START_S
from ..shared.output import output
from ..shared.printing import say

WORKSPACE: Final = "demo"
_PAUSE_S: Final = 0.02
_OUTPUT_CHARS_MAX: Final = 500


def serve_demo() -> None:
    """Serves a fresh copy of the sample vault as the workspace `demo`, unless that is already running.

    Raises:
        NoDaemon: the daemon did not start.
    """
    try:
        client = connect(workspace=WORKSPACE, name="demo")
    except NoDaemon:
        client = _start(Path(tempfile.mkdtemp(prefix="workspaced-demo-")))
    with client:
        vault = client.server["vaults"][0]["path"]
    output({"workspace": WORKSPACE, "vault": vault, "socket": str(client.path)}, _print)


def _print(answer: dict[str, str]) -> None:
    say(f"The sample vault is served as workspace {WORKSPACE}: {answer['vault']}")
    say(
        f"It ends with `workspaced stop --workspace {WORKSPACE}`, or {ON_DEMAND_IDLE_MINUTES} minutes after the "
        "last client."
    )
    say("Have the commands in this shell act on it:")
    say(f"  export WORKSPACED_WORKSPACE={WORKSPACE}")


def _start(root: Path) -> SyncClient:
    with resources.as_file(resources.files("workspaced.demo")) as package:
        shutil.copytree(package / "vault", root / "notes")
    output = root / "daemon.log"
    command = own_module("workspaced", "serve", "--workspace", WORKSPACE)
    command += ["--vault", str(root / "notes"), "--data-dir", str(root / "data")]
    command += ["--idle-exit-minutes", str(ON_DEMAND_IDLE_MINUTES)]
    with output.open("wb") as log:
        child = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        ended = child.poll() is not None
        try:
            return connect(workspace=WORKSPACE, name="demo")
        except NoDaemon:
            if ended:
                break
        time.sleep(_PAUSE_S)
    text = " ".join(output.read_text(errors="replace").split())[-_OUTPUT_CHARS_MAX:]
    raise NoDaemon(f"The demo's daemon did not start: {text}", hint=f"Its folder is {root}.")
