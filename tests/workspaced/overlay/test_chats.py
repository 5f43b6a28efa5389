"""Any chats of any form, whatever their clients and their user do: what the provider gets, request after request.

A client keeps its chats itself and sends them whole each time. Here many do, beside a user who looks elsewhere,
edits, withholds, and a daemon that starts again. After each request a model of it is held against what was sent.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.insertions import told, without
from support.profiles import examples
from support.session_machine import Session, write
from support.written_chats import REMINDER, WRITERS, Said, text

from workspaced.api.routes import METHODS
from workspaced.overlay.asking import METHOD
from workspaced.overlay.request import MESSAGES, TAG, Form
from workspaced.proxy.application import Outcome, with_context

FORMS: tuple[Form, ...] = get_args(Form)
NOTES = ("n0.md", "n1.md", "n2.md", "n3.md")
NO_STEPS = ("client", "workspace", "chat", "words", "turns")


class Link:
    """The daemon's methods, as the proxy's connection calls them."""

    def __init__(self, session: Session, client: str) -> None:
        self._session, self._client = session, client

    async def call(self, params: dict[str, Any]) -> Any:
        return await self._call(METHOD, params)

    async def confirm(self, outcome: Outcome) -> None:
        params = {"token": outcome.token, "bodySha256": outcome.body_sha256}
        assert await self._call(f"{METHOD}/confirm", params) == {"recorded": True}

    async def _call(self, name: str, params: dict[str, Any]) -> Any:
        method = METHODS[name]
        caller: Any = SimpleNamespace(service=self._session.service, client=self._client)
        answer = await method.handler(caller, None, method.decode(msgspec.json.encode(params)))
        return msgspec.json.decode(msgspec.json.encode(answer))


class Workspace:
    """What the user has before them, and how often that changed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.active: str | None = None
        self.pins: list[str] = []
        self.withheld: set[str] = set()
        self.changes = 0
        self.withdrawals = 0
        self._versions = dict.fromkeys(NOTES, 0)
        for note in NOTES:
            self._save(note)
        session.reconcile()
        for note in NOTES:
            session.publish({"type": "note_unpinned", "data": {"note": note}})
        session.look_at(NOTES[0])
        self.active = NOTES[0]

    def look(self, note: str | None) -> None:
        self._publish("active_note_set", note)
        self.active = note

    def pin(self, note: str, *, pinned: bool) -> None:
        self._publish("note_pinned" if pinned else "note_unpinned", note)

    def edit(self, note: str) -> None:
        self._save(note)

    def withhold(self, note: str) -> None:
        self.withheld.add(note)
        self.withdrawals += 1
        self._save(note)

    def show(self, note: str) -> None:
        self.withheld.discard(note)
        self._save(note)
        self.session.reconcile()  # what was withheld is shown once it was read anew

    def _publish(self, kind: str, note: str | None) -> None:
        self.session.publish({"type": kind, "data": {"note": note}})
        self.changes += 1

    def _save(self, note: str) -> None:
        self.changes += 1
        self._versions[note] += 1
        head = "---\nworkspaced: false\n---\n" if note in self.withheld else ""
        body = f"{head}# About {note}\n\nVersion {self._versions[note]}.\n"
        write(self.session.vaults["one"], note, body.encode())

    @property
    def looked_at(self) -> str:
        """As an agent is told."""
        return "no note" if self.active is None or self.active in self.withheld else self.active


class Sent(NamedTuple):
    """A request that left."""

    body: bytes
    out: bytes
    given: list[Any]
    got: list[Any]
    """The messages as a provider reads them, without and with what was inserted."""
    changes: int
    withdrawals: int


