"""A session of a user in Neovim, and the prompts that they type to an agent in between."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from support.neovim import Editor

NOTES = {
    "Home.md": "# Home\n\nSee [[Plan]].\n",
    "Plan.md": "# Plan\n\n- [ ] ask Ana about the budget\n- [ ] book the hall\n",
    "Budget.md": "# Budget\n\n100 for the hall.\n",
    "Diary.md": "---\nworkspaced: private\n---\n# Diary\n",
}
PROMPTS = ("Where am I?", "And now?", "What is selected?", "What did I change?", "Still there?", "And the diary?")


def prompts(running: Any, editor: Editor) -> Iterator[str]:
    """Each prompt, once the daemon knows what the editor shows by then."""
    with running.connect() as client:
        client.call("workspaced/reconcile")
        editor.do("edit Home.md")
        editor.settled()
        yield PROMPTS[0]
        yield PROMPTS[1]
        editor.do("edit Plan.md", "WorkspacedPin")
        editor.settled()
        editor.keys("3GVj")
        next(client.events(since=0, types=["selection_changed"]))
        yield PROMPTS[2]
        editor.keys("<Esc>")
        client.call("workspaced/calls")  # the text that was told is kept by then
        (running.vault / "Plan.md").write_text(NOTES["Plan.md"].replace("[ ] book", "[x] book") + "- [ ] invite\n")
        client.call("workspaced/reconcile")
        editor.do("edit! Budget.md")
        editor.settled()
        yield PROMPTS[3]
        yield PROMPTS[4]
        editor.do("edit Diary.md")
        editor.settled()
        yield PROMPTS[5]


def told_in(running: Any, tell: Callable[[str], str]) -> str:
    """The session as its golden file has it: each prompt with the text that was told.

    Args:
        tell: types a prompt to the agent; returns what the agent was told with it, empty for nothing.
    """
    home = running.env["HOME"]
    editor = Editor(running.root / "home", running.vault, running.env)
    assert str(running.root / "home") == home
    lines = list[str]()
    try:
        for prompt in prompts(running, editor):
            text = tell(prompt).replace(str(running.vault), "/home/me/notes")
            text = re.sub(r'as-of="\d+"|as of \d+', lambda found: re.sub(r"\d+", "N", found[0]), text)
            lines += [f"> {prompt}", "", *(text.splitlines() or ["(nothing)"]), ""]
    finally:
        editor.close()
    return "\n".join(lines)
