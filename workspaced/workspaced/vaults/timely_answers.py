"""`TimelyAnswers`: questions that touch a vault's folder, for a thread that must not wait for the folder.

The writer asks whether a selection's text may be recorded. A folder on a dead mount never answers, and the log
must go on: so the question is asked on a thread of its own, and given up in time. The thread may then never end.
"""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

_VAULT_ANSWER_S: Final = 1.0
"""So long the log waits for a vault's folder to say whether a selection's text may be recorded."""
logger = logging.getLogger(__name__)


class TimelyAnswers:
    """Asked by one thread at a time."""

    def __init__(self, timeout_s: float = _VAULT_ANSWER_S) -> None:
        self._timeout_s: Final = timeout_s
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._latest: _Asked | None = None
        self._thread: threading.Thread | None = None

    def ask(self, question: Callable[[], bool]) -> bool:
        """The answer; False if it does not come in time, or if the question before has no answer yet."""
        if self._latest is not None and not self._latest.done.is_set():
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="workspaced-levels", daemon=True)
            self._thread.start()
        self._latest = asked = _Asked(question)
        self._asked.put(asked)
        return asked.done.wait(self._timeout_s) and asked.answer

    def close(self) -> None:
        """Ends the thread, once it has answered."""
        self._asked.put(None)

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            try:
                asked.answer = asked.question()
            except Exception:
                logger.exception("a vault's folder gave no answer")
            finally:
                asked.done.set()


class _Asked:
    def __init__(self, question: Callable[[], bool]) -> None:
        self.question: Final = question
        self.answer = False
        self.done: Final = threading.Event()
