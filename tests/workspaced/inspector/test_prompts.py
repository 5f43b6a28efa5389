"""Prompts over the inspector's API: conversations, layers, blocks, bodies, differences, and what they cost."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import ANSWER_S
from support.inspector import RECORDED, Inspector, environment_in

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced.finding.command import bundle_of
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.log_slice import cut
from workspaced_events.replay.open import open_source
from workspaced_tools.privacy.recording_redaction import under_pseudonyms
from workspaced_tools.prompts.audit.prices import PackagedPrices, Tokens

LETTER, KITCHEN = "letter-to-imke", "kitchen-questions"
"""Of the demo's morning: one was folded, and the other given another system prompt."""
FOLDED = 110
"""The first prompt after the compaction."""
OWN_PRICES = """
dated = "2031-05-06"
currency = "EUR"

[[models]]
provider = "anthropic"
model = "claude-*"
input = 10.0
cached = 1.0
output = 100.0

[[models]]
provider = "openai"
model = "some"
input = 1000.0
output = 0.0
"""


class Prompts:
    """An inspector over a log, and the command line over the same."""

    def __init__(self, log: Path, home: Path) -> None:
        self.log, self.home = log, home
        self.env = environment_in(home)
        self.inspector = Inspector(log, env=self.env)

    def get(self, path: str, **parameters: Any) -> Any:
        return self.inspector.get(f"/api/{path}", **parameters)

    def column(self, conversation: str, **parameters: Any) -> Any:
        return self.get(f"conversations/{conversation}", **parameters)["prompts"]

    def all_seqs(self) -> list[int]:
        listed = self.get("conversations")["conversations"]
        return [row["seq"] for each in listed for row in self.column(each["conversation"], limit=50)]

    def block(self, seq: int, block: Any, **parameters: Any) -> Any:
        return self.get(f"prompts/{seq}/layers/{block['layer']}/blocks/{block['index']}", **parameters)

    def cli(self, *arguments: str) -> Any:
        """What `workspaced context` says of the same log: one JSON value."""
        first, *rest = arguments
        done = process.run("context", first, *rest, str(self.log), "--json", env=self.env, timeout_s=ANSWER_S)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def write_prices(self, text: str) -> None:
        file = Path(self.get("conversations")["prices"]["file"])
        assert file.is_relative_to(self.home)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prompts]:
    """Over the demo's morning; for tests that only ask."""
    made = Prompts(INSTALLED, tmp_path_factory.mktemp("home"))
    with made.inspector:
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Callable[[Path], Prompts]]:
    """Over a log, for one test alone, which may change what is there."""
    with ExitStack() as ending:

        def get(log: Path) -> Prompts:
            found = Prompts(log, tmp_path)
            ending.enter_context(found.inspector)
            return found

        yield get


# -- conversations --


def test_a_column_has_the_cache_s_account_of_every_prompt(morning: Prompts) -> None:
    for conversation in (LETTER, KITCHEN):
        [told] = morning.cli("show", conversation, "--cache")
        shown = morning.column(conversation)
        assert [(each["seq"], each["outcome"], each["cause"]) for each in shown] == [
            (each["seq"], each["outcome"], each["cause"]) for each in told["prompts"]
        ]
        counted = ("expected", "inputTokens", "cachedTokens", "estimate")
        assert [[each[name] for name in counted] for each in shown] == [
            [each[name] for name in counted] for each in told["prompts"]
        ]


def test_a_column_has_the_answers_and_names_notes_that_were_older_than_they_were_then(morning: Prompts) -> None:
    rows = {row["seq"]: row for row in morning.column(LETTER)}
    assert [row["answer"] for row in rows.values()][-2:] == [
        "We deliver release 1 on 22 June, before the school holidays (Kickoff).",
        "Release 1 comes on 22 June.",
    ]
    assert rows[91]["answer"] == ""  # the model asked for a tool
    changed_later = ["projects/ferrybook/Ferrybook.md", "projects/ferrybook/Kickoff.md"]
    assert {seq: row["stale"] for seq, row in rows.items() if row["stale"]} == dict.fromkeys(
        (159, 163, 167), changed_later
    )


