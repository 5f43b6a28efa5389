"""Prompts of conversations that move while they are made, and texts on their way: without a daemon."""

import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from workspaced.calls.answers import Answers, Present, Seen
from workspaced.errors import UnknownConversation
from workspaced.limits import ASSEMBLE_ATTEMPTS_MAX
from workspaced.prompts import params
from workspaced.prompts.assemble import ConversationChanged, Prompted, assemble
from workspaced.prompts.commands import add_messages, end, start_plan
from workspaced.vaults.served_vault import WithheldDuringRead
from workspaced_events.clock import system_clock
from workspaced_events.ids import ConversationId, EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, Plan, Planned
from workspaced_events.journal.submissions import Receipt
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema.catalogue import ENTRY_OF, Data, VaultOpened
from workspaced_tools.errors import ReadFailed
from workspaced_tools.notes.note import Level
from workspaced_tools.prompts.model.kept_turns import KeptConversations
from workspaced_tools.prompts.model.stored_texts import BlobStaging, TextCache, texts_in
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.sharing.verdicts import KnownLists, Verdicts
from workspaced_tools.vault.vault import Vault

CHAT = ConversationId("chat")
NOW = "2026-03-01T12:00:00.000000Z"


class Log:
    """As much of a service as prompts need. `between` happens after a look and before what follows from it."""

    def __init__(self) -> None:
        self.state: WorkspaceState = EMPTY
        self.seq = 0
        self.blobs: dict[str, bytes] = {}
        self.texts = texts_in(self.blobs.get)
        self.kept_turns = KeptConversations()
        self.between: Callable[[], object] = lambda: None
        self.looks = 0
        self.tail = self.calls = self.publishing = self
        settings = params.Start(provider="p", model="m", context_window=1_000, output_reserve=10)
        self.append(start_plan(settings, CHAT, ""))

    def append(self, plan: Plan) -> list[Receipt]:
        return [self._append(action) for action in plan(Planned(self.state, self.seq, NOW))]

    def _append(self, action: Action) -> Receipt:
        keep = BlobStaging()
        self.blobs.update({keep.keep(blob): blob for blob in action.blobs})
        self.apply(action.data)
        return Receipt(self.seq, EventId(str(self.seq)), False)

    def apply(self, data: Data) -> None:
        self.seq += 1
        event = ENTRY_OF[type(data)].event(self.seq, EventId(str(self.seq)), NOW, "test", None, data)
        self.state = apply(self.state, event)

    def say(self, text: str) -> None:
        message = params.Message(role="user", text=text)
        self.append(add_messages(params.Messages(conversation=CHAT, messages=[message]), lambda _sha256: b"").plan)

    def clock(self) -> str:
        return f"log:{self.seq}"

    async def with_views(
        self, make: Any, _caller: str, _vault: VaultId | None, *, works_paused: bool = False
    ) -> Any:
        self.looks += 1
        withheld = Verdicts(lambda _name: True)
        seen = Seen(shared_view(self.state, system_clock(), None, level="all", withheld=withheld), withheld)
        return make(seen, seen)

    async def record(
        self, plan: Plan, _source: str, *, size_bytes: int = 0, texts: Iterable[bytes] = ()
    ) -> list[Receipt]:
        self.between()
        return self.append(plan)


@pytest.fixture
def log() -> Log:
    made = Log()
    made.say("One.")
    return made


async def asked(log: Log) -> Prompted:
    service: Any = log  # a part of one, all that is used
    return await assemble(service, params.Assemble(conversation=CHAT), "agent")


async def test_a_conversation_that_moved_once_is_looked_at_again(log: Log) -> None:
    def move() -> None:
        log.between = lambda: None
        log.say("Two.")

    log.between = move
    prompt = await asked(log)
    assert log.looks == 2 and prompt.seq == log.seq
    assert [message.content[0].text for message in prompt.messages] == ["One.", "Two."]
    (recorded,) = log.state.conversations.by_id[CHAT].prompts
    assert recorded.message == prompt.message_id and recorded.as_of_seq == prompt.seq - 1


async def test_one_that_moves_all_the_time_is_given_up_and_nothing_is_recorded(log: Log) -> None:
    log.between = lambda: log.say("More.")
    with pytest.raises(ConversationChanged) as raised:
        await asked(log)
    assert raised.value.code == "CONFLICT" and log.looks == ASSEMBLE_ATTEMPTS_MAX
    assert log.state.conversations.by_id[CHAT].prompts == ()


