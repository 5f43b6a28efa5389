"""What `workspaced hook` tells reaches the model of each real program: the golden texts, each once."""

import html
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest
from support import DATA
from support.neovim import NVIM
from support.runtimes.bed import Bed
from support.runtimes.model import messages
from support.runtimes.programs import PROGRAMS, Gemini, Program
from support.told_session import NOTES, told_in

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(NVIM is None, reason="nvim is not installed (Debian: apt-get install neovim)"),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_session_reaches_the_model_word_for_word(
    daemon: Any, start: Callable[..., Bed], program: type[Program]
) -> None:
    running = daemon(notes=NOTES)
    words = [sys.executable, "-m", "workspaced", "hook", program.name]
    words += ["--vault", str(running.vault), "--socket", str(running.socket), "--timeout", "2.5"]
    bed = start(program, command=shlex.join(words))

    def tell(prompt: str) -> str:
        """What stands in the request that no request before held."""
        before = set(blocks(bed))
        bed.program.ask(prompt)
        new = [each for each in blocks(bed) if each not in before]
        assert len(new) <= 1
        return new[0] if new else ""

    told = told_in(running, tell)
    golden = DATA / "told" / ("gemini.txt" if program is Gemini else "tagged.txt")
    assert told == golden.read_text()
    assert running.stop() == 0
    assert running.cli("replay", "--verify", str(running.data)).returncode == 0


def blocks(bed: Bed) -> list[str]:
    """The texts of ours in the latest request to the model, in their order."""
    if not bed.model.bodies:
        return []
    whole = "\n".join(text for _, text in messages(bed.model.bodies[-1]))
    if isinstance(bed.program, Gemini):
        parts = html.unescape(whole).split("<hook_context>")[1:]
        return [part.partition("</hook_context>")[0].strip() for part in parts]
    parts = whole.split("<workspace ")[1:]
    return [f"<workspace {part.partition('</workspace>')[0]}</workspace>" for part in parts]