class Chat:
    """One chat of a client."""

    def __init__(self, form: Form, name: str | None, first: str, *, has_tools: bool) -> None:
        self.form, self.name, self.first, self.has_tools = form, name, first, has_tools
        self.said: list[Said] = []
        self.in_blocks = True
        self.sent: Sent | None = None
        self.is_offered = False
        """Whether the newest turn was offered a text that did not leave."""
        self.is_cut = False
        """Whether its beginning went: then something may be told again that a text tells which still stands."""
        self.seen: set[str] = set()
        self.gone: set[str] = set()
        """Texts that left when a note was withheld."""

    def branch(self) -> "Chat":
        made = Chat(self.form, self.name, self.first, has_tools=self.has_tools)
        made.is_cut = self.is_cut
        made.said, made.sent, made.seen, made.gone = [*self.said], self.sent, {*self.seen}, {*self.gone}
        return made

    @property
    def is_open(self) -> bool:
        return bool(self.said) and self.said[-1][0] == "user"

    def say(self, words: str, style: int) -> None:
        self.said.append(("user", words if self.said else self.first, style % 2 == 0))

    def hear(self, words: str) -> None:
        if self.is_open:
            self.said.append(("answer", words, True))

    def body(self) -> bytes:
        """The messages stand last, so the bytes of a request may begin those of the next."""
        last = len(self.said) - 1
        messages = []
        for number, (what, words, style) in enumerate(self.said):
            # As Claude Code: the newest message in blocks with a mark, the others as strings.
            in_blocks = number == last or self.in_blocks if self.form == "anthropic" else style
            messages += WRITERS[self.form]((what, words, in_blocks))
        head: dict[str, Any] = {"model": "m", "n": 1.10}
        if self.name is not None:
            head["metadata"] = {"user_id": self.name}
        if self.has_tools:
            head["tools"] = [{"name": "look"}]
        return json.dumps({**head, MESSAGES[self.form]: messages}, separators=(",", ":")).encode()


def as_read(form: Form, body: bytes) -> list[Any]:
    """Messages as a provider reads them: a string is one block; marks and what a program says do not count."""
    name = "parts" if form == "gemini" else "content"
    messages = json.loads(body)[MESSAGES[form]]
    for message in messages:
        content = message.get(name)
        if isinstance(content, str) and form == "anthropic":
            message[name] = content = [text(content)]
        if isinstance(content, list):
            kept = [each for each in content if each.get("text") != REMINDER]
            message[name] = [{k: v for k, v in each.items() if k != "cache_control"} for each in kept]
    return list(messages)


