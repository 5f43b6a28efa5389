"""Types that several threads use for the first time at once."""

import subprocess
import sys

import msgspec
import pytest

from workspaced_events.schema.decoding import converted, decoded

CROWD = """
import sys, threading
import msgspec
from workspaced_events.schema.decoding import converted, decoded

sys.setswitchinterval(1e-6)
types = []
for number in range(60):
    inner = msgspec.defstruct(f"Inner{number}", [(f"f{field}", int | None, None) for field in range(20)])
    fields = [("one", inner | None, None), ("all", tuple[inner, ...], ())]
    types.append(msgspec.defstruct(f"Outer{number}", fields))
together = threading.Barrier(4)

def first_use(use):
    for each in types:
        together.wait()
        use(each)

uses = [lambda each: decoded(b'{"all":[{"f2":2},{}]}', each), lambda each: converted({"one": {"f1": 1}}, each)]
threads = [threading.Thread(target=first_use, args=(uses[number % 2],)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_a_types_first_use_on_several_threads_at_once_ends_no_process() -> None:
    assert subprocess.run([sys.executable, "-c", CROWD], check=False).returncode == 0


def test_what_is_no_such_value_is_refused() -> None:
    for use in (lambda: decoded(b"{", dict), lambda: decoded(b"[]", dict), lambda: converted([], dict)):
        with pytest.raises(msgspec.MsgspecError):
            use()
