"""`Threads`: a pool for blocking functions, which long functions can ask whether the daemon is ending."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workspaced_events.errors import Busy

from ..limits import TOOL_THREADS


class Threads:
    """One pool for each daemon."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="workspaced-tool")
        self._ending = threading.Event()

    async def run(self, function: Any, *args: Any) -> Any:
        """Runs a blocking function on one of the threads."""
        return await self._loop.run_in_executor(self._pool, function, *args)

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
