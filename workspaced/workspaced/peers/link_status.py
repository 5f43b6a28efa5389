"""What a link is doing and what is wrong with it, for `status`, `doctor` and people."""

from typing import TYPE_CHECKING, Any

from workspaced_events.clock import microseconds
from workspaced_events.ids import LinkedVaultId, OriginId
from workspaced_events.projections.peers import Peers

from .carrier import CarrierError

if TYPE_CHECKING:
    from .keys.roster import Member
    from .live import Live
    from .membership import Ask, Membership


def problem_of(
    membership: "Membership | None", live: "Live | None", failed: CarrierError | None
) -> CarrierError | None:
    """What is wrong; None: nothing.

    Args:
        live: what runs; None: nothing does.
        failed: why nothing runs.
    """
    if membership is not None and membership.was_removed:
        return CarrierError("REMOVED", "This machine was removed from the link.", "`workspaced link leave`.")
    if membership is None or failed is not None or live is None:
        return failed
    parts = (live, live.sender, live.receiver)
    problems = (each.problem for each in parts if each is not None)
    return next((each for each in problems if each is not None), None)


def failed_status(failed: CarrierError) -> dict[str, Any]:
    """The status of a link that cannot even be read."""
    return {
        "state": failed.code,
        "servers": [],
        "vaults": [],
        "members": [],
        "requests": [],
        "forgetting": [],
        "refused": {},
        "sent": _sent(None),
        "problem": _problem(failed),
    }


def link_status(
    membership: "Membership",
    origin: OriginId,
    servers: tuple[str, ...],
    live: "Live | None",
    peers: Peers,
    problem: CarrierError | None,
) -> dict[str, Any]:
    """The status of a link that this daemon, `origin`, takes part in."""
    roster = membership.roster
    names = roster.vaults if roster is not None else {}
    return {
        "state": problem.code if problem is not None else _state(membership, live),
        "link": membership.link,
        "origin": origin,
        "isCreator": membership.is_creator(origin),
        "servers": list(servers),
        "vaults": [
            {
                "vault": vault,
                "name": names.get(each.linked, "?"),
                "linked": each.linked,
                "replicate": each.replicate,
            }
            for vault, each in membership.vaults.items()
        ],
        "members": [_member(each, origin, live, peers) for each in (roster.members if roster is not None else ())],
        "requests": [shown(each) for each in membership.requests],
        "forgetting": [
            each for each in (_asked(ask, names, peers) for ask in membership.asks) if each["notReached"]
        ],
        "refused": dict(live.refused) if live is not None else {},
        "sent": _sent(live),
        "peersSeq": peers.seq,
        "problem": _problem(problem),
    }


def shown(member: "Member") -> dict[str, Any]:
    """A machine, as commands answer it."""
    return {"origin": member.origin, "person": member.person, "machine": member.machine}


def _state(membership: "Membership", live: "Live | None") -> str:
    if membership.roster is None:
        return "waiting"
    return live.carrier_state if live is not None else "connecting"


def _sent(live: "Live | None") -> dict[str, int]:
    sender = live.sender if live is not None else None
    if sender is None:
        return {"generation": 0, "n": 0, "unsent": 0, "attempts": 0}
    return {
        "generation": sender.sent.generation,
        "n": sender.sent.n,
        "unsent": sender.unsent,
        "attempts": sender.attempts,
    }


def _member(member: "Member", own: OriginId, live: "Live | None", peers: Peers) -> dict[str, Any]:
    heard = peers.origins.get(member.origin)
    receiver = live.receiver if live is not None else None
    status = receiver.origins.get(member.origin) if receiver is not None else None
    return {
        **shown(member),
        "here": member.origin == own,
        "appliedAt": heard.applied_at if heard is not None else None,
        "n": heard.position.n if heard is not None else 0,
        # How far its clock was ahead of this one's, at least, when it was last heard of.
        "aheadMs": max(0, heard.ms - microseconds(heard.applied_at) // 1_000) if heard is not None else 0,
        "behind": receiver.behind(member.origin) if receiver is not None else 0,
        "behindS": round(receiver.behind_s(member.origin), 1) if receiver is not None else 0.0,
        "refused": dict(status.refused) if status is not None else {},
    }


def _asked(ask: "Ask", names: dict[LinkedVaultId, str], peers: Peers) -> dict[str, Any]:
    """A note that was forgotten here, whose name is known no more."""
    waits = peers.not_reached(ask.vault, ask.asked)
    return {"vault": names.get(ask.vault, "?"), "notReached": [peers.members[each].machine for each in waits]}


def _problem(error: CarrierError | None) -> dict[str, str] | None:
    return None if error is None else {"code": error.code, "message": error.message, "fix": error.hint}
