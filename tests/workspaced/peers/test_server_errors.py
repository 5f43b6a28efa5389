"""What a NATS server's answers mean, and what its operator is given."""

import pytest

from workspaced.peers.carrying.server_config import permissions, stream_config
from workspaced.peers.carrying.server_errors import server_refused


@pytest.mark.parametrize(
    ("number", "code"), [(10059, "NO_STREAM"), (10039, "NO_STREAM"), (10077, "FULL"), (1, "SERVER_MISBEHAVES")]
)
def test_an_error_has_the_code_that_status_shows_and_a_next_step(number: int, code: str) -> None:
    error = server_refused({"code": 400, "err_code": number, "description": "why"})
    assert error.code == code and "why" in error.message and error.hint


def test_what_a_server_says_is_nothing_that_a_terminal_obeys() -> None:
    assert server_refused({"err_code": 1, "description": "\x1b]0;x\x07\n"}).message.isprintable()


def test_a_wrong_predecessor_is_told_from_all_else() -> None:
    assert server_refused({"code": 400, "err_code": 10071}).code == "WRONG_PREDECESSOR"
    assert server_refused("nonsense").code == "SERVER_MISBEHAVES"


def test_the_stream_allows_a_whole_view_to_replace_the_rest_and_is_read_from_its_leader_alone() -> None:
    config = stream_config()
    assert config["allow_rollup_hdrs"] and not config["allow_direct"] and not config["max_age"]
    assert not any("DELETE" in each or "PURGE" in each for each in permissions()["publish"])
