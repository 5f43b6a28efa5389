"""Every call that a log makes of its disk fails once, and from there on, in every way: on the simulated disk.
`make test` tries every third of them.

`make faults` runs the same cases on a real file system.
"""

from collections import Counter
from itertools import islice

import pytest
from support import fault_session as sessions
from support.profiles import is_thorough
from support.simulated_disk import SimDisk


class Failing:
    """Lets a simulated disk fail as a case says."""

    def __init__(self, disk: SimDisk, case: "sessions.Case") -> None:
        self.disk, self.case = disk, case
        self.calls = 0
        self.met = 0
        disk.faults = self

    def __call__(self, operation: str, name: str) -> OSError | None:
        case = self.case
        if operation != case.operation or case.area not in name:
            return None
        self.calls += 1
        if self.calls < case.nth or (self.calls > case.nth and not case.lasts):
            return None
        self.met += 1
        if case.error == sessions.SHORT and self.met == 1:
            self.disk.free_bytes = 20  # so many bytes go in; the next write meets an error
            return None
        return OSError(case.errno, "no")


def counted() -> Counter[tuple[str, str]]:
    """How often a session makes each call."""
    made: Counter[tuple[str, str]] = Counter()

    def count(operation: str, name: str) -> None:
        made.update((operation, area) for area in (*sessions.AREAS, "log") if area in name)

    disk = SimDisk()
    sessions.prepare(disk)
    disk.faults = count
    sessions.under_fault(disk)
    return made


@pytest.mark.thorough
@pytest.mark.fault(row=61)
@pytest.mark.parametrize("operation", sorted(sessions.SHIM_CALLS))
def test_whichever_call_fails_nothing_acknowledged_is_lost_and_the_error_says_what_to_do(operation: str) -> None:
    made = counted()
    ran = 0
    cases = sessions.cases(lambda asked, area: made[asked, area] if asked == operation else 0)
    for case in islice(cases, 0, None, 1 if is_thorough() else 3):
        disk = SimDisk()
        past = sessions.prepare(disk)
        failing = Failing(disk, case)
        try:
            history = sessions.under_fault(disk)
            disk.faults, disk.free_bytes = (lambda _operation, _name: None), None
            assert failing.met, "the fault was not met"
            cut = disk.crash(ran)
            sessions.check(disk, [past, history])
            sessions.check(cut, [past, history], blobs_are_swept=False)
        except BaseException as error:
            error.add_note(sessions.described(case))
            raise
        ran += 1
    assert ran > 0
