"""What an answer cites: `workspaced/context/cite`. Nothing of it is recorded."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from workspaced_tools.context.citing.citations import Cited, cited
from workspaced_tools.context.citing.sources import sources_of
from workspaced_tools.context.pipelines import PARTS
from workspaced_tools.context.rebuild import inputs_of
from workspaced_tools.sharing import IsWithheld
from workspaced_tools.view import View

from . import said
from .conversing import checked_message, known, last_prompt
from .hidden import Hidden

if TYPE_CHECKING:
    from .service import Service


async def cite(service: "Service", params: said.Cite, caller: str) -> Cited:
    """The answer with its sources, out of those that its prompt numbered. Notes that are withheld by now are no
    sources: what cites one cites nothing known.

    Raises:
        WorkspacedError: UnknownConversation, UnknownMessage, SharingOff; NotRecorded where the prompt's inputs are
            not kept.
    """

    vault = service.contexts.vault_of(known(service.state, params.conversation).vault)

    def look(view: View, withheld: IsWithheld) -> Cited:
        conversation = known(view.state, params.conversation)
        answered = tuple(each for each in conversation.prompts if PARTS[each.pipeline].turn)  # not a compression's
        prompt = last_prompt(replace(conversation, prompts=answered), params.message)
        checked_message(conversation, prompt.message)
        turn = inputs_of(prompt.inputs_sha256, service.texts)
        sources = sources_of(conversation, turn, service.texts)
        hidden = Hidden(view, withheld, service.state.of(vault).former)
        shown = hidden.shown(each.source for each in sources)
        return cited(params.text, [each for each in sources if each.source in shown])

    return await service.look(look, caller, vault)
