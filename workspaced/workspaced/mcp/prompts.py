"""Prompts: texts that a user inserts by a command of their agent's program, such as `/workspace`.

Each is made from a tool's answer, so the share policy and the recording of calls apply.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_tools.limits import ECHO_CHARS_MAX
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Tool

from ..ipc.jsonrpc import RequestId
from ..recording.tool_answer import ToolAnswer
from ..service.session import Session
from .errors import Refused, refused_by_tool
from .prompt_texts import current_note_text, workspace_text
from .tools import Page, moment


class Prompt(NamedTuple):
    title: str
    description: str
    tool: Tool[Any]
    text: Callable[[ToolAnswer, str], str]
    """Takes the tool's answer and the log's id."""


_PROMPTS: Final = {
    "workspace": Prompt(
        "Workspace",
        "Inserts what you have open: active note, selection, pins, tabs, recent notes.",
        TOOLS["get_workspace_context"],
        workspace_text,
    ),
    "current-note": Prompt(
        "Current note",
        "Inserts the note you are looking at, with its text.",
        TOOLS["get_current_note"],
        current_note_text,
    ),
}
_LISTED: Final = msgspec.Raw(
    msgspec.json.encode(
        [
            {"name": name, "title": prompt.title, "description": prompt.description}
            for name, prompt in _PROMPTS.items()
        ]
    )
)


class GetPrompt(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | None = None


def list_prompts(session: Session, _id: RequestId | None, params: Page) -> Any:
    params.check()
    return {"prompts": _LISTED, "_meta": moment(session.service)}


async def get_prompt(session: Session, _id: RequestId | None, params: GetPrompt) -> Any:
    """One message of the user. Runs on threads: escaping a long note of nothing but markup takes a while.

    Raises:
        Refused: UNKNOWN_PROMPT, or the code of the tool that cannot answer.
        InvalidArgument: there are arguments.
    """
    service, caller = session.service, session.client
    prompt = _requested(params)
    answer = await service.calls.call(prompt.tool, {}, caller)
    if not answer.ok:
        raise refused_by_tool(answer, prompt=params.name)
    text = await service.threads.run(prompt.text, answer, service.log.log_id)
    return {
        "description": prompt.title,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "_meta": moment(service),
    }


def _requested(params: GetPrompt) -> Prompt:
    name = params.name[:ECHO_CHARS_MAX]
    prompt = _PROMPTS.get(params.name)
    if prompt is None:
        raise Refused(
            "UNKNOWN_PROMPT", f"There is no prompt {name!r}.", hint=f"Prompts: {', '.join(_PROMPTS)}.", prompt=name
        )
    if params.arguments:
        unexpected = next(iter(params.arguments))[:ECHO_CHARS_MAX]
        raise InvalidArgument(
            f"The prompt {name!r} takes no arguments, got {unexpected!r}.", hint="Ask for it without arguments."
        )
    return prompt
