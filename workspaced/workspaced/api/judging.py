"""`workspaced/judge`: what the user says of an answer."""

from typing import Annotated, Any, Final

from msgspec import Meta

from workspaced_events.journal.actions import Action
from workspaced_events.schema.catalogue import Verdict
from workspaced_tools.recording.judgements import judgement_of

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.session import Method, Session


class Judge(Params, frozen=True):
    of: Annotated[int, Meta(ge=1)]
    """The sequence of a prompt or a call."""
    verdict: Verdict
    wanted: str | None = None
    """What a right answer says; a wrong one must have it."""
    why: str | None = None


async def judge(session: Session, _id: RequestId | None, params: Judge) -> Any:
    service = session.service
    await service.threads.run(service.wait_until_recorded)
    events = await service.threads.run(service.log.read, params.of, 1)
    event = events[0] if events else None
    judged = judgement_of(event, params.of, params.verdict, params.wanted, params.why)
    vault = event.vault if event is not None else None
    (receipt,) = await service.publishing.record([Action(judged, vault=vault)], session.client)
    return {"seq": receipt.seq, "clock": service.tail.clock()}


METHODS: Final = {
    "workspaced/judge": Method(Judge, judge, writes=True),
}
