"""`workspaced/share*`: sharing levels of clients, why a note goes no further, rules and flags that do not say what
they should, and accepting a vault's rules."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from workspaced_events.errors import OutsideVault
from workspaced_events.ids import NoteId, note_id
from workspaced_events.limits import SHARING_CLIENT_CHARS_MAX
from workspaced_events.projections.workspace_state import ANY_CLIENT, WorkspaceState, client_key
from workspaced_events.schema.catalogue import Sharing, Volunteering
from workspaced_tools.errors import AmbiguousReference, NoteNotFound, SharingOff, ToolError
from workspaced_tools.notes.name_keys import stem, without_case, without_ending
from workspaced_tools.notes.note import LEVELS, Level
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.levels import setting, sharing_status, volunteering
from workspaced_tools.tools.read_note import only_note
from workspaced_tools.tools.references import resolved
from workspaced_tools.vault.withholding_reasons import Reason, rule_reasons

from ..calls.calls import Calls
from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.service import Service
from ..service.session import Method, Session
from ..service.upkeep import reconcile
from ..vaults.served_vault import ServedVault

_LINK: Final = re.compile(r"!?\[\[([^\]|#]+)[^\]]*\]\]")
"""A wikilink, with the name of its note."""
_NEAR_MAX: Final = 5
_NEAR_SCORE_MIN: Final = 60


async def owners_note(calls: Calls, served: ServedVault, named: str, caller: str) -> NoteId:
    """The note that the vault's owner means: by its path, its name, or as agents name notes.

    Withheld ones are found too, which agents find by no name.

    Raises:
        AmbiguousReference: several notes have the name, listed in the hint.
        NoteNotFound: none has; the hint lists near ones.
    """
    known = sorted(served.vault.known_to_owner())
    link = _LINK.fullmatch(named)
    name = without_case(link[1].strip() if link else named)
    same = [path for path in known if name in (without_case(path), without_case(without_ending(path)))]
    same = same or [path for path in known if without_case(stem(path)) == stem(name)]
    if len(same) > 1:
        raise AmbiguousReference(f"{named!r} names {len(same)} notes.", hint=f"Give one: {_listed(same)}.")
    if same:
        return note_id(same[0])
    try:
        found = await calls.with_views(
            lambda shown, _requested: _as_agents_name_it(shown[0], named), caller, served.id, works_paused=True
        )
    except SharingOff:
        found = None
    if found is not None:
        return found
    near = _near(name, known)
    hint = f"Near: {_listed(near)}." if near else "Check the spelling, or give a path from the vault's root."
    raise NoteNotFound(f"There is no note {named!r}, and the log remembers none.", hint=hint, near=near)


def _as_agents_name_it(view: View, named: str) -> NoteId | None:
    try:
        return NoteId(only_note(resolved(view, named), named, view.vault).id)
    except ToolError:
        return None


def _near(name: str, known: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process  # it takes its time, and is seldom needed

    names = {path: without_case(stem(path)) for path in known}
    found = process.extract(stem(name), names, scorer=fuzz.ratio, limit=_NEAR_MAX, score_cutoff=_NEAR_SCORE_MIN)
    return [path for _name, _score, path in found]


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:_NEAR_MAX]) + (", ..." if len(paths) > _NEAR_MAX else "")


class Share(Params, frozen=True):
    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX)]
    level: Sharing | None = None
    volunteering: Volunteering | None = None
    """Whether the client is told of the workspace without asking."""


class Why(Params, frozen=True):
    path: str
    vault: str | None = None
    """Default: the current vault."""
    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX)] | None = None
    """Only what concerns this client; default: every client that is known."""


class Effect(msgspec.Struct, frozen=True):
    """What a note's level and a client's sharing level come to."""

    client: str
    sharing: Sharing
    shown: Literal["nothing", "names", "all"]
    """How much of the note the client is shown at most."""
    unasked: bool
    """Whether it is shown also where the client does not ask for the note."""


class Accept(Params, frozen=True):
    vault: str


class IdleRules(Params, frozen=True):
    vault: str | None = None
    """Default: the current vault."""


async def share(session: Session, _id: RequestId | None, params: Share) -> Any:
    service = session.service
    if params.level is not None:
        await service.publishing.record(setting(params.client, params.level), session.client)
    if params.volunteering is not None:
        await service.publishing.record(volunteering(params.client, params.volunteering), session.client)
    state = service.tail.state
    return {
        "client": client_key(params.client),
        "level": state.sharing_of(params.client),
        "volunteering": state.volunteering_of(params.client),
        "clock": service.tail.clock(),
    }


async def why(session: Session, _id: RequestId | None, params: Why) -> Any:
    """How far a note may go and all reasons why no further."""
    service = session.service
    served = service.served_vault(params.vault)
    named = _in_vault(served, params.path)
    path = note_id(named)
    state = service.tail.state
    now = state.of(served.id).current_path(path)
    reasons: list[Reason] = await service.threads.run(_reasons, served, path, now)
    if [each.kind for each in reasons] == ["unknown"] and served.vault.index_state() == "ready":
        path = await owners_note(service.calls, served, named, session.client)
        now = state.of(served.id).current_path(path)
        reasons = await service.threads.run(_reasons, served, path, now)
    level = min((LEVELS[each.level] for each in reasons), default=Level.VOLUNTEER)
    idle = await service.threads.run(served.vault.idle_rules) if level is not Level.NEVER else []
    return {
        "vault": served.id,
        "path": path,
        "now": now,
        "level": level.word,
        "withheld": level is Level.NEVER,
        "reasons": reasons,
        "idleRules": idle,
        "clients": [_effect(state, each, level) for each in _clients(service, params.client)],
        "clock": service.tail.clock(),
    }


def _in_vault(served: ServedVault, path: str) -> str:
    """The path from the vault's root, also of one that a shell has made absolute.

    Raises:
        OutsideVault: the absolute path leads elsewhere.
    """
    if not path.startswith("/"):
        return path
    root = served.vault.root.path
    try:
        return PurePath(path).relative_to(root).as_posix()
    except ValueError:
        raise OutsideVault(
            f"{path!r} is not in the vault {served.id}, which is {str(root)!r}.",
            hint="Name its vault with --vault, or give a path from the vault's root, such as 'work/plan.md'.",
        ) from None


def _clients(service: Service, client: str | None) -> Sequence[str]:
    """The clients to speak of, as the share policy names them."""
    if client is not None:
        return [client_key(client)]
    known = sharing_status(service.tail.state, service.client_names())["clients"]
    return [ANY_CLIENT, *(each["client"] for each in known)]


def _effect(state: WorkspaceState, client: str, level: Level) -> Effect:
    sharing = state.sharing_of(client)
    if sharing == "none" or level is Level.NEVER:
        return Effect(client, sharing, "nothing", unasked=False)
    return Effect(client, sharing, sharing, unasked=level is Level.VOLUNTEER)


async def accept(session: Session, _id: RequestId | None, params: Accept) -> Any:
    """Accepts the vault's present rules, even if the rules file disappeared together with most notes."""
    service = session.service
    served = service.served_vault(params.vault)
    served.vault.policy.accept()
    await reconcile(service)
    return {"vault": served.id, "problem": served.vault.policy.problem, "clock": service.tail.clock()}


async def rules(session: Session, _id: RequestId | None, params: IdleRules) -> Any:
    """The ignore rules that match no file of the vault, and the properties of notes that are no known flag."""
    service, served = session.service, session.service.served_vault(params.vault)
    idle = await service.threads.run(served.vault.idle_rules)
    unclear = await service.threads.run(served.vault.unclear_flags)
    return {"vault": served.id, "idleRules": idle, "unclearFlags": unclear, "clock": service.tail.clock()}


def _reasons(served: ServedVault, path: NoteId, now: NoteId | None) -> list[Reason]:
    found: list[Reason] = []
    # Rules and flags count as they are now, as for an agent's next call, and not as they were last read.
    served.vault.policy.refresh()
    served.vault.notes.read([now or path])
    if now is not None and not served.vault.root.is_taken(path):
        found += rule_reasons(served.vault.levels, path)
        path = now
    return found + served.vault.why(path)


METHODS: Final = {
    "workspaced/share": Method(Share, share, works_paused=True, writes=True),
    "workspaced/share/why": Method(Why, why, works_paused=True),
    "workspaced/share/rules": Method(IdleRules, rules, works_paused=True),
    "workspaced/share/accept": Method(Accept, accept, works_paused=True, writes=True),
}