class Client:
    """A client with its chats, and what must hold of each of its requests."""

    def __init__(self, workspace: Workspace, name: str, form: Form, *, names_chats: bool) -> None:
        self.workspace, self.name, self.form, self.names_chats = workspace, name, form, names_chats
        self.link = Link(workspace.session, name)
        self.chats: list[Chat] = []
        self.number = 0
        self.new(has_tools=True)

    def count(self) -> int:
        self.number += 1
        return self.number

    def new(self, *, has_tools: bool) -> None:
        """Chats that are named begin alike."""
        name = f"{self.name} {len(self.chats)}" if self.names_chats else None
        first = "Hello?" if self.names_chats else f"Hello {len(self.chats)}?"
        self.chats.append(self.make_current(Chat(self.form, name, first, has_tools=has_tools)))

    def make_current(self, chat: Chat) -> Chat:
        self.chat = chat
        return chat

    # -- requests --

    async def _overlaid(self, body: bytes) -> tuple[bytes, Outcome]:
        link: Any = self.link
        return await with_context(link, self.form, b"/any", body)

    async def _at_once(self, bodies: list[bytes]) -> list[tuple[bytes, Outcome]]:
        made = await asyncio.gather(*map(self._overlaid, bodies))
        for _, outcome in made:
            if outcome.token:
                await self.link.confirm(outcome)
        return made

    def send(self, *chats: Chat) -> None:
        """The requests of these chats at once."""
        bodies = [chat.body() for chat in chats]
        made = self.workspace.session.run(self._at_once(bodies))
        for chat, body, (out, outcome) in zip(chats, bodies, made, strict=True):
            given, got = self.check(chat, body, out, outcome)
            changes = self.workspace.changes if chat.is_open or chat.sent is None else chat.sent.changes
            chat.sent = Sent(body, out, given, got, changes, self.workspace.withdrawals)
            chat.is_offered = False

    def send_in_vain(self, chat: Chat) -> None:
        """The connection breaks."""
        body = chat.body()
        self.check(chat, body, *self.workspace.session.run(self._overlaid(body)))
        chat.is_offered = chat.is_open

    # -- what holds --

    def check(self, chat: Chat, body: bytes, out: bytes, outcome: Outcome) -> tuple[list[Any], list[Any]]:
        """The messages, without and with what was inserted."""
        assert outcome.context == "added" or outcome.reason.startswith("NOTHING_NEW"), outcome
        assert without(out) == body
        given, got = (as_read(chat.form, each) for each in (body, out))
        assert all(str(message).count(TAG) <= 1 for message in got)
        texts = told(out)
        if not chat.is_cut:
            assert len(set(texts)) == len(texts)
        self._check_withheld(chat, texts)
        if chat.is_open and not chat.is_offered:
            self._check_told(chat, texts)
        self._check_beginning(
            chat, Sent(body, out, given, got, self.workspace.changes, self.workspace.withdrawals)
        )
        return given, got

    def _check_withheld(self, chat: Chat, texts: list[str]) -> None:
        withheld = self.workspace.withheld
        assert not [each for each in texts if any(note in each for note in withheld)]
        chat.seen.update(texts)
        assert not chat.gone.intersection(texts)
        chat.gone |= {each for each in chat.seen if any(note in each for note in withheld)}

    def _check_told(self, chat: Chat, texts: list[str]) -> None:
        lines = [line for each in texts for line in each.split("\n")]
        looked_at = [line.removeprefix("looking at: ") for line in lines if line.startswith("looking at: ")]
        assert looked_at[-1:] == [self.workspace.looked_at]
        assert chat.is_cut or all(one != other for one, other in itertools.pairwise(looked_at))

    def _check_beginning(self, chat: Chat, now: Sent) -> None:
        before = chat.sent
        if before is None or before.withdrawals != now.withdrawals:
            return
        if len(before.given) == len(now.given) and before.changes != now.changes:
            return  # answered anew, with news
        if now.given[: len(before.given)] != before.given:
            return
        assert now.got[: len(before.got)] == before.got
        if now.body.startswith(before.body[:-2]):
            assert now.out.startswith(before.out[:-2])
        if before.changes == now.changes:
            assert told(now.out) == told(before.out)


