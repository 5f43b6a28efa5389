"""`workspaced/context/cite`: the citations of an answer. Records nothing."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from workspaced_tools.ports.view import View
from workspaced_tools.prompts.citations.renumber import Cited, cited, sources_of
from workspaced_tools.prompts.model.stored_texts import inputs_of
from workspaced_tools.prompts.model.types import PARTS

from . import params as p
from .commands import checked_message, known, prompt_for
from .visibility import WithheldNotes, with_conversation_view

if TYPE_CHECKING:
    from ..service.service import Service


async def cite(service: "Service", params: p.Cite, caller: str) -> Cited:
    """The answer with its sources, which are among those that its prompt numbered. Notes that are withheld at
    present are left out: a citation of one counts as unknown.

    Raises:
        WorkspacedError: UnknownConversation, UnknownMessage, SharingOff; NotRecorded if the prompt's inputs are
            not kept.
    """

    def make(view: View, withheld_notes: WithheldNotes) -> Cited:
        conversation = known(view.state, params.conversation)
        answered = tuple(each for each in conversation.prompts if PARTS[each.pipeline].turn)  # not a compression's
        prompt = prompt_for(replace(conversation, prompts=answered), params.message)
        checked_message(conversation, prompt.message)
        turn = inputs_of(prompt.inputs_sha256, service.texts)
        sources = sources_of(conversation, turn, service.texts)
        shown = withheld_notes.shown(each.source for each in sources)
        return cited(params.text, [each for each in sources if each.source in shown])

    return await with_conversation_view(service, known(service.tail.state, params.conversation), make, caller)
