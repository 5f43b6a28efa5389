"""`workspaced/context/plan`: which tools a message needs. Calls no model and records nothing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from workspaced_events.projections.conversations import Conversation, turn_of
from workspaced_events.schema import catalogue as c
from workspaced_tools.notes.frontmatter import split_front_matter
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.assembly.layers import joined
from workspaced_tools.prompts.model.note_names import NOTE_KINDS
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.prompts.model.types import Artifact, Texts, Turn
from workspaced_tools.prompts.planning.asking import Held, plan_prompt
from workspaced_tools.prompts.planning.checking import Call, Problem, planned
from workspaced_tools.prompts.planning.plan_schema import plan_schema
from workspaced_tools.prompts.providers.known import provider_named
from workspaced_tools.prompts.providers.provider import OWN, Definition
from workspaced_tools.prompts.providers.tool_definitions import definitions_of
from workspaced_tools.prompts.sources.search_block import read_search
from workspaced_tools.tools.registry import TOOLS

from . import params as p
from .assemble import assembled, last_message
from .commands import known
from .visibility import WithheldNotes, with_conversation_view

if TYPE_CHECKING:
    from ..service.service import Service


class Plan(msgspec.Struct, frozen=True):
    """A question for a model."""

    schema: dict[str, Any]
    """JSON Schema of the model's answer."""
    prompt: str


class Checked(msgspec.Struct, frozen=True):
    """A model's answer, checked."""

    calls: tuple[Call, ...]
    problems: tuple[Problem, ...]
    """One for each part of the answer that is not a valid call."""


async def plan(service: "Service", params: p.Plan, caller: str) -> Plan | Checked:
    """The question for a model; or, if the parameters hold the model's answer, the checked answer.

    The tools are those that the conversation was started with and that a provider may be sent; if the conversation
    has none, the daemon's own tools.

    Raises:
        WorkspacedError: UnknownConversation, UnknownMessage, SharingOff, BudgetExceeded.
    """
    conversation = known(service.tail.state, params.conversation)
    answer = params.answer
    if answer is not None:
        return await with_conversation_view(
            service,
            conversation,
            lambda _view, _withheld_notes: _checked(answer, conversation, service.texts),
            caller,
        )

    def make(view: View, withheld_notes: WithheldNotes) -> Plan:
        asked, staging = known(view.state, params.conversation), BlobStaging(service.texts)
        withheld_notes.refresh(asked.library)
        asked = replace(asked, library=withheld_notes.without_withheld(asked.library))
        turn, made = assembled(asked, last_message(asked, params.message), view, withheld_notes, staging)
        held = list(_held(asked, turn, staging))
        shown = withheld_notes.shown(each.path for each in held)
        tools = _tools(asked, staging)
        seen = [each for each in held if each.path in shown]
        said = made.envelope.layers[-1].segments
        query = joined(each for each in said if each.kind == "query")
        # Empty if nothing says how the answer is to be written, or if the user's text ends with it.
        composer = joined(each for each in said if (each.kind, each.id) == ("instruction", "composer"))
        return Plan(plan_schema(tools), plan_prompt(query, seen, tools, composer=composer))

    return await with_conversation_view(service, conversation, make, caller)


def _checked(answer: str, conversation: Conversation, texts: Texts) -> Checked:
    found = planned(answer, _tools(conversation, texts))
    return Checked(found.calls, found.problems)


def _tools(conversation: Conversation, texts: Texts) -> tuple[Definition, ...]:
    settings = conversation.settings
    if settings.tools_sha256 is None:
        return tuple(Definition(tool.name, tool.description, tool.input_schema) for tool in TOOLS.values())
    return definitions_of(texts(settings.tools_sha256), OWN, provider_named(settings.provider)).tools


def _held(conversation: Conversation, turn: Turn, texts: Texts) -> Iterator[Held]:
    """The texts that the turn already has: attachments, pins, and results of tools up to the turn's message."""
    for artifact in turn.artifacts:
        if artifact.failed is None:
            yield from _of_artifact(artifact, texts)
    for provided in turn.provided:
        if provided.text_sha256 is not None and (text := texts(provided.text_sha256)):
            yield Held(provided.id, provided.kind, text)
    ids = list(conversation.messages)
    begin = turn_of(conversation, turn.message)
    for name in ids[ids.index(begin) : ids.index(turn.message) + 1]:
        for result in conversation.messages[name].tool_results:
            yield from _found(result.name, result.id, result.form, texts(result.text_sha256))


def _of_artifact(artifact: Artifact, texts: Texts) -> Iterator[Held]:
    if artifact.media_type is not None:  # bytes, not text
        yield Held(artifact.title, artifact.id)
        return
    text = texts(artifact.revision)
    if artifact.kind in NOTE_KINDS:
        text = text[split_front_matter(text).body_offset :]
    yield from _found(artifact.title, artifact.id, artifact.form, text)


def _found(title: str, path: str, form: c.Form, text: str) -> Iterator[Held]:
    if form == "search":
        yield from (Held(each.title, each.source, each.text) for each in read_search(text).documents)
    else:
        yield Held(title, path, text)