class Steps:
    """What a client and its user may do, by name; `number` says which of several ways."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.workspace = client.workspace

    @property
    def chat(self) -> Chat:
        return self.client.chat

    def words(self, number: int) -> str:
        """Of chats with names some are the same in several."""
        return "Yes." if self.client.names_chats and number % 2 else f"Words {self.client.count()}."

    def turns(self) -> list[int]:
        return [at for at, each in enumerate(self.chat.said) if each[0] == "user"]

    def ask(self, number: int) -> None:
        self.chat.hear(self.words(number))
        self.chat.say((self.words(number), f"Why {self.client.count()}?\n", 'é 🔥 "quoted"')[number % 3], number)
        self.client.send(self.chat)
        self.chat.hear(self.words(number))

    def ask_again(self, number: int) -> None:
        self.chat.say("Still there?", number)
        self.client.send(self.chat)

    def use_tools(self, number: int) -> None:
        self.chat.say(f"Do {self.client.count()}.", number)
        self.client.send(self.chat)
        for round_ in range(1 + number % 2):
            self.chat.said.append(("tools", f"Result {round_}.", True))
            if number % 3:
                self.look(number)
            self.client.send(self.chat)
        self.chat.said.append(("answer", self.words(number), True))

    def answer_anew(self, _number: int) -> None:
        if self.chat.said:
            while not self.chat.is_open:
                self.chat.said.pop()
            self.client.send(self.chat)
            self.chat.hear(f"Another answer {self.client.count()}.")

    def say_otherwise(self, number: int) -> None:
        if at := self.turns():
            self.chat.said[at[number % len(at)] :] = [("user", f"Or {self.client.count()}?", True)]
            self.client.send(self.chat)
            self.chat.hear(self.words(number))

    def branch(self, number: int) -> None:
        """The old one may go on."""
        self.client.chats.append(self.client.make_current(self.chat.branch()))
        self.say_otherwise(number)

    def compact(self, number: int) -> None:
        if len(at := self.turns()) > 2:
            summary: list[Said] = [("user", f"Summary {self.client.count()}.", True), ("answer", "ok", True)]
            self.chat.said[: at[-1 - number % 2]] = summary
            self.chat.is_cut = True

    def slide(self, _number: int) -> None:
        if len(at := self.turns()) > 2:
            del self.chat.said[: at[1]]
            self.chat.is_cut = True

    def send_at_once(self, number: int) -> None:
        others = [each for each in self.client.chats if each.is_open and each is not self.chat]
        self.chat.say(f"Both {self.client.count()}?", number)
        self.client.send(self.chat, self.chat, *others)
        self.chat.hear(self.words(number))

    def fail_to_send(self, number: int) -> None:
        self.chat.say(f"Lost {self.client.count()}?", number)
        self.client.send_in_vain(self.chat)
        if number % 2:
            self.chat.said.pop()
            self.chat.is_offered = not self.chat.said  # a chat always begins with the same words

    def begin(self, number: int) -> None:
        self.client.new(has_tools=number % 2 == 0)

    def switch(self, number: int) -> None:
        self.client.make_current(self.client.chats[number % len(self.client.chats)])

    def write_otherwise(self, _number: int) -> None:
        self.chat.in_blocks = not self.chat.in_blocks

    def look(self, number: int) -> None:
        self.workspace.look(NOTES[number % len(NOTES)] if number < 7 else None)

    def edit(self, number: int) -> None:
        self.workspace.edit(NOTES[number % len(NOTES)])

    def pin(self, number: int) -> None:
        self.workspace.pin(NOTES[number % len(NOTES)], pinned=number < 4)

    def withhold(self, number: int) -> None:
        """A note, or shows it again."""
        note = NOTES[number % len(NOTES)]
        if note in self.workspace.withheld:
            self.workspace.show(note)
        else:
            self.workspace.withhold(note)

    def restart(self, _number: int) -> None:
        self.workspace.session.restart().reconcile()  # a note is shown once it was read
        for each in self.client.chats:
            each.is_offered = False


OFTEN = (*(Steps.ask, Steps.look) * 4, *(Steps.use_tools, Steps.withhold, Steps.answer_anew) * 2)
EACH = tuple(each for name, each in vars(Steps).items() if not name.startswith("_") and name not in NO_STEPS)
steps = st.lists(st.tuples(st.sampled_from((*OFTEN, *EACH)), st.integers(0, 7)), min_size=4, max_size=40)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    made = Session(Path(tmp_path_factory.mktemp("session")), ["one"]).open()
    yield made
    made.dispose()


NUMBERS = itertools.count()


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(100))
@given(names_chats=st.booleans(), taken=steps)
@example(
    names_chats=True,
    taken=[
        (Steps.ask, 0),
        (Steps.look, 1),
        (Steps.ask, 0),
        (Steps.look, 0),
        (Steps.answer_anew, 0),
        (Steps.ask, 1),
    ],
)
def test_whatever_is_done_each_request_keeps_the_rules(
    session: Session, form: Form, names_chats: bool, taken: list[tuple[Any, int]]
) -> None:
    doing = Steps(Client(Workspace(session), f"agent {next(NUMBERS)}", form, names_chats=names_chats))
    for step, number in taken:
        step(doing, number)
