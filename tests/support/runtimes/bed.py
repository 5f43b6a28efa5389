"""A test bed: one real program with its hook and its model."""

from dataclasses import dataclass

from support.runtimes.hook import Answer, RecordingHook
from support.runtimes.model import ScriptedModel, messages
from support.runtimes.programs import Program


@dataclass(frozen=True)
class Bed:
    program: Program
    model: ScriptedModel
    hook: RecordingHook

    def ask(self, words: str, *, context: str = "", event: str | None = None) -> str:
        """What the program prints for a prompt for which the hook gives the context at `event`; empty: nothing.

        Without `event`, at the prompt.
        """
        event = event or self.program.prompt
        given = {event: Answer(self.program.context(event, context))} if context else {}
        self.hook.answers(**given)
        return self.program.ask(words)

    def read(self, *texts: str) -> list[list[str]]:
        """Of each request to the model: which of the texts its messages hold, each as often as it stands there."""
        found = []
        for body in self.model.bodies:
            whole = "\n".join(text for _, text in messages(body))
            at = sorted((start, text) for text in texts for start in _starts(whole, text))
            found.append([text for _, text in at])
        return found


def _starts(whole: str, text: str) -> list[int]:
    return [start for start in range(len(whole)) if whole.startswith(text, start)]
