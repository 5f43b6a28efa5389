"""What a daemon does by itself while it runs: tabs expire, vaults are reconciled, notes and texts looked at."""

import logging

from anyio import to_thread

from workspaced_events.errors import LogError
from workspaced_events.journal.actions import Action
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_fold import expired_tabs
from workspaced_events.replay.blob_check import texts_of_tail
from workspaced_events.schema import catalogue as c

from ..vaults.served_vault import ServedVault, notes_attached, notes_published
from .service import Service

logger = logging.getLogger(__name__)


async def expire_tabs(service: Service) -> None:
    """Records the tabs of every vault that were not accessed for a day."""
    now, state = service.writer.now(), service.tail.state
    actions = [
        Action(c.TemporaryTabsExpired(tuple(tab.id for tab in gone)), vault=vault)
        for vault, sub in state.by_vault.items()
        if (gone := expired_tabs(sub, now, state.clock_steps)) and state.vaults[vault].open
    ]
    if actions:
        await service.publishing.note(actions)


async def reconcile(service: Service) -> None:
    """Compares every served folder with the index now, and waits until new findings have settled."""
    for served in list(service.served.values()):
        await served.reconcile(lambda: service.tail.state, service.publishing.note)
        await served.settled(lambda: service.tail.state, service.publishing.note)


async def look_at_known_notes(service: Service, served: ServedVault) -> None:
    """Looks once at every note that the log names and nobody has looked at: in logs of older versions, or just
    before a crash."""
    visits: list[Visit] = []
    try:
        visits = await service.threads.run(service.visits.visits, served.id, service.tail.seq)
    except LogError as error:
        # Notes that only the part before the damage names stay withheld until somebody looks at them.
        service.history_problem = f"The log's past cannot be read: {error}"
        logger.warning("%s", service.history_problem)
    served.settler.named({*notes_published(service.tail.state, served.id), *(visit.note for visit in visits)})
    served.settler.named(notes_attached(service.tail.state, served.id), guessed=True)


def flush_findings(service: Service) -> None:
    """Records the findings about notes' visibility so far; on any thread."""
    for served in list(service.served.values()):
        served.settler.flush()


async def examine_texts(service: Service) -> None:
    """Reads the texts that the last events name; `status` names those that are damaged."""
    try:
        await to_thread.run_sync(_examine_texts, service, abandon_on_cancel=True)
    except (LogError, OSError) as error:
        logger.warning("the texts of the last events are not checked: %s", error)


def _examine_texts(service: Service) -> None:
    service.blobs.examine(texts_of_tail(service.blobs.disk, service.log))
    for trouble in service.blobs.troubles:
        logger.warning("damaged: %s", trouble)
