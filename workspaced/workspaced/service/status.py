"""`workspaced/status`: versions, queues, vaults and problems of the daemon."""

import os
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from workspaced_tools.sharing.levels import sharing_status
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE

from ..__about__ import __version__
from ..vaults.served_vault import ServedVault
from .service import Service


def status(service: Service, *, named: bool = True) -> dict[str, Any]:
    """The result of `workspaced/status`.

    Args:
        named: whether to add what could reveal withheld notes: names of damaged files, counts of the cache,
            durations of calls. False for agents.
    """
    log, state, writer = service.log, service.tail.state, service.writer
    recording = {
        "record": "served" if service.records_calls else "none",
        **service.sweeper.status(),
        "skipped": service.call_recorder.skipped,
        "problem": service.call_recorder.problem or service.sweeper.problem,
    }
    problems = list(_problems(service, recording["problem"], named=named))
    return {
        "version": __version__,
        "pid": os.getpid(),
        "workspace": service.workspace,
        "instance": service.instance,
        "uptimeS": round(time.monotonic() - service.started_at, 3),
        "seq": service.tail.seq,
        "asOfSeq": state.seq,
        "clock": service.tail.clock(),
        "log": {
            "id": log.log_id,
            "durability": "none" if log.damage or log.failure or log.waiting else "synced",
            "slowSyncs": writer.slow_syncs,
            "unknownEvents": state.unknown_events,
        },
        "queues": {
            "publish": writer.queued,
            "publishBytes": writer.queued_bytes,
            "connections": service.connections,
        },
        "vaults": [_vault_status(service, served, named=named) for served in service.served.values()],
        **({"tools": service.calls.statistics.status()} if named else {}),
        "recording": recording,
        "paused": msgspec.to_builtins(state.paused),
        "sharing": sharing_status(state, service.client_names()),
        "degraded": [each.message for each in problems],
        **({"unchanged": dict(service.overlays.unchanged.most_common())} if named else {}),
        **({"traces": {**service.traces.status(), "ignoredParents": service.parents.ignored}} if named else {}),
        **({"problems": msgspec.to_builtins(problems)} if named else {}),
        "warnings": service.warnings,
        **({"link": link} if named and (link := service.link.status()) is not None else {}),
    }


def offline_vaults(service: Service) -> list[str]:
    """Vaults that are open in the log but not served by this daemon."""
    return [
        vault.id for vault in service.tail.state.vaults.values() if vault.open and vault.id not in service.served
    ]


class Problem(msgspec.Struct, frozen=True):
    """Something that the daemon does without, and what the user can do about it."""

    message: str
    fix: str


def _problems(service: Service, recording_problem: str | None, *, named: bool) -> Iterator[Problem]:
    log = service.log
    for trouble in (log.damage, log.failure):
        if trouble is not None:
            yield Problem(trouble.message, trouble.hint or _VERIFY)
    if log.waiting is not None:
        yield Problem(str(log.waiting), "Free space on the disk of the data directory; recording then goes on.")
    if log.head_problem is not None:
        yield Problem(log.head_problem, "Free space and check the permissions of the data directory.")
    if service.history_problem is not None:
        yield Problem(service.history_problem, _VERIFY)
    if texts := _damaged_texts(service, named=named):
        yield Problem(texts, "Restore the files from a backup, or publish the same texts again.")
    for served in service.served.values():
        yield from _problems_of_vault(served)
    if service.memory.interrupted:
        yield Problem(
            f"{service.memory.interrupted} interrupted writes to the memory folder have no end yet.",
            "Serve the vault with the folder that `memory` named then; `workspaced memory list` shows them.",
        )
    if (link := service.link.problem) is not None:
        yield Problem(f"The link: {link.message}", link.hint)
    if (traces := service.traces.problem) is not None:
        yield Problem(f"Traces: {traces}", "Start the receiver that `[traces] otlp` names, or remove the setting.")
    if recording_problem is not None:
        yield Problem(recording_problem, "Free space and check the permissions of `served` in the data directory.")


def _problems_of_vault(served: ServedVault) -> Iterator[Problem]:
    for problem in served.problems():
        yield Problem(problem, _fix_of_vault(served))
    if (rules := served.vault.policy.problem) is not None:
        yield Problem(f"Vault {served.id}: {rules}", _fix_of_rules(served, rules))


_VERIFY: Final = "See `workspaced log verify`; restart the daemon once the log is repaired."


def _fix_of_vault(served: ServedVault) -> str:
    if served.vault.error is None:
        return "Check the system's limit of watched folders; changes are found at each reconcile meanwhile."
    return f"Check that {served.path} is there and readable, then run `workspaced doctor --reconcile`."


def _fix_of_rules(served: ServedVault, problem: str) -> str:
    rules = served.path / IGNORE_FILE
    if "accept-rules" in problem:
        return f"Restore {rules}; or `workspaced share accept-rules {served.id}` if it is meant to be gone."
    return f"Correct {rules}; the daemon notices the change."


def _damaged_texts(service: Service, *, named: bool) -> str | None:
    troubles = service.blobs.troubles
    if not troubles:
        return None
    problem = f"{len(troubles)} text{'s' if len(troubles) > 1 else ''} of the log cannot be read back"
    return f"{problem}: {'; '.join(map(str, troubles))}." if named else f"{problem}."


def _vault_status(service: Service, served: ServedVault, *, named: bool) -> dict[str, Any]:
    return {
        "id": served.id,
        "path": str(served.path),
        "current": served.id == service.tail.state.current,
        "watcher": served.watcher,
        **msgspec.to_builtins(served.vault.statistics(named=named)),
    }
