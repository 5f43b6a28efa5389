"""`workspaced/status`: how the daemon is."""

import os
import time
from typing import Any

import msgspec

from workspaced_tools.prompts.audit.cache_accounting import conversations_status
from workspaced_tools.sharing.levels import sharing_status

from ..__about__ import __version__
from ..vaults.served_vault import ServedVault
from .service import Service


def status(service: Service, *, named: bool = True) -> dict[str, Any]:
    """The result of `workspaced/status`.

    Args:
        named: also what may tell of withheld notes, so not for agents: the names of files that something is wrong
            with, counts of the cache, how long calls took.
    """
    log, state, writer = service.log, service.tail.state, service.writer
    recording = _recording_status(service)
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
        "conversations": conversations_status(state.conversations),
        "sharing": sharing_status(state, service.client_names()),
        "degraded": _degraded(service, recording["problem"], named=named),
        "warnings": service.warnings,
    }


def offline_vaults(service: Service) -> list[str]:
    """Open vaults of the log whose folder this daemon does not serve."""
    return [
        vault.id for vault in service.tail.state.vaults.values() if vault.open and vault.id not in service.served
    ]


def _degraded(service: Service, recording_problem: str | None, *, named: bool) -> list[str]:
    log, vaults = service.log, service.served.values()
    found = [trouble.message for trouble in (log.damage, log.failure) if trouble is not None]
    problems = (log.waiting, log.head_problem, service.history_problem)
    found += [str(problem) for problem in problems if problem is not None]
    found += _damaged_texts(service, named=named)
    found += [problem for served in vaults for problem in served.problems()]
    policies = [(served.id, served.vault.policy.problem) for served in vaults]
    found += [f"Vault {vault}: {problem}" for vault, problem in policies if problem is not None]
    return [*found, recording_problem] if recording_problem is not None else found


def _damaged_texts(service: Service, *, named: bool) -> list[str]:
    troubles = service.blobs.troubles
    if not troubles:
        return []
    problem = f"{len(troubles)} text{'s' if len(troubles) > 1 else ''} of the log cannot be read back"
    return [f"{problem}: {'; '.join(map(str, troubles))}." if named else f"{problem}."]


def _recording_status(service: Service) -> dict[str, Any]:
    return {
        "record": "served" if service.records_calls else "none",
        **service.sweeper.status(),
        "skipped": service.call_recorder.skipped,
        "problem": service.call_recorder.problem or service.sweeper.problem,
    }


def _vault_status(service: Service, served: ServedVault, *, named: bool) -> dict[str, Any]:
    return {
        "id": served.id,
        "path": str(served.path),
        "current": served.id == service.tail.state.current,
        "watcher": served.watcher,
        **msgspec.to_builtins(served.vault.statistics(named=named)),
    }
