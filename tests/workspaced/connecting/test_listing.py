"""`workspaced connect` alone, and `workspaced doctor`: what is connected, and whether it works."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from support.daemon import Factory
from support.program_settings import HOOK_PLACES, PLACES

from workspaced.api.calls import last_seen
from workspaced.cli import run
from workspaced.connecting.runtimes import RUNTIMES
from workspaced.limits import CLIENTS_LISTED_MAX, LAST_SEEN_EVENTS_MAX
from workspaced_events.schema.catalogue import CATALOGUE

from .conftest import Command

Listed = dict[str, dict[str, Any]]


@pytest.fixture
def listed(connect: Command) -> Callable[[], Listed]:
    """The listing's programs by name, and under `""` the whole."""

    def command() -> Listed:
        code, out, _err = connect("--json")
        assert code == 0
        whole = json.loads(out)
        return {"": whole, **{each["runtime"]: each for each in whole["programs"]}}

    return command


# -- what the settings say --


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_connected_folder_is_listed_with_each_of_its_parts(
    listed: Callable[[], Listed], connect: Command, vault: Path, runtime: str
) -> None:
    programs = listed()[""]["programs"]
    assert [each["runtime"] for each in programs] == list(RUNTIMES)
    assert not any(each["mcp"] or each["hook"] for each in programs)
    connect(runtime, "--vault", vault)
    found = listed()[runtime]
    assert [(each["name"], each["vaults"], each["faults"]) for each in found["mcp"]] == [
        ("workspaced-notes", [str(vault)], [])
    ]
    hooks = [(each["vaults"], each["faults"]) for each in found["hook"]]
    assert hooks == ([([str(vault)], [])] if runtime in HOOK_PLACES else [])


def test_a_program_is_installed_if_it_is_on_path_or_its_folder_holds_more_than_ours(
    listed: Callable[[], Listed],
    connect: Command,
    home: Path,
    vault: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "bin" / "zed"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    (home / ".gemini").mkdir()
    (home / ".gemini" / "history").write_text("")
    connect("codex", "--vault", vault)
    found = listed()
    assert {name for name, each in found.items() if each.get("installed")} == {"zed", "gemini"}


def test_what_is_no_longer_there_is_named_by_the_listing_and_by_the_doctor(
    listed: Callable[[], Listed], connect: Command, home: Path, vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connect("claude", "--vault", vault)
    path = home / PLACES["claude"]
    path.write_text(path.read_text().replace("/bin/workspaced", "/gone/workspaced"))
    vault.rmdir()
    capsys.readouterr()
    (entry,) = listed()["claude"]["mcp"]
    assert ["/gone/workspaced" in entry["faults"][0], str(vault) in entry["faults"][1]] == [True, True]
    run(["doctor", "--json"])
    findings = [each for each in json.loads(capsys.readouterr().out) if each["about"] == "connection claude"]
    assert [each["level"] for each in findings] == ["warning"] * 3, (
        "command and folder of the entry, folder of the hooks"
    )
    assert all("workspaced connect claude" in each["fix"] for each in findings)


@pytest.mark.parametrize("text", ["{", '{"a": 1} // why', "[]", "\ufeff{}"])
def test_a_file_that_cannot_be_read_is_a_problem_of_its_program_alone(
    listed: Callable[[], Listed], connect: Command, home: Path, vault: Path, text: str
) -> None:
    connect("cursor", "--vault", vault)
    (home / ".cursor/mcp.json").write_text(text)
    found = listed()
    (problem,) = found["cursor"]["problems"]
    assert ".cursor/mcp.json" in problem and len(found["cursor"]["hook"]) == 1
    assert not any(each["problems"] for name, each in found.items() if name not in ("", "cursor"))


@pytest.mark.parametrize("odd", ["/a\\u0000b", "/\\ud800", "~nobody-at-all/x", "", "/" + "x" * 5_000])
def test_whatever_a_file_says_the_listing_works(
    listed: Callable[[], Listed], home: Path, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / PLACES["claude"]
    entry = f'{{"command": "/x/workspaced", "args": ["mcp", "--vault", "{odd}"]}}'
    path.write_text(f'{{"mcpServers": {{"a": {entry}, "\\ud800": {{"command": "workspaced", "args": ["mcp"]}}}}}}')
    names = [each["name"] for each in listed()["claude"]["mcp"]]
    assert names[-1] == "\\ud800" and len(names) == (1 if "\\" in odd else 2)
    assert run(["connect"]) == 0 and run(["doctor"]) in (0, 1)
    assert run(["connect", "claude", "--remove"]) == 0


def test_without_a_daemon_what_arrived_is_unknown(
    connect: Command, vault: Path, listed: Callable[[], Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    connect("codex", "--vault", vault)
    code, out, err = connect()
    assert code == 0 and out.count("unknown") == 2 and "No daemon runs" in err
    found = listed()
    assert found[""]["arrivalsKnown"] is False and found["codex"]["untrusted"] is False
    for option in (["--vault", "."], ["--remove"], ["--dry-run"]):
        assert connect(*option)[0] == 2, "options of a change need a program"


# -- what the log says --


def test_the_last_call_of_a_program_is_found_by_its_clients_name_and_codex_is_not_trusted_until_one_came(
    daemon: Factory,
) -> None:
    running = daemon()
    for name in ("gemini-cli-mcp-client-workspaced-notes", "other"):
        with running.connect(name=name) as client:
            client.tool("get_workspace_context", {})
    running.cli("connect", "gemini", "--vault", str(running.vault))
    whole = json.loads(running.cli("connect", "--json").stdout)
    found = {each["runtime"]: each["lastCall"] for each in whole["programs"]}
    assert whole["arrivalsKnown"] and found["gemini"] is not None
    assert {name for name, time in found.items() if time is not None} == {"gemini"}
    running.cli("connect", "codex", "--vault", str(running.vault))
    done = running.cli("connect")
    assert "installed, not trusted (open /hooks in Codex)" in done.stderr and "not trusted" in done.stdout


class Called:
    """A log of one call of each client."""

    def __init__(self, clients: int) -> None:
        self.tail = clients

    def before(self, seq: int) -> Iterator[Any]:
        texts = dict.fromkeys(("tool", "caller", "now", "session", "event", "resultSha256", "textSha256"), "")
        call = {**texts, "arguments": {}, "asOfSeq": 1, "bytes": 0, "durationUs": 0, "ok": True}
        made = msgspec.convert(call, CATALOGUE["tool_called"].data)
        for at in range(seq, 0, -1):
            data = msgspec.structs.replace(made, caller=f"c{at}")
            yield SimpleNamespace(seq=at, time=f"t{at}", type="tool_called", data=data)


def test_a_long_log_is_looked_at_up_to_a_bound_and_so_are_many_clients() -> None:
    size = LAST_SEEN_EVENTS_MAX + 5
    log: Any = Called(size)
    clients, since = last_seen(log)
    assert since is not None and since.seq == 6 and len(clients) == CLIENTS_LISTED_MAX
    assert clients[0].client == f"c{size}"
