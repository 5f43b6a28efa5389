"""Who may use the proxy, its token, how it starts, and how it ends."""

import json
import signal
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.daemon import ANSWER_S, Daemon
from support.proxy import Proxy
from support.raw_upstream import OK, Connection, RawUpstream, Recorder

from .conftest import started

CHAT = "/v1/chat/completions"
TOKEN = "a-token-of-27-characters-00"
PROMPT = {"messages": [{"role": "user", "content": "What is Alpha?"}]}


@pytest.fixture(scope="module")
def looking(module_daemon: Any) -> Any:
    """One for all, who differ in their proxies."""
    return started(module_daemon)


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    return Recorder(b'{"usage": {"prompt_tokens": 1000, "completion_tokens": 20}}')


@pytest.fixture
def seen(recorder: Recorder) -> Recorder:
    recorder.requests.clear()
    return recorder


@pytest.fixture(scope="module")
def proxy(looking: Any, recorder: Recorder) -> Iterator[Proxy]:
    with RawUpstream(recorder) as url, Proxy(looking, url, env={"WORKSPACED_PROXY_TOKEN": TOKEN}) as made:
        yield made


def refusal(proxy: Proxy, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    with proxy.begin("POST", path, PROMPT, headers) as begun:
        answer = begun.whole()
    return answer.status, answer.code


@pytest.mark.parametrize(
    "path", [CHAT, f"/t/{TOKEN}x{CHAT}", f"/t/{TOKEN[:-1]}{CHAT}", "/t/", f"/{TOKEN}{CHAT}", "/"]
)
def test_without_the_token_nothing_goes_on(proxy: Proxy, seen: Recorder, path: str) -> None:
    assert refusal(proxy, path) == (401, "TOKEN_WRONG")
    assert refusal(proxy, path, {"x-workspaced-token": TOKEN[1:]}) == (401, "TOKEN_WRONG")
    assert seen.requests == []


def test_the_token_may_be_a_header(proxy: Proxy, seen: Recorder) -> None:
    for path in (CHAT, f"/t/{TOKEN}{CHAT}"):
        with proxy.begin("POST", path, PROMPT, {"X-Workspaced-Token": TOKEN}) as begun:
            assert begun.whole().context == "added"
    assert [each.target for each in seen.requests] == [CHAT, CHAT]
    assert TOKEN not in str(seen.requests)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", ""])
def test_a_request_to_a_foreign_name_is_refused(proxy: Proxy, seen: Recorder, host: str) -> None:
    given = {"Host": host.format(port=proxy.port)}
    assert refusal(proxy, f"/t/{TOKEN}{CHAT}", given) == (403, "FOREIGN_HOST")
    assert seen.requests == []


@pytest.mark.parametrize("host", ["localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_this_machine_has_three_names(proxy: Proxy, host: str) -> None:
    given = {"Host": host.format(port=proxy.port)}
    assert proxy.request("POST", CHAT, PROMPT, given).context == "added"


def test_a_request_to_the_whole_url_is_one_to_its_path_on_this_machine(proxy: Proxy, seen: Recorder) -> None:
    assert proxy.raw(f"GET {proxy.url}/v1/models").startswith(b"HTTP/1.1 200")
    assert [each.target for each in seen.requests] == ["/v1/models"]
    token = f"x-workspaced-token: {proxy.token}\r\n"
    for line, status, code in (
        (f"GET http://evil.example/t/{proxy.token}/v1/models", b"403", b"FOREIGN_HOST"),
        ("OPTIONS *", b"400", b"TARGET_WRONG"),
        ("CONNECT elsewhere.example:443", b"405", b""),
    ):
        raw = proxy.raw(line, token)
        assert raw.startswith(b"HTTP/1.1 " + status) and code in raw
    assert len(seen.requests) == 1 and proxy.stderr == []


@pytest.mark.parametrize(
    ("target", "header"),
    [
        ("/t/TOKEN/v1/models", "Referer: http://127.0.0.1/t/TOKEN/ui\r\n"),
        ("http://127.0.0.1/t/TOKEN/v1/models", "x-workspaced-token: TOKEN\r\n"),
        ("//t/TOKEN/v1/models", "x-workspaced-token: TOKEN\r\n"),
        ("/t/TOKEN/t/TOKEN/v1/models", ""),
        ("/t/TOKEN/v1/models?key=TOKEN", ""),
        ("/v1/%74/TOKEN", "x-workspaced-token: TOKEN\r\n"),
    ],
)
def test_the_provider_never_sees_the_token(proxy: Proxy, seen: Recorder, target: str, header: str) -> None:
    proxy.raw(f"GET {target.replace('TOKEN', TOKEN)}", header.replace("TOKEN", TOKEN))
    assert TOKEN not in str(seen.requests)


def test_neither_token_nor_key_is_in_a_log_or_the_recording(daemon: Any, seen: Recorder) -> None:
    looking = started(daemon)
    with RawUpstream(seen) as url, Proxy(looking, url, env={"WORKSPACED_PROXY_TOKEN": TOKEN}) as proxy:
        given = {"Authorization": "Bearer secret-key", "X-Mine": "secret-header"}
        assert proxy.request("POST", CHAT, PROMPT, given).context == "added"
        assert proxy.request("POST", "/v1/files?secret-query", b"secret-body", given).status == 200
    assert seen.requests[0].header("authorization") == "Bearer secret-key"
    assert proxy.stderr == []
    assert looking.stop() == 0
    kept = [path for path in looking.root.rglob("*") if path.is_file()]
    found = [path for path in kept for each in (TOKEN, "secret-") if each.encode() in path.read_bytes()]
    assert len(kept) > 5 and found == [] and TOKEN not in "".join(looking.stderr)


def test_the_url_stays_the_same_and_its_token_is_its_users_alone(looking: Any) -> None:
    with RawUpstream(Recorder()) as url:
        with Proxy(looking, url) as one:
            pass
        with Proxy(looking, url, "--token-file", str(looking.root / "other")) as other:
            pass
        with Proxy(looking, url) as again:
            pass
    assert one.token == again.token != other.token and len(one.token) >= 32
    (path,) = (looking.root / "home").rglob("proxy-token")
    assert path.read_text() == one.token and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((looking.root / "other").stat().st_mode) == 0o600
    assert not list(path.parent.glob(".*"))


def start_failure(running: Daemon, *flags: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    done = running.cli("proxy", "--json", "--port", "0", *flags, env=env)
    error = json.loads(done.stdout)["error"]
    return done.returncode, error["code"], error["message"] + " " + error["hint"]


def test_a_token_that_others_may_have_read_is_not_used(daemon: Any, tmp_path: Path) -> None:
    running = daemon(start=False)
    path = tmp_path / "token"
    flags = ("--upstream", "http://127.0.0.1:1", "--token-file", str(path))
    for text, mode in ((TOKEN, 0o644), ("short", 0o600), ("", 0o600)):
        path.write_text(text)
        path.chmod(mode)
        code = start_failure(running, *flags)
        assert code[:2] == (2, "INVALID_ARGUMENT") and str(path) in code[2]
    code = start_failure(running, *flags[:3], str(tmp_path))
    assert code[:2] == (2, "INVALID_ARGUMENT") and f"{tmp_path} is a folder" in code[2]
    given = start_failure(running, *flags, env={"WORKSPACED_PROXY_TOKEN": "a/b"})
    assert given[:2] == (2, "INVALID_ARGUMENT") and "WORKSPACED_PROXY_TOKEN" in given[2]


def test_an_upstream_that_is_no_url_and_a_port_that_is_taken_are_refused(daemon: Any) -> None:
    running = daemon(start=False)
    for url in ("ftp://api.example", "http://u:p@h", "http://h:x"):
        assert start_failure(running, "--upstream", url)[:2] == (2, "INVALID_ARGUMENT")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code = start_failure(running, "--upstream", "http://127.0.0.1:1", "--port", port)
    assert code[:2] == (1, "PORT_TAKEN") and port in code[2]


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_ends_in_good_order_also_while_an_answer_streams(looking: Any, number: int, code: int) -> None:
    begun = threading.Event()

    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.chunk(b"data: 1\n\n")
        begun.set()
        connection.wait_until_closed()

    with (
        RawUpstream(serve) as url,
        Proxy(looking, url) as proxy,
        proxy.begin("POST", f"/t/{proxy.token}{CHAT}", PROMPT) as streaming,
    ):
        assert begun.wait(ANSWER_S) and streaming.response.read1() == b"data: 1\n\n"
        proxy.process.send_signal(number)
        assert proxy.wait() == code
    assert proxy.stderr == []
