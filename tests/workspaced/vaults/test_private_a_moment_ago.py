"""A note that turned private a moment ago, which no watcher has reported, shows in no count, word or score."""

from typing import Any

NOTES = {
    "a.md": "# Orchid\n\nOrchid zanzibar, orchid zanzibar quokka.\n",
    "b.md": "# Bloom\n\nAn orchid zanzibar of the north.\n",
    "c.md": "# Wombat\n\nZanzibar quokka, wombat platypus.\n",
    **{f"n{number}.md": f"# N{number}\n\nText {number} of nothing.\n" for number in range(40)},
}
SECRET = "# Deep\n\n## Quokka platypus\n\nOrchid zanzibar quokka platypus quokka.\n"
QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("search_workspace", {"query": "orchid", "limit": 1}),
    ("search_workspace", {"query": "platypus", "limit": 1}),
    ("search_workspace", {"query": "quokka -wombat", "limit": 1}),
    ("search_workspace", {"query": "platypus path:s"}),
    ("search_workspace", {"query": "which orchids and quokkas grow in zanzibar", "limit": 3}),
    ("search_workspace", {"query": "quokkas platypuses"}),
    ("get_related_notes", {"reference": "a.md"}),
    ("get_related_notes", {"reference": "c.md"}),
]


def test_the_first_call_after_the_change_shows_nothing(daemon: Any) -> None:
    having = daemon("--no-watch", notes={**NOTES, "z/s.md": SECRET})
    lacking = daemon("--no-watch", notes=NOTES)
    with having.connect() as one, lacking.connect() as other:
        while not other.tool("search_workspace", {"query": "orchid"})["data"]["complete"]:
            pass
        for tool, arguments in QUERIES:
            having.add({"z/s.md": SECRET})
            while "z/s.md" not in str(one.tool("search_workspace", {"query": "platypus"})["data"]["results"]):
                pass
            (having.vault / "z/s.md").write_text(f"---\nworkspaced: private\n---\n{SECRET}")
            assert one.tool(tool, arguments)["data"] == other.tool(tool, arguments)["data"], (tool, arguments)
