"""A real session in which every tool answers and prompts are assembled.

    cd tests && ../.venv/bin/python -m support.answers_world

writes tests/data/answers/vN.wsb, N being the ANSWER_VERSION.

The bundles are golden: `replay --verify` makes every call in them again to the byte. Where answers change on
purpose, raise ANSWER_VERSION and write the bundle of the new version; those of older ones stay as they are.
"""

from typing import Any, Final

from support import DATA
from support.daemon import Daemon, Factory
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import ANSWER_VERSION

GOLDEN: Final = DATA / "answers"
NOTES: Final = {
    "a.md": "---\ntitle: Älpha ₂\ntags: [two, Straße]\naliases: [ἄλφα]\n---\n"
    "# Alpha\n\nSee [[b]] and [[Nowhere]]. zebra\n",
    "b.md": "# Beta\n\nThe [second](a.md) note. zebra #two\n\n## Steps\n\n1. begin\n2. ı İ ß ſ\n",
    "work/plan.md": "# Plan\n\n" + "A line of many words about zebras.\n" * 60,
    "日記/今日.md": "# 今日\n\n[[a|Alpha]] é\n",
    "private.md": "---\nworkspaced: private\n---\n# Private\n\nzebra\n",
}
_ASKED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("get_workspace_context", {"includeContent": True, "maxContentLength": 200}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_note_by_reference", {"reference": "ἄλφα", "includeMetadata": True}),
    ("get_note_by_reference", {"reference": "private"}),
    ("get_note_by_reference", {"reference": "x" * 9_000}),
    ("get_note_by_reference", {"reference": "[[b#Steps]]", "from": "a.md", "includeLinks": True}),
    ("get_note_by_reference", {"reference": "b#Nothing", "includeOutline": True}),
    ("get_note_diff", {"reference": "a.md", "sinceSeq": 1}),
    ("search_workspace", {"query": "zebra"}),
    ("search_workspace", {"query": "strasse"}),
    ("get_related_notes", {"reference": "b.md"}),
    ("get_workspace_summary", {}),
    ("get_navigation_history", {}),
    ("get_context_manifest", {}),
    ("get_workspace_context", {"at": 3}),
)
CALLS: Final = (*_ASKED, *((tool, {}) for tool in TOOLS if tool not in dict(_ASKED)))
"""What each client asks: every tool something, a new one for the present at first."""


def session(make: Factory) -> Daemon:
    """A daemon that ended after a session: an editor publishes, every tool is called, also by a client that is
    shown names alone, and prompts are assembled. Each note is looked at for a minute.
    """
    running = make(notes=NOTES, clocked=True)
    with running.connect("editor") as client:
        client.call("workspaced/reconcile")
        for minute, note in enumerate(("a.md", "work/plan.md", "b.md") * 4):
            running.set_ahead(60 * minute)
            client.publish([{"type": "active_note_set", "data": {"note": note}}])
        client.publish(
            [
                {"type": "note_pinned", "data": {"note": "a.md"}},
                {"type": "temporary_tab_opened", "data": {"note": "日記/今日.md", "source": "search"}},
                {"type": "note_renamed", "data": {"from": "old.md", "to": "b.md"}},
                {
                    "type": "selection_changed",
                    "data": {"note": "b.md", "startLine": 1, "endLine": 3, "text": "Beta"},
                },
            ]
        )
        client.call("workspaced/share", {"client": "names", "level": "names"})
        client.call("workspaced/share", {"client": "nobody", "level": "none"})
        context = client.context
        context.start(
            conversation="talk", provider="openai", model="some", context_window=100_000, output_reserve=1_000
        )
        context.pin("talk", "seen", "workspace")
        for number, note in enumerate(("a.md", "日記/今日.md"), start=1):
            attached = [{"kind": "note", "id": note}]
            said = {"id": f"m{number}", "role": "user", "text": f"What of {note}? ſ", "attachments": attached}
            context.message("talk", said)
            context.assemble("talk")
            context.message("talk", {"role": "assistant", "text": "This."})
    for name in ("agent", "names", "nobody"):
        with running.connect(name) as client:
            for tool, arguments in CALLS:
                client.tool(tool, arguments)
    assert running.stop() == 0
    return running


def _write() -> None:
    make = Factory()
    try:
        running = session(make)
        GOLDEN.mkdir(exist_ok=True)
        place = GOLDEN / f"v{ANSWER_VERSION}.wsb"
        done = running.cli("bundle", "--from", "1", "-o", str(place), "--data-dir", str(running.data))
        assert done.returncode == 0, done.stderr
    finally:
        make.tear_down()


if __name__ == "__main__":
    _write()
