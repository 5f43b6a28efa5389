"""Maintenance of a running daemon: expires tabs, reconciles vaults, checks known notes and recent texts."""

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
    """Records which temporary tabs have expired, in every open vault."""
    now, state = service.writer.now(), service.tail.state
    actions = [
        Action(c.TemporaryTabsExpired(tuple(tab.id for tab in gone)), vault=vault)
        for vault, sub in state.by_vault.items()
        if (gone := expired_tabs(sub, now, state.clock_steps)) and state.vaults[vault].open
    ]
    if actions:
        await service.publishing.note(actions)


async def reconcile(service: Service) -> None:
    """Reconciles the index of every served vault with its files, and waits until unsettled notes have settled."""
    for served in list(service.served.values()):
        await served.reconcile()
        await served.settled()


async def check_known_notes(service: Service, served: ServedVault) -> None:
    """Queues a visibility check of every note that the log names and that has no finding, such as one named just
    before a crash."""
    visits: list[Visit] = []
    try:
        visits = await service.threads.run(service.visits.visits, served.id, service.tail.seq)
    except LogError as error:
        # Notes that only events before the damage name stay withheld until a call checks them.
        service.history_problem = f"The log's past cannot be read: {error}"
        logger.warning("%s", service.history_problem)
    served.visibility_checker.named(
        [*notes_published(service.tail.state, served.id), *(visit.note for visit in visits)]
    )
    served.visibility_checker.named(notes_attached(service.tail.state, served.id), guessed=True)


def flush_findings(service: Service) -> None:
    """Records the findings about the visibility of notes. On any thread."""
    for served in list(service.served.values()):
        served.visibility_checker.flush()


async def check_texts(service: Service) -> None:
    """Reads the texts that the latest events name, so that `status` can name the damaged ones."""
    try:
        await to_thread.run_sync(_check_texts, service, abandon_on_cancel=True)
    except (LogError, OSError) as error:
        logger.warning("the texts of the last events are not checked: %s", error)


def _check_texts(service: Service) -> None:
    service.blobs.examine(texts_of_tail(service.log))
    for trouble in service.blobs.troubles:
        logger.warning("damaged: %s", trouble)
