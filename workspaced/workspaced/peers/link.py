"""`Link`: the daemon's part in one workspace on several machines, and the commands that change it.

Most daemons are not linked: they pay for one look at a file when they start.
"""

import getpass
import logging
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import OriginId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.peer_events import LinkChanged, Position, Replicate, VaultMapping

from ..calls.threads import Threads
from ..errors import PackageMissing
from ..journal.log_tail import COMMITTED, NOTES_MOVED, LogTail
from ..journal.publishing import Publishing
from ..settings.link import LinkSettings
from ..vaults.served_vault import ServedVault
from .carrier import CarrierError
from .link_status import failed_status, link_status, problem_of, shown

if TYPE_CHECKING:
    from .keys.invitation import Invitation
    from .keys.origin_keys import OriginKeys
    from .keys.roster import Member, Roster
    from .leaving_notes import Named
    from .live import Live
    from .membership import Membership

logger = logging.getLogger(__name__)

FOLDER: Final = "link"
NAME_CHARS_MAX: Final = 64
INVITATIONS_MAX: Final = 32
_FILES: Final = ("link.json", "outbox", "origin.json")
"""Of one origin. Beside them lie the hashes of all names that have left this machine."""


class Link:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(
        self,
        data: Path,
        settings: LinkSettings,
        publishing: Publishing,
        tail: LogTail,
        served: Mapping[VaultId, ServedVault],
        threads: Threads,
    ) -> None:
        """`data`: the data directory."""
        self._folder = data / FOLDER
        self._settings = settings
        self._publishing = publishing
        self._tail = tail
        self._served = served
        self._threads = threads
        self._membership: Membership | None = None
        self._keys: OriginKeys | None = None
        self._live: Live | None = None
        self._failed: CarrierError | None = None
        """Why nothing runs, although there is a membership."""
        self._restart = anyio.Event()
        self._ended = anyio.Event()
        self._changing = anyio.Lock()
        """Held while the membership is changed: each change begins with what the one before has left."""

    # -- its life --

    async def run(self) -> None:
        """Runs the link, whenever there is one, until cancelled. What fails is told by `status`."""
        self._load()
        while True:
            self._restart = anyio.Event()
            async with anyio.create_task_group() as tasks:
                if self._membership is not None and not self._membership.was_removed:
                    tasks.start_soon(self._run_live, self._membership)
                await self._restart.wait()
                tasks.cancel_scope.cancel()
            self._live = None
            self._ended.set()
            self._ended = anyio.Event()

    def _load(self) -> None:
        if not (self._folder / _FILES[0]).exists():
            return
        try:
            check_installed()
            from .keys.origin_keys import load_keys
            from .membership import load_membership

            self._keys, self._membership = load_keys(self._folder), load_membership(self._folder)
            if self._keys is None:
                self._membership = None
                raise CarrierError(
                    "LINK_DAMAGED", f"{self._folder} has no keys.", "`workspaced link leave`, then join again."
                )
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            self._failed = CarrierError(
                "LINK_DAMAGED",
                f"What the link is cannot be read: {error}.",
                f"Restore {self._folder}, or leave the link.",
            )
        except PackageMissing as error:
            self._failed = CarrierError(error.code, error.message, error.hint)
        except CarrierError as error:
            self._failed = error

    async def _run_live(self, membership: "Membership") -> None:
        from .carrying.nats_carrier import nats_carrier
        from .keys.message import MessageRefused
        from .live import Live
        from .outbox import FileOutbox

        assert self._keys is not None, "a membership has keys"
        await self._record_link(membership)
        servers = self._settings.servers or membership.servers
        if not servers:
            self._failed = CarrierError(
                "NO_SERVER", "The link has no server.", "Set `[link] servers` in config.toml."
            )
            return
        try:
            async with nats_carrier(
                self._settings.model_copy(update={"servers": servers}), membership.link
            ) as carrier:
                live = Live(
                    self,
                    self._keys,
                    membership,
                    carrier,
                    FileOutbox(self._folder),
                    self.change,
                    selection_text=self._settings.replicate_selection_text,
                )
                self._live, self._failed = live, None
                await live.run()
        except (MessageRefused, OSError, msgspec.MsgspecError) as error:
            self._failed = CarrierError(
                "LINK_DAMAGED", f"The link cannot run: {error}.", "Leave the link, and join again."
            )
        except Exception:  # whatever it is, the daemon works on without the link
            logger.exception("the link failed")
            self._failed = CarrierError("LINK_FAILED", "The link ended by a fault of ours.", "Restart the daemon.")

    async def _record_link(self, membership: "Membership") -> None:
        """The log says what the membership is."""
        assert self._keys is not None, "a membership has keys"
        event = membership.as_event(self._keys.origin)
        if event != _linked(self._tail.state):
            with suppress(WorkspacedError):
                await self._publishing.record([Action(event)])

    # -- for Live --

    def state(self) -> WorkspaceState:
        return self._tail.state

    async def record(self, actions: list[Action]) -> None:
        await self._publishing.record(actions)

    async def moved(self, timeout_s: float) -> None:
        happened = anyio.Event()
        for signal in (COMMITTED, NOTES_MOVED):
            self._tail.signals.on(signal, happened.set)
        try:
            with anyio.move_on_after(timeout_s):
                await happened.wait()
        finally:
            for signal in (COMMITTED, NOTES_MOVED):
                self._tail.signals.remove_listener(signal, happened.set)

    async def allowed(self, named: "frozenset[Named]") -> "frozenset[Named]":
        from .leaving_notes import may_leave

        found: frozenset[Named] = await self._threads.run(may_leave, named, dict(self._served))
        return found

    async def change(self, change: "Callable[[Membership], Membership]") -> None:
        """Changes the membership: keeps it, records it, lets it work."""
        async with self._changing:
            if self._membership is None:
                raise _not_linked()
            await self._keep(change(self._membership))

    async def _keep(self, membership: "Membership") -> None:
        from .keys.roster import seal_roster
        from .membership import save_membership

        assert self._keys is not None, "a membership has keys"
        former = self._membership
        if membership.auto_approve:
            membership = self._approved_by_itself(membership)
        roster = membership.roster
        is_new = former is None or former.roster is not roster
        if roster is not None and is_new and membership.is_creator(self._keys.origin):
            membership = replace(membership, sealed_roster=seal_roster(roster, self._keys))
        await self._threads.run(save_membership, self._folder, membership)
        self._membership = membership
        await self._record_link(membership)
        if self._live is None or membership.was_removed or self._live.sender is None:
            self._restart.set()
        else:
            self._live.take(membership)

    def _approved_by_itself(self, membership: "Membership") -> "Membership":
        """Lets in this person's own machines."""
        from .keys.roster import with_member

        assert self._keys is not None and membership.roster is not None, "only a creator approves"
        own = membership.roster.member(self._keys.origin)
        for each in membership.requests:
            if own is not None and each.person == own.person:
                membership = _without_request(
                    replace(membership, roster=with_member(membership.roster, each, self._keys)), each
                )
                assert membership.roster is not None
        return membership

    # -- commands --

    async def new(
        self, servers: tuple[str, ...], person: str | None, machine: str | None, *, auto_approve: bool
    ) -> dict[str, Any]:
        """Makes a link of which this daemon is the creator; gives its first invitation.

        Raises:
            PackageMissing, WorkspacedError: ALREADY_LINKED.
            InvalidArgument: there is no server, or it is no URL of one.
        """
        self._check_unlinked()
        servers = self._checked_servers(servers)
        from .keys.origin_keys import new_keys
        from .keys.roster import new_roster
        from .membership import Membership

        keys = new_keys()
        link = os.urandom(16).hex()
        roster = new_roster(link, keys, person or getpass.getuser()[:NAME_CHARS_MAX], machine or _machine())
        await self._begin(
            keys,
            Membership(
                link, keys.verify_key, machine or _machine(), servers, roster=roster, auto_approve=auto_approve
            ),
        )
        return await self.invite(None)

    async def _begin(self, keys: "OriginKeys", membership: "Membership") -> None:
        from .keys.origin_keys import save_keys

        async with self._changing:
            self._check_unlinked()
            # What another origin has sent is not this one's; a crash while leaving may have left it.
            await self._threads.run(_remove_files, self._folder)
            await self._threads.run(save_keys, self._folder, keys)
            self._keys = keys
            await self._keep(membership)

    async def invite(self, person: str | None) -> dict[str, Any]:
        """A code for one machine, within 15 minutes.

        Raises:
            WorkspacedError: NOT_LINKED, NOT_CREATOR.
        """
        from .keys.invitation import code_of, new_invitation

        keys, membership, roster = self._as_creator()
        own = roster.member(keys.origin)
        assert own is not None, "the creator is a member"
        now = datetime.now(UTC)
        invitation: Invitation = new_invitation(person or own.person, now)

        def invited(membership: "Membership") -> "Membership":
            valid = tuple(each for each in membership.invitations if each.origin or each.is_valid(now, ""))
            return replace(membership, invitations=(*valid, invitation)[-INVITATIONS_MAX:])

        await self.change(invited)
        return {
            "code": code_of(membership.link, membership.creator_key, invitation),
            "person": invitation.person,
            "expires": invitation.expires,
            "link": membership.link,
            "origin": keys.origin,
        }

    async def join(self, code: str, servers: tuple[str, ...], machine: str | None) -> dict[str, Any]:
        """Asks to join the link of an invitation; `status` tells when it is in.

        Raises:
            PackageMissing, WorkspacedError: ALREADY_LINKED.
            InvalidArgument: this is no code, or there is no server.
        """
        self._check_unlinked()
        from .keys.invitation import read_code
        from .keys.origin_keys import new_keys
        from .membership import Membership

        read = read_code(code)
        servers = self._checked_servers(servers)
        keys = new_keys()
        await self._begin(keys, Membership(read.link, read.creator_key, machine or _machine(), servers, code=read))
        return {"origin": keys.origin, "link": read.link}

    async def approve(self, origin: str) -> dict[str, Any]:
        """Lets in who asked to join.

        Raises:
            WorkspacedError: NOT_LINKED, NOT_CREATOR.
            InvalidArgument: nobody, or several ask under such an id.
        """
        from .keys.roster import with_member

        keys, membership, _roster = self._as_creator()
        joining = _the_one(membership.requests, origin, "asks to join")

        def joined(membership: "Membership") -> "Membership":
            assert membership.roster is not None, "the creator has one"
            roster = with_member(membership.roster, joining, keys)
            return _without_request(replace(membership, roster=roster), joining)

        await self.change(joined)
        return shown(joining)

    async def remove(self, origin: str) -> dict[str, Any]:
        """Removes a member, and gives the others a new key.

        Raises:
            WorkspacedError: NOT_LINKED, NOT_CREATOR.
            InvalidArgument: no member, several, or the creator has such an id.
        """
        from .keys.roster import without_member

        keys, _membership, roster = self._as_creator()
        gone = _the_one([each for each in roster.members if each.origin != keys.origin], origin, "takes part")
        heard = self._tail.state.peers.origins.get(gone.origin)
        last = heard.position if heard is not None else Position()

        def removed(membership: "Membership") -> "Membership":
            assert membership.roster is not None, "the creator has one"
            return replace(membership, roster=without_member(membership.roster, gone.origin, last))

        await self.change(removed)
        return shown(gone)

    async def map_vault(self, folder: str, name: str, replicate: Replicate) -> dict[str, Any]:
        """Says which vault of the link a vault of this machine is.

        Raises:
            WorkspacedError: NOT_LINKED; NOT_CREATOR: there is no such name yet, and only the creator makes one.
            InvalidArgument: the folder is no served vault.
        """
        from .keys.roster import with_vault

        keys, _membership, _roster = self._as_member()
        vault = self._vault_of(folder)

        def mapped(membership: "Membership") -> "Membership":
            assert membership.roster is not None, "a member has one"
            roster = membership.roster
            if roster.vault_named(name) is None:
                _check_may_name(membership, keys.origin, name)
                roster = with_vault(roster, name)
            linked = roster.vault_named(name)
            assert linked is not None, "it is there, or was just added"
            vaults = {**membership.vaults, vault: VaultMapping(vault, linked, replicate)}
            return replace(membership, roster=roster, vaults=vaults)

        await self.change(mapped)
        linked = self._as_member()[1].vaults[vault].linked
        return {"vault": vault, "name": name, "linked": linked, "replicate": replicate}

    async def leave(self) -> dict[str, Any]:
        """Leaves the link, and forgets its keys. Which names of notes have left stays known, as hashes.

        Raises:
            WorkspacedError: NOT_LINKED.
        """
        async with self._changing:
            if self._membership is None and self._failed is None:
                raise _not_linked()
            self._membership = self._keys = self._failed = None
            self._restart.set()
            while self._live is not None:  # it may still be keeping what it sends
                await self._ended.wait()
            await self._threads.run(_remove_files, self._folder)
        if self._tail.state.peers.own is not None:
            await self._publishing.record([Action(LinkChanged())])
        return {}

    def _check_unlinked(self) -> None:
        check_installed()
        if self._membership is not None or self._failed is not None:
            raise WorkspacedError(
                "This daemon takes part in a link.",
                code="ALREADY_LINKED",
                hint="`workspaced link leave` ends that.",
            )

    def _as_member(self) -> "tuple[OriginKeys, Membership, Roster]":
        keys, membership = self._keys, self._membership
        if keys is None or membership is None:
            raise _not_linked()
        if membership.roster is None:
            raise WorkspacedError(
                "This machine is not let in yet.",
                code="NOT_LINKED",
                hint="`workspaced link approve` where it was invited.",
            )
        return keys, membership, membership.roster

    def _as_creator(self) -> "tuple[OriginKeys, Membership, Roster]":
        keys, membership, roster = self._as_member()
        if not membership.is_creator(keys.origin):
            creator = roster.member(roster.creator)
            where = f"{creator.machine!r}" if creator is not None else "the machine that made the link"
            raise WorkspacedError(
                "Only the machine that made the link may do this.", code="NOT_CREATOR", hint=f"Run it on {where}."
            )
        return keys, membership, roster

    def _checked_servers(self, servers: tuple[str, ...]) -> tuple[str, ...]:
        if not (servers or self._settings.servers):
            raise InvalidArgument(
                "A link needs a NATS server.", hint="Give --servers tls://HOST:4222, or set `[link] servers`."
            )
        try:
            LinkSettings(servers=servers)
        except ValueError:
            raise InvalidArgument(
                f"No URL of a NATS server: {', '.join(servers)[:200]!r}.",
                hint="Write nats://HOST:4222 or tls://HOST:4222.",
            ) from None
        return servers

    def _vault_of(self, folder: str) -> VaultId:
        for vault, served in self._served.items():
            if folder in (vault, str(served.path)) or Path(folder).expanduser().resolve() == served.path:
                return vault
        known = ", ".join(f"{vault} ({served.path})" for vault, served in self._served.items())
        raise InvalidArgument(f"The daemon serves no vault {folder[:200]!r}.", hint=f"Served: {known or 'none'}.")

    # -- status --

    @property
    def problem(self) -> CarrierError | None:
        """What is wrong with the link; None: nothing, or there is none."""
        return problem_of(self._membership, self._live, self._failed)

    def status(self) -> dict[str, Any] | None:
        """For people and `doctor`; None: the daemon is not linked."""
        membership, keys = self._membership, self._keys
        if membership is None or keys is None:
            return None if self._failed is None else failed_status(self._failed)
        servers = self._settings.servers or membership.servers
        return link_status(membership, keys.origin, servers, self._live, self._tail.state.peers, self.problem)


