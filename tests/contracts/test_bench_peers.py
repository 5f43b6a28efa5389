"""The comparison with other servers without a network: what is asked, and what is said of what is not there."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import ROOT

NAMES = ("peer_install", "peer_list", "peer_questions", "peer_run", "peer_table", "peers", "measure")


@pytest.fixture(scope="module")
def bench() -> Iterator[SimpleNamespace]:
    # bench/ is importable from the root only, and no part of an installed wheel.
    sys.path.insert(0, str(ROOT))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(f"bench.{name}") for name in NAMES})
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def asked(bench, tmp_path_factory):
    vault = tmp_path_factory.mktemp("peers") / "vault"
    questions = bench.peer_questions.make_questions(vault, 300)
    return vault, questions


def lines(*arguments: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", *arguments],
        cwd=ROOT,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.thorough
def test_without_a_registry_every_server_is_a_line_with_the_reason(bench, tmp_path):
    figures = lines("--only", "peers", "--dir", str(tmp_path))

    assert [figure["bench"] for figure in figures] == [f"peers.all.{peer.name}" for peer in bench.peer_list.PEERS]
    for figure in figures:
        assert figure["value"] is None
        assert "installing mcp==" in str(figure["skipped"])
    assert list(tmp_path.iterdir()) == []


def test_it_runs_only_when_asked_for_by_its_name():
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--only", "peer"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "peers" in done.stderr


def test_without_npm_its_packages_are_skipped_with_the_reason(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(bench.peer_install.Skip, match="npm is not on PATH"):
        bench.peer_install.install(bench.peer_install.Npm(("some-server@1.0.0",)), tmp_path / "installed")


@pytest.mark.thorough
def test_a_python_newer_than_any_is_a_reason(bench, tmp_path):
    package = bench.peer_install.Pip(("some-server==1",), python=(99, 0))

    with pytest.raises(bench.peer_install.Skip, match=r"needs Python 99\.0 or newer"):
        bench.peer_install.install(package, tmp_path)


def test_of_what_an_installer_says_the_last_error_is_the_reason(bench):
    output = "WARNING: old\nERROR: first\nERROR: No matching distribution found\nnpm notice update\nbye\n"

    assert bench.peer_install.reason_in(output) == "ERROR: No matching distribution found"
    assert bench.peer_install.reason_in("one\ntwo\n") == "two"
    assert bench.peer_install.reason_in("") == "it said nothing"


def test_the_right_answers_are_in_the_vault_and_nowhere_else(asked, bench):
    vault, questions = asked
    texts = {path.relative_to(vault).as_posix(): path.read_text() for path in vault.rglob("*.md")}

    rare = [path for path, text in texts.items() if bench.peer_questions.RARE in text]
    assert len(rare) == bench.peer_questions.RARE_IN and questions.rare.path in rare
    assert f"[[{questions.linked.stem}" in next(
        text for path, text in texts.items() if Path(path).stem == questions.linking
    )
    assert f'title: "{questions.titled.stem}"' in texts[questions.titled.path]
    for note in (*questions.read, questions.titled):
        assert note.needle in texts[note.path]
        assert note.needle.isascii() and note.path.isascii()


def test_the_bare_loop_reads_what_it_is_asked_for(asked, bench):
    vault, questions = asked
    ask = bench.peer_list.BARE.asks(questions, vault)["read"]
    request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call"}
    request["params"] = {"name": ask.tool, "arguments": ask.arguments[0]}
    command = [sys.executable, str(ROOT / "bench" / "peer_bare.py"), str(vault)]

    done = subprocess.run(command, input=json.dumps(request) + "\n", capture_output=True, text=True, check=True)

    reply = json.loads(done.stdout)
    assert reply["id"] == 5
    assert reply["result"]["content"][0]["text"] == (vault / questions.read[0].path).read_text()


def test_every_server_is_asked_to_read_and_only_known_questions(asked, bench):
    vault, questions = asked
    for peer in bench.peer_list.PEERS:
        asks = peer.asks(questions, vault)
        assert "read" in asks
        assert asks.keys() <= set(bench.peer_questions.KINDS)
        assert all(ask.needle and ask.arguments for ask in asks.values())
    names = [peer.name for peer in bench.peer_list.PEERS]
    assert len(names) == len(set(names))


def test_packages_are_pinned(bench):
    for peer in bench.peer_list.PEERS:
        if peer.package is not None:
            sign = "@" if isinstance(peer.package, bench.peer_install.Npm) else "=="
            assert sign in peer.package.packages[0][1:]


def test_a_process_is_counted_with_all_that_descend_from_it(bench):
    among = [(1, 0, 0), (10, 1, 0), (11, 10, 0), (12, 11, 0), (13, 1, 0)]

    assert bench.peer_run.tree([10], among) == [10, 11, 12]
    assert bench.peer_run.tree([99], among) == []


def test_quiet_is_some_windows_in_a_row_without_work(bench):
    used = iter([0.0, 1.0, 1.0, 1.0, 2.5, 2.5, 2.5, 2.5, 2.51])

    assert bench.peer_run.until_quiet(lambda: next(used), float("inf"), lambda _: None) == 2.51
    assert list(used) == []


def test_who_does_not_come_to_rest_is_skipped(bench):
    with pytest.raises(bench.peer_install.Skip, match="not quiet"):
        bench.peer_run.until_quiet(lambda: 5.0, 0.0, lambda _: None)


def test_the_table_has_a_row_for_each_server_and_the_reasons_below(bench):
    figure, skipped = bench.measure.Figure, bench.peer_table.skipped
    text = bench.peer_table.table(
        [
            figure("peers.read.one", 1.25, "ms", fields={"ratio": 2.5}),
            figure("peers.search_rare.one", 560.0, "ms", fields={"note": "searches file names only"}),
            skipped("title", "one", "it has no such call"),
            skipped("all", "two", "npm is not on PATH"),
        ]
    )

    assert "| one | 2.50 (1.25 ms) |" in text
    assert "560 (names)" in text
    assert text.endswith("- two, all: npm is not on PATH")
    assert "no such call" not in text
