"""An agent cannot tell a vault with a withheld note from one without it: two daemons, asked the same.

In one world the note is there, the editor shows it, and its front matter, a rule or both withhold it. In the
other there is no such file, and where the first editor shows it, the second shows nothing. Between the questions
notes are edited, saved in parts, moved and deleted, daemons are killed, indexes are lost and folders unmounted.
The secret's image, and one that a rule withholds, are only in the one world; a note that is shown embeds both.
Symlinks to the secret and to its folder are in both. A sync program may keep the secret elsewhere. A canvas with
a card of the secret is in both; the secret's PDF, files that a rule, `.gitignore` or their hidden name keeps out
(code among them), and one that nobody shows or links are in the one world alone, and the user looks at some there.
Every answer must be the same: of tools, at any moment, of resources, of a conversation's methods, and every error
text. Left out of the comparison are times, sequences, and the one count that agents may read. That a vault
withholds something is no secret either, therefore both worlds withhold another note.

A note for explicit requests only is such a secret to everything that names it not: so the same worlds are compared
without the questions that ask for it by name, or for whatever holds a word.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import images

Json = dict[str, Any]
LONG_AGO_NS = 1_700_000_000_000_000_000
IGNORE = ".workspacedignore"
SECRET = "keep/Diary.md"
WORDS = ("xyzzy", "Dear diary")


def card(y: int, **fields: str) -> Json:
    return {"id": str(y), "x": 0, "y": y, "width": 9, "height": 9, **fields}


CARDS = [
    card(0, type="text", text="zebra, see [[Diary]] and [[home]]"),
    *(
        card(20 * at, type="file", file=file)
        for at, file in enumerate(("keep/Diary.md", "keep/secret.png", "work/plan.md", "keep/ruled.csv"), start=1)
    ),
]
PUBLIC = {
    "home.md": "# Home\n\nSee [[Diary]], [[Budget]] and [it](keep/Diary.md). zebra\n"
    "![[shown.png]] ![[secret.png]] ![[keep/secret.png|100]] ![[ruled.png]]\n"
    "[[secret.pdf]] ![[keep/secret.pdf#page=2]] [csv](keep/ruled.csv) [[ruled.canvas]] [[out.txt]] [[open.csv]]\n",
    "Board.canvas": json.dumps({"nodes": CARDS, "edges": [{"id": "1", "fromNode": "0", "toNode": "20"}]}),
    "work/open.csv": "zebra,1\n",
    "src/main.py": "import vault_key\n\n\ndef main():\n    print('zebra')\n",
    ".gitignore": "build/\nignored/\n",
    "keep/Budget.md": "---\naliases: [Money]\ntags: [house]\n---\n# Budget\n\nTo [[home]], zebra.\n",
    "work/plan.md": "# Plan\n\nAfter [[Budget]] comes [[Diary|the diary]].\n",
    "work/other.md": "---\nworkspaced: private\n---\nWithheld in both worlds.\n",
}
FLAGS = {"never": "workspaced: private\n", "on-request": "workspaced: on-request\n"}
TEXT = (
    "---\n{flag}id: d-17\naliases: [Journal]\ntags: [house]\n---\n"
    "# Diary\n\nDear diary, xyzzy. [[home]] ![[secret.png]] [[secret.pdf]] zebra #hush ^b1\n"
)
GUESSES = (
    *(SECRET, "keep/Diary", "Diary", "diary", "Journal", "d-17", "[[Diary]]", "Diary#x", "keep/Moved.md", "Moved"),
    *("@keep/Diary.md", '"[[Diary]]"', "[it](keep//Diary.md/)"),
)
SECRET_PDF = "keep/secret.pdf"
"""The secret links it, and so does a note that is shown; the user looks at it with the secret."""
CODE = "class VaultKey:\n    word = 'xyzzy'  # zebra\n"
LOOSE = {
    "work/loose.csv": "xyzzy,2\n",
    "work/.hidden.csv": "xyzzy,3\n",
    "build/out.txt": "xyzzy\n",
    "src/ignored/vault_key.py": CODE,
}
"""In the one world; nothing withholds the first one, but nothing shows or links it either."""
RULED = {
    "keep/ruled.csv": "xyzzy,4\n",
    "keep/ruled.canvas": json.dumps({"nodes": [{**CARDS[0], "text": "xyzzy"}]}),
    "src/ruled/vault_key.py": CODE,
}
"""In the one world, where a rule withholds them."""
FILES = (SECRET_PDF, *LOOSE, *RULED)
FOLLOWED: tuple[Json, ...] = (
    *({"reference": guess, "from": "home.md", "includeLinks": True, "includeOutline": True} for guess in GUESSES),
    *({"reference": "[[home]]", "from": source} for source in (SECRET, "keep/Diary", "keep/Moved.md", "Diary")),
    *({"reference": "Budget", "from": source} for source in (SECRET, "keep/nothing.md", "keep/Budget")),
    *({"reference": f"[[Diary#{part}]]"} for part in ("Diary", "^b1", "Nothing")),
    {"reference": "[[#Diary]]", "from": SECRET},
    {"reference": "[[#Diary]]", "from": "home.md"},
    {"reference": "[the diary](Diary.md#Diary)", "from": "keep/Budget.md", "whole": True},
    {"reference": "../keep/Diary", "from": "work/plan.md"},
    {"reference": "home.md", "includeLinks": True, "includeOutline": True},
    {"reference": "home.md", "includeImages": True},
    {"reference": SECRET, "includeImages": True},
    {"reference": "keep/Budget", "includeLinks": True},
    *({"reference": each, "includeOutline": True} for each in (*FILES, "vault_key", "VaultKey")),
    *({"reference": each.rpartition("/")[2], "from": "home.md"} for each in FILES),
    {"reference": "Board.canvas", "includeLinks": True, "includeImages": True},
    {"reference": "work/open.csv", "includeLinks": True},
    *({"reference": each} for each in ("alias.md", "[[alias]]", "linked/Diary.md", "linked/Budget.md")),
    {"reference": "alias", "from": "home.md"},
    {"reference": "home#Home"},
    {"reference": "home#Diary"},
)
"""References with a note that they stand in, with a section, or with links and outline."""
QUERIES = (
    *("zebra", "xyzzy", "diary", "hush", "zebra xyzzy", "xyzzy OR house", "plan -zebra diary"),
    "what comes after the budget in the plan of the house",
    "whose journal says that the zebra is withheld",
    *("vault_key", "path:src/ruled"),
)
"""Also such as some notes hold in part: how rare a word is tells nothing of the secret."""
PINS: tuple[Json, ...] = (
    *({"kind": kind} for kind in ("workspace", "open-files", "recent-changes", "linked-files")),
    {"kind": "linked-files", "path": "home.md"},
    {"kind": "folder", "folder": "keep"},
    {"kind": "folder", "folder": ""},
    {"kind": "note", "path": SECRET},
)
RULE = "/keep/Diary.md\n/keep/Moved.md\n/vault-archive/\n/keep/ruled.*\n/src/ruled/\n"
SHOWN_IMAGE = "shown.png"
SECRET_IMAGE = "keep/secret.png"
"""The secret embeds it, and so does a note that is shown; it is there while all of the secret is."""
RULED_IMAGE = "keep/ruled.png"
OVERLAY = "workspaced/context/overlay"
SETTINGS = {"provider": "anthropic", "model": "m", "contextWindow": 50_000, "outputReserve": 1_000}


class World:
    """One daemon, its editor, an agent over MCP, and a runtime."""

    def __init__(
        self, daemon: Any, modern: Callable[..., Any], *, has_secret: bool, by: str, level: str = "never"
    ) -> None:
        self._modern = modern
        self.has_secret = has_secret
        self.level = level
        self.text = TEXT.format(flag=FLAGS[level] if by in ("flag", "both") else "")
        rules = f"#: {level}\n{RULE}" if by in ("rule", "both") else "/nothing/\n"
        self.running = daemon("--files", "src/**", notes={**PUBLIC, IGNORE: rules}, start=False)
        self.root: Path = self.running.vault
        for note in PUBLIC:
            self._age(note)
        images.write(self.root, {SHOWN_IMAGE: images.png(3, 3)})
        (self.root / "alias.md").symlink_to(SECRET)
        (self.root / "linked").symlink_to("keep")
        if has_secret and by != "flag":
            images.write(self.root, {RULED_IMAGE: images.png(4, 4)})
        self.looked_at = ["build/out.txt", "src/ignored/vault_key.py", *(RULED if by != "flag" else ())]
        if has_secret:
            for name, text in {**LOOSE, **(RULED if by != "flag" else {})}.items():
                self._write(name, text)
        self.place = SECRET
        self.save()
        self.running.start()
        self.reconcile()  # both worlds have come as far
        self.moments: list[int] = []
        self.messages = 0
        self.runtime("workspaced/context/start", {"conversation": "talk", **SETTINGS})
        self.runtime("workspaced/context/start", {"conversation": "looking", **SETTINGS})
        for number, pin in enumerate(PINS):
            self.runtime("workspaced/context/pin", {"conversation": "talk", "id": f"p{number}", **pin})

    # -- what happens --

    def _age(self, note: str) -> None:
        os.utime(self.root / note, ns=(0, LONG_AGO_NS))

    def save(self, end: int | None = None) -> None:
        """The secret is written, up to `end` characters of it; with its image, if whole."""
        if self.has_secret:
            if end is not None:
                self._delete_files()
            file = self.root / self.place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text[:end])
            self._age(self.place)
            if end is None:
                images.write(self.root, {SECRET_IMAGE: images.png(5, 5)})
                self._write(SECRET_PDF, "%PDF-1.4 xyzzy")

    def _write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)
        self._age(name)

    def _delete_files(self) -> None:
        for name in (SECRET_IMAGE, SECRET_PDF):
            (self.root / name).unlink(missing_ok=True)

    def move(self, place: str) -> None:
        file = self.root / self.place
        if self.has_secret and file.exists():
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            file.rename(self.root / place)
        self.place = place

    def delete(self) -> None:
        if self.has_secret:
            self._delete_files()
            (self.root / self.place).unlink(missing_ok=True)

    def appear(self, end: int) -> None:
        """The secret is gone, and is being written anew where it never was."""
        self.delete()
        self.place = "keep/Moved.md"
        self.save(end)

    def evict(self) -> None:
        """A sync program keeps the secret elsewhere."""
        self.delete()
        if self.has_secret:
            folder, _, name = self.place.rpartition("/")
            (self.root / folder / f".{name}.icloud").write_bytes(b"bplist00")

    def edit(self, number: int) -> None:
        (self.root / "home.md").write_text(f"{PUBLIC['home.md']}\nEdit {number}.\n")
        self._age("home.md")

    def show(self, note: str) -> None:
        """The editor shows a note; the secret is shown in the one world and nothing in the other."""
        if note != "secret":
            self.publish("active_note_set", note=note)
            self.publish("note_pinned", note=note)
        elif self.has_secret:
            self.publish("active_note_set", note=self.place)
            self.publish("note_pinned", note=self.place)
            for name in (self.place, SECRET_PDF, SECRET_IMAGE, *self.looked_at):
                self.publish("temporary_tab_opened", note=name, source="search")
                self.publish("note_pinned", note=name)
            self.publish("active_note_set", note=SECRET_PDF)
            self.publish("active_note_set", note=self.place)
            self.publish("selection_changed", note=self.place, startLine=1, endLine=2, text="Dear diary, xyzzy.")
        else:
            self.publish("active_note_cleared")

    def publish(self, kind: str, **data: Any) -> None:
        with self.running.connect("editor") as client:
            client.publish([{"type": kind, "data": data}])

    def crash(self, *, lose_index: bool) -> None:
        self.running.kill()
        if lose_index:
            shutil.rmtree(self.running.data / "cache", ignore_errors=True)
        self.running.start()

    def unmount(self) -> None:
        self.root.rename(self.running.root / "away")
        self.root.mkdir()

    def mount(self) -> None:
        shutil.rmtree(self.root)
        (self.running.root / "away").rename(self.root)

    def reconcile(self) -> None:
        self.running.reconcile()

    # -- what is asked --

    def runtime(self, method: str, params: Json) -> Json:
        wire = self.running.wire()
        wire.ask("workspaced/hello", {"client": {"name": "runtime"}})
        answer: Json = wire.ask(method, params)
        wire.close()
        return answer

    def remember_the_moment(self) -> None:
        with self.running.connect("person") as client:
            self.moments.append(client.call("workspaced/status")["seq"])

    def answers(self) -> Iterator[tuple[str, str]]:
        """Each question and its answer, without what may differ."""
        agent = self._modern(self.running, "agent")
        for name, arguments in self._calls():
            if self.level == "on-request" and asks_for_it(name, arguments):
                continue
            number = agent.send("tools/call", name=name, arguments=arguments)
            yield f"{name} {self._named(arguments)}", plain(agent.answer(number))
        for guess in (*(GUESSES if self.level == "never" else ()), "home.md"):
            number = agent.send("resources/read", uri=f"workspace://note/{guess}")
            yield f"resource {guess}", plain(agent.answer(number))
        for uri in ("workspace://context", "workspace://current", "workspace://note/current"):
            yield uri, plain(agent.answer(agent.send("resources/read", uri=uri)))
        status = json.dumps(agent.result("workspaced/status"))
        assert not any(word in status for word in ("Diary", "Moved", *WORDS)), status
        agent.wire.close()
        yield from self._talk()

    def _calls(self) -> Iterator[tuple[str, Json]]:
        moments: list[Json] = [{}, *({"at": moment} for moment in self.moments)]
        for at in moments:
            yield "get_workspace_context", {"includeContent": True, **at}
            yield "get_current_note", {"includeLinks": True, "includeImages": True, **at}
            yield "get_workspace_summary", at
            yield "get_navigation_history", at
            yield "get_context_manifest", at
            for reference in (*GUESSES, "home", "keep/nothing.md"):
                yield "get_note_by_reference", {"reference": reference, **at}
            for followed in FOLLOWED:
                yield "get_note_by_reference", {**followed, **at}
            for reference in (SECRET, "src/ruled/vault_key.py", "src/main.py", "home.md"):
                yield "get_related_notes", {"reference": reference, **at}
                yield "get_note_diff", {"reference": reference, **at}
            for query in QUERIES:
                yield "search_workspace", {"query": query, **at}

    def _named(self, arguments: Json) -> str:
        at = arguments.get("at")
        return json.dumps({**arguments, "at": self.moments.index(at) if at is not None else None})

    def _talk(self) -> Iterator[tuple[str, str]]:
        """A turn in which the runtime attaches names that somebody guessed."""
        self.messages += 1
        named = [
            *({"kind": "note", "id": guess} for guess in GUESSES),
            {"kind": "selected_text", "id": f"{SECRET}#L1-L2", "text": "s"},
        ]
        attached: list[Json] = [
            {"kind": "note", "id": "home.md"},
            *(named if self.level == "never" else ()),
            {"kind": "file", "id": SECRET, "text": "f"},
            {"kind": "folder", "id": "keep"},
            {"kind": "tag", "id": "house"},
            {"kind": "image", "id": SECRET},
            {"kind": "tool_result", "id": "s", "text": "d"},
        ]
        message = {"id": f"m{self.messages}", "role": "user", "text": "What?", "attachments": attached}
        talk, looking = {"conversation": "talk"}, {"conversation": "looking"}
        whatever = {**message, "attachments": [{"kind": "active_note"}, {"kind": "selected_text"}]}
        asked: list[tuple[str, Json]] = [
            ("workspaced/context/message", {**talk, "messages": [message]}),
            ("workspaced/context/message", {**looking, "messages": [whatever]}),
            ("workspaced/context/assemble", looking),
            ("workspaced/context/assemble", talk),
            ("workspaced/context/assemble", {**talk, "shape": "openai"}),
            ("workspaced/context/export", talk),
            ("workspaced/context/assemble", {**talk, "rebase": True}),
        ]
        for method, params in asked:
            yield f"{method} {self.messages}", plain(self.runtime(method, params))
        yield f"overlay {self.messages}", self._overlaid()

    def _overlaid(self) -> str:
        """What is put into the next request of a chat of another program, which attaches what somebody guessed."""
        keys = [sha256(str(number).encode()).hexdigest() for number in range(self.messages)]
        attached = [each for each in (*GUESSES, "home.md", *FILES) if "." in each and each[0].isalpha()]
        asked = {
            "form": "openai",
            "turns": [{"key": key, "near": key} for key in keys],
            "open": True,
            "chat": "c" * 64,
            "activeText": True,
            "attachments": attached,
        }
        answer = self.runtime(OVERLAY, asked)
        token = answer["result"]["token"]
        if token is not None:
            self.runtime(f"{OVERLAY}/confirm", {"token": token, "bodySha256": "b" * 64})
        return plain(answer)


NAMED_BY_ALL = {
    "home",
    "home.md",
    "home#Home",
    "home#Diary",
    "keep/Budget",
    "keep/nothing.md",
    "work/plan.md",
    "Budget",
}


def asks_for_it(name: str, arguments: Json) -> bool:
    """Whether a call asks for the secret explicitly, or for all that holds a word."""
    if name in ("get_current_note", "search_workspace"):
        return True
    named = {arguments.get("reference"), arguments.get("from")}
    return name == "get_note_by_reference" and not named <= {*NAMED_BY_ALL, None}


_DIFFERS = {"asOfSeq", "seq", "clock", "withheld", "tailSeq", "dwellSeconds", "seconds", "asOf", "token"}
"""Members that differ between any two daemons, and the count."""
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?")
_TAIL = re.compile(r"from 0 to \d+")
_AS_OF = re.compile(r'as-of="\d+"')
_CLOCK = re.compile(r"[0-9a-f]{16}:\d+")
_FOLDER = re.compile(r"/tmp/wsd-\w+/vault")


def plain(answer: Json) -> str:
    """An answer's JSON without times, sequences, folders and the count of withheld notes; texts in texts too."""
    members = {name: value for name, value in answer.items() if name not in ("id", "instance")}
    return json.dumps(_plain(members), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _of_member(name, each) for name, each in value.items() if name not in _DIFFERS}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith("{"):
        try:
            return _plain(json.loads(value))
        except ValueError:
            pass
    for pattern, put in (
        (_TIMES, "T"),
        (_TAIL, "from 0 to N"),
        (_CLOCK, "CLOCK"),
        (_AS_OF, "AS OF"),
        (_FOLDER, "FOLDER"),
    ):
        value = pattern.sub(put, value)
    return value


