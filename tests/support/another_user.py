"""What another user of this machine gets; needs root."""

import os
from collections.abc import Callable

import pytest

NOBODY = 65_534
NEEDS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")


def as_nobody(act: Callable[[], bytes]) -> bytes:
    """What `act` gives in a process of the user `nobody`, or the error that it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        said = b"failed"
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = act()
        except BaseException as error:
            said = repr(error).encode()
        finally:
            with os.fdopen(writing, "wb") as answer:
                answer.write(said)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said
