"""Whatever goes wrong between an adapter and the daemon, the request goes on as it was; the log says why once."""

import logging
import threading
from typing import Any

import pytest
from support.daemon import Daemon

from workspaced.adapters.placing import Placing, Transform
from workspaced.limits import UPLOAD_BYTES_MAX

AUDIO = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}
QUESTION = {"role": "user", "content": "What is it?"}


def work(transform: Transform, messages: list[Any]) -> list[Any]:
    return list(transform("openai", messages)["messages"])


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


def test_what_the_daemon_does_not_hold_goes_on_as_it_was(shared: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    placing = Placing("test", socket=shared.socket)
    given = [AUDIO]
    assert placing.place(work, given) is given and placing.place(work, given) is given
    assert len(reasons(caplog)) == 1 and "INVALID_ARGUMENT: messages[0]" in reasons(caplog)[0]


def test_a_reason_is_logged_again_after_a_success(shared: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    placing = Placing("test", socket=shared.socket)
    for message in (AUDIO, QUESTION, AUDIO):
        placing.place(work, [message])
    assert len(reasons(caplog)) == 2


def test_a_message_beyond_an_upload_goes_on_as_it_was(shared: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    given = [QUESTION, {"role": "assistant", "content": "x" * (UPLOAD_BYTES_MAX + 1)}, QUESTION]
    assert Placing("test", socket=shared.socket).place(work, given) is given
    assert "INVALID_ARGUMENT" in reasons(caplog)[0]


def test_a_defect_of_the_adapter_is_logged_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_transform: Transform, given: list[Any]) -> list[Any]:
        return [given[1]]

    given = [QUESTION]
    assert Placing("test").place(broken, given) is given
    assert "INTERNAL: IndexError" in reasons(caplog)[0]


async def test_the_event_loop_is_free_meanwhile() -> None:
    def thread(_transform: Transform, _given: int) -> int:
        return threading.get_ident()

    assert await Placing("test").place_async(thread, 0) not in (0, threading.get_ident())
