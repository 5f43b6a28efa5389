"""`workspaced/context/*`: conversations that runtimes tell of, and the prompts they ask for.

What is said counts from the answer on: it is synced, and the next prompt has it.
"""

from typing import Any

from workspaced_events.journal.writer import Plan

from ..ipc.jsonrpc import RequestId
from ..prompts import assemble as assembling
from ..prompts import cite as citing
from ..prompts import commands, transfer
from ..prompts import params as said
from ..prompts import plan as planning
from ..service.session import Session


async def _recorded(session: Session, params: said.Params, plan: Plan, **result: Any) -> dict[str, Any]:
    service = session.service
    await service.record(plan, session.client, size_bytes=said.bytes_of(params))
    return {**result, "clock": service.clock()}


async def start(session: Session, _id: RequestId | None, params: said.Start) -> Any:
    service = session.service
    conversation = await assembling.start(service, params, session.client)
    return {"conversation": conversation, "clock": service.clock()}


async def message(session: Session, _id: RequestId | None, params: said.Messages) -> Any:
    messages, plan = commands.spoken(params)
    return await _recorded(session, params, plan, messages=messages)


async def pin(session: Session, _id: RequestId | None, params: said.Pin) -> Any:
    return await _recorded(session, params, commands.pinned(params))


async def unpin(session: Session, _id: RequestId | None, params: said.Unpin) -> Any:
    return await _recorded(session, params, commands.unpinned(params))


async def assemble(session: Session, _id: RequestId | None, params: said.Assemble) -> Any:
    return await assembling.assemble(session.service, params, session.client)


async def cite(session: Session, _id: RequestId | None, params: said.Cite) -> Any:
    return await citing.cite(session.service, params, session.client)


async def plan(session: Session, _id: RequestId | None, params: said.Plan) -> Any:
    return await planning.plan(session.service, params, session.client)


async def export(session: Session, _id: RequestId | None, params: said.Named) -> Any:
    return await transfer.export(session.service, params, session.client)


async def import_(session: Session, _id: RequestId | None, params: said.Import) -> Any:
    return await transfer.import_(session.service, params, session.client)


async def rebase(session: Session, _id: RequestId | None, params: said.Named) -> Any:
    service = session.service
    refreshed = await assembling.rebase(service, params, session.client)
    return {"refreshed": refreshed, "clock": service.clock()}


async def usage(session: Session, _id: RequestId | None, params: said.Usage) -> Any:
    return await _recorded(session, params, commands.counted(params))


async def summary(session: Session, _id: RequestId | None, params: said.Summarise) -> Any:
    return await _recorded(session, params, commands.summarised(params))


async def end(session: Session, _id: RequestId | None, params: said.Named) -> Any:
    return await _recorded(session, params, commands.ended(params))
