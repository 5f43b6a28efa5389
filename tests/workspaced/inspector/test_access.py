"""Who may look: this machine, its own page, whoever has the token."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support.daemon import ANSWER_S
from support.inspector import Inspector

PAGES = ["/", "/static/app.js"]
FOREIGN = ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost", "127.0.0.1:{port}.evil"]


@pytest.mark.parametrize("path", [*PAGES, "/api/about"])
@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_was_made_to_point_here_is_refused(recorded: Inspector, path: str, host: str) -> None:
    given = {"Host": host.format(port=recorded.port)}
    assert recorded.error(path, headers=given) == (403, "FOREIGN_HOST")


@pytest.mark.parametrize("path", [*PAGES, "/api/about"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_page_is_refused(recorded: Inspector, path: str, origin: str) -> None:
    given = {"Origin": origin.format(port=recorded.port)}
    assert recorded.error(path, headers=given) == (403, "FOREIGN_ORIGIN")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_another_site_that_hides_its_origin_is_refused(recorded: Inspector, site: str) -> None:
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


def test_the_token_has_256_bits_and_each_inspector_its_own(
    inspect: Callable[..., Inspector], recorded: Inspector
) -> None:
    other = inspect(recorded.started["log"])
    assert len(recorded.token) >= 43
    assert other.token != recorded.token


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
    headers = recorded.request("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy and "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control-") or name == "set-cookie"]


def test_a_preflight_gets_no_leave(recorded: Inspector) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "GET", "Authorization": ""}
    answer = recorded.request("OPTIONS", "/api/about", headers=asked)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_other_machines_do_not_reach_it(recorded: Inspector) -> None:
    port, listening = f":{recorded.port:04X}", "0A"
    lines = (
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
    )
    places = {at.removesuffix(port) for _, at, _, state, *_ in lines if at.endswith(port) and state == listening}
    assert places
    assert places <= {"0100007F", "00000000000000000000000001000000"}