# -- one prompt --


def test_every_prompt_is_rebuilt_as_it_was_sent(morning: Prompts) -> None:
    seqs = morning.all_seqs()
    assert len(seqs) == 12
    for seq in seqs:
        assert morning.get(f"prompts/{seq}")["rebuilt"] == {"outcome": "same", "why": "", "differs": None}


def test_a_fold_rewrites_what_stands_behind_it_and_is_named_as_the_cause(morning: Prompts) -> None:
    shown = morning.get(f"prompts/{FOLDED}")
    assert shown["prompt"]["cause"] == "folded: budget"
    reuse = {each["layer"]: each["reuse"] for each in shown["prompt"]["layers"]}
    assert reuse["L1_SYSTEM"]["rewritten"] == 0 and reuse["L1_SYSTEM"]["cached"] > 0
    assert reuse["L4_STRIP"]["rewritten"] > 0 and reuse["L4_STRIP"]["cached"] == 0
    by_id = {(each["layer"], each["id"]): each for each in shown["blocks"]}
    assert by_id["L2_PREVIOUS", "projects/ferrybook/Kickoff.md"]["reuse"] == "rewritten"
    assert by_id["L3_TURN", "projects/ferrybook/Timetable data.md"]["reuse"] == "new"


def test_every_block_s_text_stands_in_the_prompt_as_it_was_sent(morning: Prompts) -> None:
    seen = 0
    for seq in (FOLDED, morning.column(KITCHEN)[-1]["seq"]):
        conversation = morning.get(f"prompts/{seq}")["conversation"]
        [layers] = morning.cli("show", conversation, "--prompt", str(seq), "--layers")
        texts = {each["id"]: each["text"] for each in layers}
        for each in morning.get(f"prompts/{seq}")["blocks"]:
            found = morning.block(seq, each)
            if found["text"] is None:
                assert found["notKept"] and (each["tokens"] == 0 or each["kind"] == "frame")
                continue
            seen += 1
            assert all(part in texts[each["layer"]] for part in found["text"].split("\n\n"))
            if each["kind"] != "message":
                assert len(found["text"].encode()) == each["bytes"]
    assert seen > 20


def test_the_body_is_that_of_the_command_line_and_can_be_saved(morning: Prompts) -> None:
    found = morning.get(f"prompts/{FOLDED}/body")
    [told] = morning.cli("show", LETTER, "--prompt", str(FOLDED), "--body", "sent")
    saved = morning.inspector.request("GET", f"/api/prompts/{FOLDED}/sent")
    assert json.loads(found["text"]) == json.loads(saved.content) == told
    assert (found["shape"], found["same"], found["bytes"]) == ("anthropic", True, len(saved.content))
    assert f"prompt-{FOLDED}.json" in saved.headers["content-disposition"]


def test_a_difference_is_of_two_prompts_after_each_other(morning: Prompts) -> None:
    rows = morning.column(LETTER)
    for one, two in pairwise(rows):
        found = morning.get(f"prompts/{two['seq']}/diff")
        assert (found["before"], found["after"]) == (one["seq"], two["seq"])
        assert found["first"] is not None and found["common"] + found["anew"] == two["estimate"]


# -- money --


def test_a_reported_prompt_costs_what_the_user_s_prices_say_at_once(fresh: Callable[[Path], Prompts]) -> None:
    prompts = fresh(INSTALLED)
    assert prompts.get("conversations")["prices"]["isOwn"] is False
    prompts.write_prices(OWN_PRICES)
    for row in prompts.column(LETTER):
        read, cached, answered = (row[name] for name in ("inputTokens", "cachedTokens", "outputTokens"))
        assert row["cost"]["basis"] == "reported"
        assert row["cost"]["amount"] == pytest.approx(((read - cached) * 10 + cached * 1 + answered * 100) / 1e6)
    prices = prompts.get("conversations")["prices"]
    assert (prices["source"], prices["currency"], prices["isOwn"]) == ("your own list of 2031-05-06", "EUR", True)


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-nothing"), ("nobody", "claude-sonnet-4-5")])
def test_a_model_that_the_package_does_not_know_has_no_price(provider: str, model: str) -> None:
    assert PackagedPrices().amount(provider, model, "2026-04-17T10:00:00.000000Z", Tokens(1_000)) is None


