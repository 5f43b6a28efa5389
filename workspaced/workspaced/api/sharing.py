"""`workspaced/share*`: sharing levels of clients, why a note is withheld, and accepting a vault's rules."""

from typing import Annotated, Any

from msgspec import Meta

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.limits import SHARING_CLIENT_CHARS_MAX
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import Sharing, Volunteering
from workspaced_tools.sharing.levels import setting, volunteering
from workspaced_tools.vault.vault import Reason

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.service import Service
from ..service.session import Session
from ..service.upkeep import reconcile
from ..vaults.served_vault import ServedVault


class Share(Params, frozen=True):
    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX)]
    level: Sharing | None = None
    volunteering: Volunteering | None = None
    """Whether the client is told of the workspace without asking."""


class Why(Params, frozen=True):
    path: str
    vault: str | None = None
    """Default: the current vault."""


class Accept(Params, frozen=True):
    vault: str


async def share(session: Session, _id: RequestId | None, params: Share) -> Any:
    service = session.service
    if params.level is not None:
        await service.publishing.record(setting(params.client, params.level))
    if params.volunteering is not None:
        await service.publishing.record(volunteering(params.client, params.volunteering))
    state = service.tail.state
    return {
        "client": client_key(params.client),
        "level": state.sharing_of(params.client),
        "volunteering": state.volunteering_of(params.client),
        "clock": service.tail.clock(),
    }


async def why(session: Session, _id: RequestId | None, params: Why) -> Any:
    """Whether a note is withheld from all agents, and all reasons why."""
    service = session.service
    served = _served(service, params.vault)
    path = note_id(params.path)
    now = service.tail.state.of(served.id).current_path(path)
    reasons: list[Reason] = await service.threads.run(_reasons, served, path, now)
    return {
        "vault": served.id,
        "path": path,
        "now": now,
        "withheld": bool(reasons),
        "reasons": reasons,
        "clock": service.tail.clock(),
    }


async def accept(session: Session, _id: RequestId | None, params: Accept) -> Any:
    """Accepts the vault's present rules, even if the rules file disappeared together with most notes."""
    service = session.service
    served = _served(service, params.vault)
    served.vault.policy.accept()
    await reconcile(service)
    return {"vault": served.id, "problem": served.vault.policy.problem, "clock": service.tail.clock()}


def _served(service: Service, vault: str | None) -> ServedVault:
    """
    Raises:
        InvalidArgument: there is no such vault, or the vault is not served.
    """
    found = service.current_vault if vault is None else service.served.get(VaultId(vault))
    if found is None:
        known = ", ".join(service.served) or "none"
        what = "No vault is current." if vault is None else f"The vault {vault[:100]!r} is not served."
        raise InvalidArgument(what, hint=f"Served: {known}.")
    return found


def _reasons(served: ServedVault, path: NoteId, now: NoteId | None) -> list[Reason]:
    found: list[Reason] = []
    if now is not None and not served.vault.is_taken(path):
        found += served.vault.denied(path)
        path = now
    return found + served.vault.why(path)
