"""The scripts of the inspector's page have types, though nothing compiles them."""

import shutil
import subprocess

import pytest
from support import ROOT

CLIENT = ROOT / "clients" / "inspector"
TSC = CLIENT / "node_modules" / ".bin" / "tsc"


@pytest.mark.skipif(
    not TSC.exists() or shutil.which("node") is None, reason="needs tsc: `make .venv/.inspector` installs it"
)
def test_all_types_fit() -> None:
    done = subprocess.run([str(TSC), "-p", str(CLIENT)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
