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

NAMES = ("peer_list", "peer_questions")


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