async def test_one_that_ends_meanwhile_is_unknown(log: Log) -> None:
    log.between = lambda: log.append(end(params.Named(conversation=CHAT)))
    with pytest.raises(UnknownConversation):
        await asked(log)


# -- what turns private meanwhile --


async def test_a_note_that_is_found_private_after_it_was_read_is_in_no_prompt(log: Log, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Alpha")
    vault = Vault(tmp_path, clock_ns=lambda: time.time_ns() + 10_000_000_000)
    message = params.Message(role="user", attachments=[params.Attached("note", "a.md")])
    log.append(add_messages(params.Messages(conversation=CHAT, messages=[message]), lambda _sha256: b"").plan)
    vault_id = VaultId("vault")
    log.apply(VaultOpened(vault_id, "vault", str(tmp_path)))

    async def with_views(make: Any, _caller: str, _vault: VaultId | None, **_more: Any) -> Any:
        view = shared_view(log.state, system_clock(), vault, level="all", withheld=lambda _note: False)
        seen = Seen(view, Verdicts("a.md".__eq__))
        return make(seen, seen)

    log.with_views = with_views  # type: ignore[method-assign]
    try:
        with pytest.raises(WithheldDuringRead):
            await asked(log)
    finally:
        vault.close()
    assert log.state.conversations.by_id[CHAT].prompts == ()


class Served:
    """As much of a served vault as looking needs; `moves` says whether notes turn private at every look."""

    def __init__(self) -> None:
        self.id = VaultId("vault")
        self.state_version = 0
        self.vault = self.notes = self.levels = self.root = self.selected = self
        self.lists = {least: KnownLists() for least in Level}
        self.withheld = itertools.cycle([False])

    def is_attachment(self, _note: object) -> bool:
        return True

    def check_rules(self) -> None: ...

    def check_missing(self) -> None: ...

    def names(self, notes: list[object]) -> list[None]:
        return [None] * len(notes)

    def known_to_withhold(self, _note: object, _least: object) -> bool:
        return next(self.withheld)

    withholds = known_to_withhold


def looked(*made: object, moving: int, others: bool = True) -> object:
    """What comes of a look that makes these one after the other; notes turn private during the first `moving`.

    `others`: the look names none of them.
    """
    served: Any = Served()
    if not others:
        served.withheld = itertools.cycle([False, True])
    unused: Any = Mock()
    answers = Answers(unused, unused, unused, unused, lambda: "now")
    found = iter(made)

    def make(shown: Seen, _requested: Seen) -> object:
        nonlocal moving
        shown.withheld(NoteId("a.md"))
        moving -= 1
        served.state_version += moving >= 0
        each = next(found)
        if isinstance(each, type):
            raise each
        return each

    return answers.with_views(make, "agent", Present(EMPTY, 0, served))


@pytest.mark.parametrize(
    ("made", "moving", "result"),
    [
        (("one",), 0, "one"),
        (("one", "two"), 1, "two"),
        (("one", "two", "three", "four"), 9, "four"),
        ((WithheldDuringRead, "two"), 0, "two"),
        (("one", WithheldDuringRead, "two"), 1, "two"),
    ],
)
def test_what_was_looked_at_is_made_again_until_it_stands(
    made: tuple[object, ...], moving: int, result: str
) -> None:
    assert looked(*made, moving=moving) == result


@pytest.mark.parametrize("made", [range(9), (WithheldDuringRead,) * 9])
def test_a_look_that_never_stands_is_given_up(made: Iterable[object]) -> None:
    with pytest.raises(ReadFailed):
        looked(*made, moving=9, others=False)


# -- texts --


def test_the_latest_used_texts_stay_in_memory_and_no_more_than_may() -> None:
    aside, asked = BlobStaging(), list[str]()

    def give(name: str) -> str:
        asked.append(name)
        return aside(name)

    one, two, three, large = (aside.text(text) for text in ("a" * 10, "b" * 10, "c" * 10, "large" * 10))
    texts = TextCache(give, chars_max=20)
    for name in (one, two, one, three, one, two, large, large, two):
        assert texts(name) == aside(name)
    assert asked == [one, two, three, two, large, large]
