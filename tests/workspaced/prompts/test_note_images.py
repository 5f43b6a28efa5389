"""Images that the active note embeds, in prompts: each is sent once, as the tools show it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support import images
from support.stored_texts import unpacked
from support.talk import DaemonTalk

from workspaced_tools.limits import IMAGES_BYTES_MAX

ACTIVE = {"kind": "active_note"}
PLAN, ROOM = images.png(3, 2), images.png(5, 4)
NOTES = {
    "trip.md": "# Trip\n\n![[plan.png]]\n\n![](pics/room.png)\n\n![[none.png]]\n",
    "other.md": "# Other\n\n![[pics/room.png]]\n",
}


class Looking(DaemonTalk):
    """A conversation about what the user looks at."""

    def __init__(self, running: Any, files: dict[str, bytes]) -> None:
        super().__init__(running, provider="anthropic")
        self.put(files)
        self.look_at("trip.md")

    def put(self, files: dict[str, bytes]) -> None:
        images.write(self.running.vault, files)
        images.age(self.running.vault)
        self.client.call("workspaced/reconcile")

    def shows(self, *attached: Any) -> Any:
        """The last message of a whole turn's prompt."""
        return self.ask("And?", *(attached or [ACTIVE]))["messages"][-1]


@pytest.fixture
def talk(daemon: Any) -> Looking:
    return Looking(daemon(notes=NOTES), {"plan.png": PLAN, "pics/room.png": ROOM})


def shown(message: dict[str, Any]) -> list[str]:
    return [each["blob"] for each in message["content"] if each["type"] == "image"]


def words(message: dict[str, Any]) -> str:
    return "\n".join(each["text"] for each in message["content"] if each["type"] == "text")


def digests(*contents: bytes) -> list[str]:
    return [hashlib.sha256(each).hexdigest() for each in contents]


def test_they_are_sent_once_in_the_note_s_order_and_again_where_they_changed(talk: Looking) -> None:
    first = talk.shows()
    assert shown(first) == digests(PLAN, ROOM)
    assert words(first).count("unavailable") == 1 and "[Image unavailable: none.png]" in words(first)
    second = talk.shows()
    assert (shown(second), ".png" in words(second)) == ([], False)
    talk.put({"plan.png": ROOM[:-1] + PLAN[-1:], "pics/room.png": images.png(7, 7)})
    assert shown(talk.shows()) == digests(ROOM, images.png(7, 7))


def test_a_withheld_image_is_as_one_that_does_not_exist_and_leaves_later_prompts(talk: Looking) -> None:
    assert shown(talk.shows())[1:] == digests(ROOM)
    talk.put({".workspacedignore": b"pics/\n"})
    messages = talk.ask("And?", ACTIVE)["messages"]
    assert [shown(each) for each in messages if each["role"] == "user"] == [digests(PLAN), []]
    assert "[Image unavailable: room.png]" in words(messages[-1])


@pytest.mark.parametrize(("withheld", "why"), [(False, "gone"), (True, "withheld")])
def test_a_deleted_image_leaves_later_prompts_as_gone_and_not_as_withheld(
    talk: Looking, withheld: bool, why: str
) -> None:
    talk.shows()
    (talk.running.vault / "pics/room.png").unlink()
    talk.put({".workspacedignore": b"pics/\n"} if withheld else {})
    for _ in range(2):
        prompt = talk.ask("And?", "other.md")
        assert shown(prompt["messages"][1]) == digests(PLAN)
        [left] = [each for each in prompt["manifest"]["entries"] if each["state"] == "elided"]
        assert (left["kind"], left["id"], left["why"]) == ("image", "", why)
    exported = talk.running.cli("log", "export", "--data-dir", str(talk.running.data)).stdout
    folds = [line for line in exported.splitlines() if '"context_folded"' in line]
    assert len(folds) == 1 and f'"reason":"{why}"' in folds[0]


def test_while_tools_run_an_image_stays_as_it_was_read_unless_it_is_withheld(talk: Looking) -> None:
    def goes_on(call: str) -> list[str]:
        talk.assistant("", toolCalls=[{"id": call, "name": "look", "arguments": {}}])
        talk.say(role="user", toolResults=[{"id": call, "name": "look", "text": "Seen."}])
        prompt = talk.prompt()
        return [each for message in prompt["messages"] if message["role"] == "user" for each in shown(message)]

    talk.user("And?", ACTIVE)
    talk.prompt()
    talk.put({"plan.png": images.png(9, 9)})
    assert goes_on("1") == digests(PLAN, ROOM)
    talk.put({".workspacedignore": b"pics/\n"})
    assert digests(ROOM)[0] not in goes_on("2")


def test_images_beyond_the_room_of_a_prompt_are_named(daemon: Any) -> None:
    large = {f"{number}.png": images.png_of_size(IMAGES_BYTES_MAX // 3 - number) for number in range(4)}
    talk = Looking(daemon(notes={"trip.md": "".join(f"![[{name}]]\n" for name in large)}), large)
    prompt = talk.ask("And?", ACTIVE, shape="anthropic")
    [said] = prompt["body"]["messages"]
    assert sum(each["type"] == "image" for each in said["content"]) == 3
    assert "[Image unavailable: 3.png]" in words(said)
    [entry] = [each for each in prompt["manifest"]["entries"] if each["id"] == "3.png"]
    assert (entry["state"], entry["detail"]) == ("failed", "TOO_LARGE")


def test_a_forgotten_note_takes_its_images_along_and_what_stays_is_rebuilt(talk: Looking) -> None:
    def is_kept(data: Path) -> bool:
        return any(PLAN in unpacked(each.read_bytes()) for each in data.rglob("*") if each.is_file())

    talk.shows()
    data = talk.stop()
    assert talk.verified() == {"same": 1} and is_kept(data)
    talk.forget("trip.md")
    assert not is_kept(data)
