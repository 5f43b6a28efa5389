"""What was put into requests is made again from the log, to the byte; whoever changes a byte of it is noticed."""

import json
from typing import Any

from workspaced import replay


def test_every_insertion_is_made_again_to_the_byte(asked: Any) -> None:
    running, stood = asked
    assert [len(each) for each in stood] == [1, 2, 2, 2] and stood[3][0] == stood[1][1]
    with replay.open(running.data) as log:
        again = [each.again()["data"]["text"] for each in log.calls()]
        assert {each.outcome for each in log.verify()} == {"same"}
        assert again == [*stood[1], stood[3][1]]
    done = running.cli("replay", "--verify", str(running.data))
    assert done.returncode == 0, done.stdout
    assert "3 calls: 3 answer the same" in done.stdout and "4 prompts: 4 are the same" in done.stdout


def test_a_changed_byte_is_noticed(asked: Any) -> None:
    running, _ = asked
    with replay.open(running.data) as log:
        (first, *_) = log.calls()
    damaged = next(running.data.rglob(first.event.data.result_sha256))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    done = running.cli("replay", "--verify", "--json", str(running.data))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 3
    assert [each["outcome"] for each in lines if "tool" in each] == ["damaged", "same", "same"]
    # The last request had the first text no more.
    assert [each["outcome"] for each in lines if "insertion" in each] == [*["damaged"] * 3, "same"]