def check_installed() -> None:
    """Raises PackageMissing: the extra `nats` is not installed."""
    if find_spec("nacl") is None or find_spec("nats") is None:
        raise PackageMissing("A link", "nats")


def _linked(state: WorkspaceState) -> LinkChanged:
    """What the log says of the link."""
    peers = state.peers
    if peers.own is None:
        return LinkChanged()
    vaults = (peers.vaults[vault].mapping for vault in sorted(peers.vaults))
    return LinkChanged(peers.own, tuple(peers.members[each] for each in sorted(peers.members)), tuple(vaults))


def _check_may_name(membership: "Membership", origin: OriginId, name: str) -> None:
    """Raises WorkspacedError: only the creator of the link names its vaults."""
    if not membership.is_creator(origin):
        assert membership.roster is not None, "a member has one"
        known = ", ".join(map(repr, membership.roster.vaults.values())) or "none yet"
        raise WorkspacedError(
            f"The link knows no vault {name!r}.",
            code="NOT_CREATOR",
            hint=f"Known: {known}. Map a new one first at the machine that made the link.",
        )


def _without_request(membership: "Membership", joined: "Member") -> "Membership":
    return replace(
        membership, requests=tuple(each for each in membership.requests if each.origin != joined.origin)
    )


def _the_one(members: "Any", origin: str, what: str) -> "Member":
    found = [each for each in members if each.origin.startswith(origin)]
    if len(found) != 1:
        known = ", ".join(f"{each.origin[:8]} ({each.machine})" for each in members) or "nobody"
        many = "No machine" if not found else "More than one machine"
        raise InvalidArgument(f"{many} whose id begins with {origin!r} {what}.", hint=f"Known: {known}.")
    member: Member = found[0]
    return member


def _not_linked() -> WorkspacedError:
    return WorkspacedError(
        "This daemon takes part in no link.",
        code="NOT_LINKED",
        hint="`workspaced link new`, or `workspaced link join CODE`.",
    )


def _machine() -> str:
    return (platform.node() or "machine")[:NAME_CHARS_MAX]


def _remove_files(folder: Path) -> None:
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
