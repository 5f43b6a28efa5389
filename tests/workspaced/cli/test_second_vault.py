"""`serve --workspace NAME --vault B` is all that a second vault needs beside a running daemon."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import process

from workspaced.discovery.records import Record, running


def served(home: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Record]:
    monkeypatch.setenv("HOME", home)
    return {each.workspace: each for each in running()}


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_workspace_of_its_own_is_all_that_a_second_vault_needs(
    daemon: Any, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    first = daemon(start=False)
    home = Path(first.env["HOME"])
    env = {**first.env, "XDG_RUNTIME_DIR": str(first.root), "XDG_CONFIG_HOME": str(home / "config")}
    if where == "environment":
        env |= {"WORKSPACED_SOCKET": str(first.socket), "WORKSPACED_DATA_DIR": str(first.data)}
    else:
        config = home / "config" / "workspaced" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'socket = "{first.socket}"\ndata_dir = "{first.data}"\nworkspace = "mine"\n')
    first.start()
    vault = first.root / "second"
    vault.mkdir()
    second = process.spawn(
        "serve",
        "--workspace",
        "second",
        "--vault",
        vault,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert second.stderr is not None
    lines = []
    for line in second.stderr:
        lines.append(line.decode())
        if b"listening on" in line:
            break
    try:
        records = served(str(home), monkeypatch)
        assert len(records) == 2, lines
        assert records["second"].vaults == (str(vault.resolve()),)
        assert Path(records["second"].socket) == first.root / "workspaced" / "second.sock"
    finally:
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
        second.stderr.close()
