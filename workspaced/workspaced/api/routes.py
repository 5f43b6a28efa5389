"""The table of the daemon's methods: the parameters and the handler of each.

A handler returns the result, a coroutine that returns it, or DEFERRED if it answers through the session later.
"""

from typing import Final

from workspaced_events.journal.view_diff import Snapshot

from ..mcp.tools import CallTool, Page, call_tool, list_tools
from ..prompts import assemble as assembling
from ..prompts import commands, transfer
from ..prompts import params as p
from ..prompts.cite import cite
from ..prompts.plan import plan
from ..service.session import Method
from . import calls, conversations, editing, judging, link, memory, sharing, volunteering
from .daemon import Hello, Nothing, Pause, Resume, hello, pause, reconcile, resume, shutdown, status
from .publish import Publish, publish, snapshot
from .state_and_log import Log, State, Subscribe, Unsubscribe, log, state, subscribe, unsubscribe

METHODS: Final[dict[str, Method]] = {
    "workspaced/hello": Method(Hello, hello, works_paused=True),
    "workspaced/publish": Method(Publish, publish, works_paused=True, writes=True),
    "workspaced/state": Method(State, state, works_paused=True),
    "workspaced/subscribe": Method(Subscribe, subscribe, works_paused=True),
    "workspaced/unsubscribe": Method(Unsubscribe, unsubscribe, works_paused=True),
    "workspaced/snapshot": Method(Snapshot, snapshot, works_paused=True, writes=True),
    "workspaced/log": Method(Log, log, works_paused=True),
    "workspaced/calls": Method(calls.Calls, calls.calls, works_paused=True),
    "workspaced/call": Method(calls.Call, calls.call, works_paused=True),
    "workspaced/clients": Method(calls.Clients, calls.clients, works_paused=True),
    "workspaced/judge": Method(judging.Judge, judging.judge, writes=True),
    "workspaced/blob/put": Method(conversations.PutBlob, conversations.put_blob),
    "workspaced/context/start": Method(p.Start, conversations.start),
    "workspaced/context/agents": Method(p.Agents, conversations.agents),
    "workspaced/context/message": Method(p.Messages, conversations.message),
    "workspaced/context/pin": Method(p.Pin, conversations.recording(commands.pin)),
    "workspaced/context/unpin": Method(p.Unpin, conversations.recording(commands.unpin)),
    "workspaced/context/assemble": Method(p.Assemble, conversations.answering(assembling.assemble)),
    "workspaced/context/overlay": Method(conversations.Overlay, conversations.overlay),
    "workspaced/context/overlay/confirm": Method(
        conversations.OverlayConfirm, conversations.overlay_confirm, works_paused=True
    ),
    "workspaced/context/overlay/finished": Method(
        conversations.OverlayFinished, conversations.overlay_finished, works_paused=True
    ),
    "workspaced/context/overlay/unchanged": Method(
        conversations.OverlayUnchanged, conversations.overlay_unchanged, works_paused=True
    ),
    "workspaced/context/cite": Method(p.Cite, conversations.answering(cite)),
    "workspaced/context/plan": Method(p.Plan, conversations.answering(plan)),
    "workspaced/context/usage": Method(p.Usage, conversations.recording(commands.report_usage), works_paused=True),
    "workspaced/context/rebase": Method(p.Named, conversations.rebase),
    "workspaced/context/summary": Method(p.Summarise, conversations.recording(commands.set_summary)),
    "workspaced/context/end": Method(p.Named, conversations.recording(commands.end), works_paused=True),
    "workspaced/context/export": Method(p.Named, conversations.answering(transfer.export), works_paused=True),
    "workspaced/context/import": Method(p.Import, conversations.answering(transfer.import_)),
    "workspaced/memory/list": Method(memory.Writes, memory.writes, works_paused=True),
    "workspaced/memory/undo": Method(memory.Undo, memory.undo, works_paused=True, writes=True),
    "workspaced/status": Method(Nothing, status, works_paused=True),
    "workspaced/reconcile": Method(Nothing, reconcile, works_paused=True),
    "workspaced/pause": Method(Pause, pause, works_paused=True, writes=True),
    "workspaced/resume": Method(Resume, resume, works_paused=True, writes=True),
    "workspaced/volunteer": Method(volunteering.Volunteer, volunteering.volunteer),
    "workspaced/volunteer/confirm": Method(volunteering.Confirm, volunteering.confirm, works_paused=True),
    "workspaced/volunteer/preview": Method(volunteering.Preview, volunteering.preview),
    "workspaced/volunteer/editor": Method(volunteering.VolunteerEditor, volunteering.editor),
    "workspaced/share": Method(sharing.Share, sharing.share, works_paused=True, writes=True),
    "workspaced/share/why": Method(sharing.Why, sharing.why, works_paused=True),
    "workspaced/share/rules": Method(sharing.IdleRules, sharing.rules, works_paused=True),
    "workspaced/share/accept": Method(sharing.Accept, sharing.accept, works_paused=True, writes=True),
    "workspaced/names": Method(editing.Names, editing.names, works_paused=True),
    "workspaced/links": Method(editing.Links, editing.links, works_paused=True),
    **link.METHODS,
    "workspaced/shutdown": Method(Nothing, shutdown, works_paused=True),
    "tools/list": Method(Page, list_tools, works_paused=True),
    "tools/call": Method(CallTool, call_tool, works_paused=True),
}
