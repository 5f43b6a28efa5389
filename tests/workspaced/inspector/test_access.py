"""Who may look: this machine, its own page, whoever has the token."""

import socket
import subprocess
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import process
from support.another_user import NEEDS_ROOT, as_nobody
from support.daemon import ANSWER_S, STOP_S
from support.inspector import RECORDED, Inspector, environment_in

PAGES = ["/", "/static/app.js"]
FOREIGN = [
    *({"Host": host} for host in ("evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost")),
    {"Host": "127.0.0.1:{port}.evil"},
    *({"Origin": origin} for origin in ("http://evil.example", "null", "https://127.0.0.1:{port}")),
    {"Origin": "http://127.0.0.1:1"},
]


@pytest.mark.parametrize("given", FOREIGN, ids=str)
def test_a_name_that_was_made_to_point_here_and_another_page_are_refused(
    recorded: Inspector, given: dict[str, str]
) -> None:
    [(name, value)] = given.items()
    for path in (*PAGES, "/api/about"):
        refused = recorded.error(path, headers={name: value.format(port=recorded.port)})
        assert refused == (403, f"FOREIGN_{name.upper()}")


def test_another_site_that_hides_its_origin_is_refused(recorded: Inspector) -> None:
    for site in ("cross-site", "same-site", "anything"):
        assert recorded.error("/api/about", headers={"Sec-Fetch-Site": site}) == (403, "FOREIGN_ORIGIN")
        assert recorded.request("GET", "/", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_the_page_itself_is_let_in(recorded: Inspector) -> None:
    own = {"Origin": f"http://127.0.0.1:{recorded.port}", "Sec-Fetch-Site": "same-origin"}
    assert recorded.request("GET", "/api/about", headers=own).json()["events"] == 80
    by_name = {"Host": f"localhost:{recorded.port}", "Origin": f"http://localhost:{recorded.port}"}
    assert recorded.request("GET", "/api/about", headers=by_name).status_code == 200


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer {token}x", "Bearer {short}", "Basic {token}", "{token}"])
def test_without_the_token_there_is_no_data(recorded: Inspector, given: str) -> None:
    header = given.format(token=recorded.token, short=recorded.token[:-1])
    assert recorded.error("/api/about", headers={"Authorization": header}) == (401, "TOKEN_WRONG")
    assert recorded.error(f"/api/about?token={recorded.token}", headers={"Authorization": header})[0] == 401
    cookie = {"Authorization": header, "Cookie": f"token={recorded.token}"}
    assert recorded.error("/api/about", headers=cookie)[0] == 401
    for path in PAGES:
        assert recorded.request("GET", path, headers={"Authorization": ""}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../access.py",
        "/static/%2e%2e/access.py",
        "/static/..%2faccess.py",
        "/static//etc/passwd",
        "/static/%2Fetc%2Fpasswd",
        "/static/..\\access.py",
        "/static/",
        "/static/views",
        "/static/%00",
        "/access.py",
    ],
)
def test_no_path_leads_out_of_the_page_s_files(recorded: Inspector, path: str) -> None:
    with socket.create_connection(("127.0.0.1", recorded.port), ANSWER_S) as made:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{recorded.port}\r\nConnection: close\r\n\r\n"
        made.sendall(head.encode())
        with made.makefile("rb") as file:
            answer = file.read()
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), answer[:300]
    assert b"hmac" not in answer and b"root:" not in answer


@pytest.mark.parametrize("path", [*PAGES, "/api/about", "/api/none", "/none"])
def test_every_answer_forbids_foreign_scripts_frames_and_readers(recorded: Inspector, path: str) -> None:
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "GET", "Authorization": ""}
    refused = recorded.request("OPTIONS", path, headers=preflight)
    assert refused.status_code == 403
    headers = recorded.request("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy and "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    for name in (*headers, *refused.headers):
        assert not name.startswith("access-control-") and name != "set-cookie"


def test_other_machines_do_not_reach_it(recorded: Inspector) -> None:
    port, listening = f":{recorded.port:04X}", "0A"
    lines = (
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
    )
    places = {at.removesuffix(port) for _, at, _, state, *_ in lines if at.endswith(port) and state == listening}
    assert places
    assert places <= {"0100007F", "00000000000000000000000001000000"}


# -- the browser, whose command line every user of the machine can read --


def exchanged(once: str) -> bytes:
    """Where an address leads, or the code of the error."""
    address = urlsplit(once)
    connection = HTTPConnection(address.netloc, timeout=ANSWER_S)
    try:
        connection.request("GET", f"{address.path}?{address.query}")
        answer = connection.getresponse()
        return (answer.getheader("location") or answer.read().decode()).encode()
    finally:
        connection.close()


def test_the_address_for_a_browser_leads_to_the_page_once(
    inspect: Callable[..., Inspector], recorded: Inspector
) -> None:
    running = inspect(RECORDED, "--at", "2026-03-02T10:00:00+01:00")
    once = running.started["once"]
    assert running.token not in once and running.token != recorded.token and len(running.token) >= 43
    for wrong in (once[:-1], once.partition("?")[0], once.partition("=")[0] + "=%C3%A9"):
        assert b"CODE_WRONG" in exchanged(wrong)
    assert running.request("HEAD", urlsplit(once).path + "?" + urlsplit(once).query).status_code == 404
    assert f"http://127.0.0.1:{running.port}".encode() + exchanged(once) == running.url.encode()
    assert running.url.endswith("&at=2026-03-02T09%3A00%3A00.000000Z"), running.url
    assert b"CODE_USED" in exchanged(once)


@NEEDS_ROOT
def test_another_users_program_gets_nothing_for_the_address_and_does_not_use_it_up(
    inspect: Callable[..., Inspector],
) -> None:
    running = inspect(RECORDED)
    once = running.started["once"]
    for address in (once, once.replace("127.0.0.1", "[::1]")):
        assert b"CODE_WRONG" in as_nobody(lambda address=address: exchanged(address))
    assert exchanged(once).decode() in running.url


def test_no_command_line_of_a_browser_holds_the_token(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$*"\n')
    browser.chmod(0o700)
    env = {**environment_in(tmp_path), "BROWSER": str(browser)}
    running = process.spawn("inspect", RECORDED, env=env, stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        with running.stdout as out:
            printed, opened = (out.readline().decode().split()[-1] for _ in range(2))
        assert printed.partition("#token=")[2] not in opened
        assert exchanged(opened).decode() in printed
    finally:
        running.terminate()
        running.wait(STOP_S)