def _of_member(name: str, value: Any) -> Any:
    """Notes visited equally often stand by how long, which is a time."""
    value = _plain(value)
    return sorted(value, key=json.dumps) if name == "mostVisited" and isinstance(value, list) else value


def assert_same(one: World, other: World) -> None:
    """Asks both worlds everything."""
    for (question, answer), (asked, expected) in zip(one.answers(), other.answers(), strict=True):
        assert question == asked
        assert answer == expected, question
        # A search names words of its own that notes lack, alike in both worlds.
        own = question if question.startswith("search_workspace") else ""
        assert not any(word in answer for word in WORDS if word not in own), question


def assert_shows_an_image(world: World) -> None:
    """That the worlds are alike says something only where images are shown."""
    asked = {"name": "get_note_by_reference", "arguments": {"reference": "home.md", "includeImages": True}}
    with world.running.connect("agent") as client:
        client.call("workspaced/reconcile")
        assert len(images.images_in(client.call("tools/call", asked))) == 1
        client.call("workspaced/calls")  # the call is recorded, before any moment that a world remembers


PARTS = (27, 30, 40, 60)
"""How much of the secret is written when it is saved in parts: the flag, and more. Less than that is a public note
once it has settled, as it must be; tests of `NoteVisibility` say when."""
STEPS: dict[str, Callable[[World, int], None]] = {
    "show the secret": lambda world, _n: world.show("secret"),
    "show home": lambda world, _n: world.show("home.md"),
    "show plan": lambda world, _n: world.show("work/plan.md"),
    "edit home": lambda world, n: world.edit(n),
    "save in parts": lambda world, n: world.save(PARTS[n % len(PARTS)]),
    "save": lambda world, _n: world.save(),
    "evict": lambda world, _n: world.evict(),
    "appear": lambda world, n: world.appear(PARTS[n % len(PARTS)]),
    "delete": lambda world, _n: world.delete(),
    "move": lambda world, n: world.move(("keep/Moved.md", "vault-archive/Diary.md", SECRET)[n % 3]),
    "crash": lambda world, _n: world.crash(lose_index=False),
    "crash and lose the index": lambda world, _n: world.crash(lose_index=True),
    "reconcile": lambda world, _n: world.reconcile(),
    "remember the moment": lambda world, _n: world.remember_the_moment(),
}
"""What happens in both worlds, as far as it can."""


