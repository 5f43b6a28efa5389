"""Each situation fails for an editor whose publisher has a fault that it must notice."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import ROOT, TESTS
from support.neovim import NVIM


@pytest.mark.by_hand
@pytest.mark.skipif(NVIM is None, reason="nvim is not installed (Debian: apt-get install neovim)")
def test_every_situation_fails_for_a_broken_publisher(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.publishers.broken", f"--junitxml={report}"]
    command += ["-m", "not thorough and not by_hand", "-p", "no:cacheprovider"]
    command.append(str(TESTS / "clients" / "publishers"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env = {**kept, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-4_000:]
    cases = list(ElementTree.parse(report).iter("testcase"))
    ran = [case for case in cases if case.find("skipped") is None]
    assert len(ran) > 50
    assert [case.get("name") for case in ran if case.find("failure") is None] == []
