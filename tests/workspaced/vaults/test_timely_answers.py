"""A folder that does not answer holds up nobody, and counts as one that says no."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from workspaced.vaults.served_vault import TimelyAnswers


@pytest.fixture
def answers() -> Iterator[TimelyAnswers]:
    made = TimelyAnswers(timeout_s=0.05)
    yield made
    made.close()


def wait_for(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until_s


def test_an_answer_is_given_as_it_is() -> None:
    answers = TimelyAnswers(timeout_s=60)
    assert [answers.ask(lambda: True), answers.ask(lambda: False)] == [True, False]
    answers.close()


def test_what_is_not_answered_in_time_is_false_and_so_is_all_until_it_is_answered(answers: TimelyAnswers) -> None:
    mounted, asked_again = threading.Event(), threading.Event()

    def again() -> bool:
        asked_again.set()
        return True

    assert not answers.ask(mounted.wait)
    assert not answers.ask(again)
    mounted.set()
    wait_for(lambda: answers.ask(lambda: True))
    assert not asked_again.is_set()


def test_a_question_that_fails_is_false_and_the_next_is_answered(answers: TimelyAnswers) -> None:
    def failing() -> bool:
        raise ValueError

    assert not answers.ask(failing)
    wait_for(lambda: answers.ask(lambda: True))