MakeWorlds = Callable[..., tuple[World, World]]


@pytest.fixture
def worlds(daemon: Any, modern: Callable[..., Any]) -> MakeWorlds:
    def made(by: str, level: str = "never") -> tuple[World, World]:
        return tuple(World(daemon, modern, has_secret=each, by=by, level=level) for each in (True, False))  # type: ignore[return-value]

    return made


def happens(step: str, number: int, *worlds: World) -> None:
    for world in worlds:
        STEPS[step](world, number)
    if step in ("edit home", "crash", "crash and lose the index"):
        for world in worlds:
            world.reconcile()  # what is public may settle, so that both worlds have come as far


def assert_same_throughout(story: Iterable[tuple[str, int]], one: World, other: World) -> None:
    """Lets the steps happen in both worlds, and compares them at each "ask"."""
    for step, number in story:
        if step == "ask":
            assert_same(one, other)
        else:
            happens(step, number, one, other)


@pytest.mark.fault(row=72)
@pytest.mark.fault(row=51)
@pytest.mark.parametrize(
    "by", [*(pytest.param(by, marks=pytest.mark.thorough) for by in ("flag", "rule")), "both"]
)
def test_nothing_tells_the_worlds_apart(worlds: MakeWorlds, by: str) -> None:
    tells_nothing(*worlds(by))


