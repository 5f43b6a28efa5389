"""`workspaced/names` and `workspaced/links`: what an editor offers its user, behind the gate of the tools."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import Daemon, Factory, refusal

from workspaced import SyncClient

NOTES = {
    "Home.md": "---\ntitle: Start here\n---\n"
    "🧑‍🚀 See [[Plan]], [[Plan#Steps|the steps]] and [deep](work/Deep%20note.md).\n",
    "Plan.md": "# The plan\n\n## Steps\n\nFirst. ^first\n\n## Costs & risks\n\nTo [[Home]], [[Nowhere]].\n",
    "work/Deep note.md": "---\naliases: [Abyss]\n---\n# Deep\n\nUp to [[Plan]]. [[Twin]]\n",
    "one/Twin.md": "# Twin\n",
    "two/Twin.md": "# Twin\n",
    "Planet.md": "# Planet\n",
    "Notes on planning.md": "# Notes on planning\n",
    "Secret plan.md": "---\nworkspaced: private\n---\n# Secret\n\n[[Plan]]\n",
    "Asked plan.md": "---\nworkspaced: on-request\n---\n# Asked\n\n[[Plan]]\n",
}


@pytest.fixture(scope="module")
def shared(module_daemon: Factory) -> Daemon:
    made = module_daemon(notes=NOTES)
    made.call("workspaced/reconcile")  # until its notes have settled: of one that has not no pin is told
    return made


@pytest.fixture
def client(shared: Daemon) -> Iterator[SyncClient]:
    with shared.connect("lsp") as made:
        yield made


def links(client: SyncClient, note: str, direction: str, **more: Any) -> Any:
    return client.call("workspaced/links", {"note": note, "direction": direction, **more})["links"]


def offered(client: SyncClient, prefix: str, **more: Any) -> list[str]:
    found = client.call("workspaced/names", {"prefix": prefix, **more})["names"]
    return [each["link"] for each in found]


def test_a_beginning_comes_before_a_word_and_a_word_before_a_part(client: SyncClient) -> None:
    assert offered(client, "plan") == ["Plan", "Planet", "Notes on planning"]
    assert offered(client, "lan") == ["Plan", "Planet", "Notes on planning"]
    assert offered(client, "on notes") == ["Notes on planning"]


def test_what_the_user_has_open_comes_first(client: SyncClient) -> None:
    client.publish([{"type": "note_pinned", "data": {"note": "Planet.md"}}])
    assert offered(client, "pl")[0] == "Planet"
    assert offered(client, "")[0] == "Planet"
    client.publish([{"type": "note_unpinned", "data": {"note": "Planet.md"}}])


def test_a_title_or_an_alias_stands_behind_the_bar(client: SyncClient) -> None:
    assert offered(client, "start") == ["Home|Start here"]
    assert offered(client, "abyss") == ["Deep note|Abyss"]


def test_a_name_that_two_notes_have_is_offered_as_it_leads_there_from_the_note(client: SyncClient) -> None:
    assert sorted(offered(client, "Twin")) == ["Twin", "two/Twin"]
    assert sorted(offered(client, "Twin", note="two/x.md")) == ["Twin", "one/Twin"]


def test_links_to_a_note_say_where_they_stand(client: SyncClient) -> None:
    found = links(client, "Plan.md", "in")
    assert [(each["note"]["id"], each["range"]["start"]["line"], each["raw"]) for each in found] == [
        ("Home.md", 3, "[[Plan]]"),
        ("Home.md", 3, "[[Plan#Steps|the steps]]"),
        ("work/Deep note.md", 5, "[[Plan]]"),
    ]
    assert found[2]["context"] == "Up to [[Plan]]. [[Twin]]"


class TestTheGate:
    def test_withholds_notes_and_the_links_in_them(self, client: SyncClient) -> None:
        assert offered(client, "secret") == offered(client, "asked") == []
        assert {each["note"]["id"] for each in links(client, "Plan.md", "in")} == {"Home.md", "work/Deep note.md"}
        assert refusal(links, client, "Secret plan.md", "out").code == "NOTE_NOT_FOUND"

    def test_shows_the_links_of_a_note_that_is_asked_for(self, client: SyncClient) -> None:
        [plan] = links(client, "Asked plan.md", "out")
        assert plan["note"]["id"] == "Plan.md"

    def test_shows_a_client_with_names_no_aliases_and_no_links(self, shared: Daemon) -> None:
        client = shared.connect("names only")
        client.call("workspaced/share", {"client": "names only", "level": "names"})
        assert offered(client, "abyss") == []
        assert offered(client, "Planet") == ["Planet"]
        assert links(client, "Plan.md", "in") == []

    def test_refuses_a_client_that_is_shown_nothing(self, shared: Daemon) -> None:
        client = shared.connect("shut out")
        client.call("workspaced/share", {"client": "shut out", "level": "none"})
        assert refusal(client.call, "workspaced/names", {"prefix": "p"}).code == "SHARING_OFF"
        assert refusal(links, client, "Plan.md", "in").code == "SHARING_OFF"


def test_no_call_is_recorded(client: SyncClient) -> None:
    offered(client, "plan")
    links(client, "Plan.md", "in")
    assert client.call("workspaced/calls")["calls"] == []


def test_a_note_that_cannot_be_one_is_refused(client: SyncClient) -> None:
    assert refusal(links, client, "../x.md", "out").code == "OUTSIDE_VAULT"
    assert refusal(client.call, "workspaced/names", {"prefix": "../../x#y"}).code == "OUTSIDE_VAULT"
    assert refusal(client.call, "workspaced/names", {"prefix": "p", "vault": "none"}).code == "INVALID_ARGUMENT"