def test_without_a_report_the_cost_is_an_estimate_and_without_a_price_there_is_none(
    fresh: Callable[[Path], Prompts],
) -> None:
    prompts = fresh(RECORDED)  # its provider reported nothing, and nobody sells its model
    assert [each["cost"] for each in prompts.column("talk")] == [None, None]
    prompts.write_prices(OWN_PRICES)
    for row in prompts.column("talk"):
        assert row["cost"] == {"amount": pytest.approx(row["estimate"] / 1000), "basis": "estimated"}


@pytest.mark.parametrize("text", ["dated = 1", "no toml at [all", "", OWN_PRICES.replace("10.0", "-1.0")])
def test_prices_that_cannot_be_read_say_so_and_those_of_the_package_count(
    fresh: Callable[[Path], Prompts], text: str
) -> None:
    prompts = fresh(INSTALLED)
    before = prompts.column(LETTER)
    prompts.write_prices(text)
    assert prompts.column(LETTER) == before
    prices = prompts.get("conversations")["prices"]
    assert prices["problem"] and prices["isOwn"] is False


# -- what is not kept, and what is asked wrongly --


def test_a_log_without_texts_says_which_part_is_not_kept(fresh: Callable[[Path], Prompts], tmp_path: Path) -> None:
    export = tmp_path / "morning.jsonl"
    with replay.open(INSTALLED) as log:
        export.write_bytes(b"".join(export_lines("log", log.events())))
    prompts = fresh(export)
    row = prompts.column(LETTER)[-1]
    assert row["layers"] == [] and "manifest is not kept" in row["notKept"]
    assert (row["words"], row["cause"], row["inputTokens"]) == ("", None, 2454)
    shown = prompts.get(f"prompts/{row['seq']}")
    assert (shown["rebuilt"]["outcome"], shown["blocks"], shown["marks"]) == ("notRecorded", [], [])
    assert shown["rebuilt"]["why"]
    for path in ("body", "diff", "layers/L1_SYSTEM/blocks/1"):
        assert prompts.inspector.error(f"/api/prompts/{row['seq']}/{path}") == (404, "NOT_RECORDED")


def test_a_redacted_bundle_says_that_it_holds_no_texts_of_prompts(
    fresh: Callable[[Path], Prompts], tmp_path: Path
) -> None:
    file = tmp_path / "redacted.wsb"
    with open_source(INSTALLED) as source, under_pseudonyms(cut(source, since=1)) as redacted:
        file.write_bytes(bundle_of(redacted.part))
    prompts = fresh(file)
    first = prompts.get("conversations")["conversations"][0]["conversation"]
    row = prompts.column(first)[0]
    assert "redacted" in row["notKept"]
    assert "redacted" in prompts.get(f"prompts/{row['seq']}")["rebuilt"]["why"]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("prompts/1", (400, "INVALID_ARGUMENT")),
        ("prompts/99999", (400, "INVALID_ARGUMENT")),
        ("prompts/x", (400, "INVALID_ARGUMENT")),
        (f"prompts/{FOLDED}/layers/L1_SYSTEM/blocks/0", (400, "INVALID_ARGUMENT")),
        (f"prompts/{FOLDED}/layers/L9/blocks/1", (400, "INVALID_ARGUMENT")),
        ("prompts/40/diff", (404, "NOT_RECORDED")),
        ("conversations/none", (400, "INVALID_ARGUMENT")),
        (f"conversations/{LETTER}?limit=0", (400, "INVALID_ARGUMENT")),
        (f"conversations/{LETTER}?before=0", (400, "INVALID_ARGUMENT")),
    ],
)
def test_what_is_not_there_is_refused(morning: Prompts, path: str, error: tuple[int, str]) -> None:
    assert morning.inspector.error(f"/api/{path}") == error
