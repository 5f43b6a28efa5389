"""`workspaced/context/*`: conversations that runtimes tell of, and the prompts they ask for.

What is said counts from the answer on: it is synced, and the next prompt has it.
"""

from typing import TYPE_CHECKING, Any

from workspaced_events.journal.writer import Plan

from ..ipc.jsonrpc import RequestId
from ..prompts import cite as citing
from ..prompts import commands, transfer
from ..prompts import params as said
from ..prompts import plan as planning

if TYPE_CHECKING:
    from ..server.connection import Connection


async def _recorded(connection: "Connection", params: said.Params, plan: Plan, **result: Any) -> dict[str, Any]:
    service = connection.service
    await service.record(plan, connection.client, size_bytes=said.bytes_of(params))
    return {**result, "clock": service.clock()}


async def start(connection: "Connection", _id: RequestId | None, params: said.Start) -> Any:
    service = connection.service
    conversation = await service.contexts.start(params, connection.client)
    return {"conversation": conversation, "clock": service.clock()}


async def message(connection: "Connection", _id: RequestId | None, params: said.Messages) -> Any:
    messages, plan = commands.spoken(params)
    return await _recorded(connection, params, plan, messages=messages)


async def pin(connection: "Connection", _id: RequestId | None, params: said.Pin) -> Any:
    return await _recorded(connection, params, commands.pinned(params))


async def unpin(connection: "Connection", _id: RequestId | None, params: said.Unpin) -> Any:
    return await _recorded(connection, params, commands.unpinned(params))


async def assemble(connection: "Connection", _id: RequestId | None, params: said.Assemble) -> Any:
    return await connection.service.contexts.assemble(params, connection.client)


async def cite(connection: "Connection", _id: RequestId | None, params: said.Cite) -> Any:
    return await citing.cite(connection.service, params, connection.client)


async def plan(connection: "Connection", _id: RequestId | None, params: said.Plan) -> Any:
    return await planning.plan(connection.service, params, connection.client)


async def export(connection: "Connection", _id: RequestId | None, params: said.Named) -> Any:
    return await transfer.export(connection.service, params, connection.client)


async def import_(connection: "Connection", _id: RequestId | None, params: said.Import) -> Any:
    return await transfer.import_(connection.service, params, connection.client)


async def rebase(connection: "Connection", _id: RequestId | None, params: said.Named) -> Any:
    service = connection.service
    refreshed = await service.contexts.rebase(params, connection.client)
    return {"refreshed": refreshed, "clock": service.clock()}


async def usage(connection: "Connection", _id: RequestId | None, params: said.Usage) -> Any:
    return await _recorded(connection, params, commands.counted(params))


async def summary(connection: "Connection", _id: RequestId | None, params: said.Summarise) -> Any:
    return await _recorded(connection, params, commands.summarised(params))


async def end(connection: "Connection", _id: RequestId | None, params: said.Named) -> Any:
    return await _recorded(connection, params, commands.ended(params))
