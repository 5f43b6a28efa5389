"""`Threads`: pools for blocking functions, which long functions can ask whether the daemon is ending."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from workspaced_events.errors import Busy

_TOOL_THREADS: Final = 4


class Threads:
    """One for each daemon."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(_TOOL_THREADS, thread_name_prefix="workspaced-tool")
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="workspaced-memory")
        self._ending = threading.Event()

    async def run(self, function: Any, *args: Any) -> Any:
        """Runs a blocking function on one of the threads."""
        return await self._loop.run_in_executor(self._pool, function, *args)

    async def run_writing(self, function: Any, *args: Any) -> Any:
        """Runs a function that writes to the memory folder: one after the other, on a thread of their own, so that
        a slow disk delays no tool that reads."""
        return await self._loop.run_in_executor(self._writing, function, *args)

    def end(self) -> None:
        """Makes every later `check_running` raise Busy."""
        self._ending.set()

    def check_running(self) -> None:
        """Called by long functions between their steps.

        Raises:
            Busy: the daemon is ending.
        """
        if self._ending.is_set():
            raise Busy("The daemon is ending.", hint="Ask again once it runs.")

    def close(self) -> None:
        """Ends the pool without waiting for functions that still run."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._writing.shutdown(wait=False, cancel_futures=True)