@pytest.mark.fault(row=67)
@pytest.mark.thorough
@pytest.mark.parametrize("by", ["flag", "rule", "both"])
def test_nothing_that_is_pushed_tells_of_a_note_for_explicit_requests(worlds: MakeWorlds, by: str) -> None:
    tells_nothing(*worlds(by, "on-request"))


def tells_nothing(one: World, other: World) -> None:
    for world in (one, other):
        assert_shows_an_image(world)
    story = [
        *("show home", "show the secret", "remember the moment", "ask", "save in parts", "ask", "delete", "ask"),
        *("save", "show plan", "crash and lose the index", "ask", "delete", "crash and lose the index", "ask"),
        *("appear", "ask", "show the secret", "evict", "ask"),
    ]
    assert_same_throughout(((step, number) for number, step in enumerate(story)), one, other)


@pytest.mark.fault(row=39)
@pytest.mark.fault(row=48)
@pytest.mark.thorough
@pytest.mark.parametrize("by", ["flag", "rule"])
def test_an_unmounted_vault_tells_the_worlds_apart_no_more(worlds: MakeWorlds, by: str) -> None:
    one, other = worlds(by)
    happens("show home", 0, one, other)
    happens("show the secret", 0, one, other)
    assert_same(one, other)
    for world in (one, other):
        world.unmount()
    for step in ("reconcile", "crash and lose the index"):
        happens(step, 0, one, other)
        assert_same(one, other)
    for world in (one, other):
        world.mount()
        world.reconcile()
    assert_same(one, other)


@pytest.mark.fault(row=47)
@pytest.mark.fault(row=51)
@settings(
    max_examples=int(os.environ.get("TWO_WORLDS_EXAMPLES", "2")),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[*HealthCheck],
)
@given(
    st.sampled_from(["flag", "rule", "both"]),
    st.sampled_from(["never", "on-request"]),
    st.lists(st.tuples(st.sampled_from([*STEPS, "ask"]), st.integers(0, 11)), min_size=6, max_size=14),
)
def test_no_story_tells_the_worlds_apart(
    worlds: MakeWorlds, by: str, level: str, story: list[tuple[str, int]]
) -> None:
    one, other = worlds(by, level)
    assert_same_throughout([*story, ("ask", 0)], one, other)
