"""Plans a compaction: what leaves a transcript, and what the library takes over.

Whole turns leave, oldest first. Of the turns that stay, the parts that the library takes over leave, and older
versions, and notes that the last turns did not use. So a note in use is in the prompt once, in its newest version:
in the library, or in a turn that stays. The numbers are those of a simulation over twelve kinds of conversations
(docs/benchmarks.md, "Prompts that only grow").
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Message
from workspaced_events.schema.catalogue import ArtifactKind, LeftOut, LibraryEntry

from ...errors import NotRecorded
from ..model.sent_so_far import LEFT_OUT, stand_in
from ..model.sent_turn import CHANGES, PIN, Key, SentPart, key_of, library_kind
from ..model.token_estimate import estimate_tokens_of_chars
from ..model.types import Artifact, Policy, Texts
from .library import LIBRARY_KINDS, LibraryIndex

CompactionReason = Literal["budget", "asked", "pays", "summary", "each_turn"]
HORIZON_TURNS: Final = 20
"""A conversation is not expected to go on for longer."""
READ_PRICE: Final = 0.1
"""Of a cached token, in prices of one that is not cached; WRITE_PRICE: of one that the cache takes in."""
WRITE_PRICE: Final = 1.25
REWRITTEN: Final = 1.5 * 1.15
"""What rewriting a prefix costs, with the margin by which a compaction must pay."""


class Kept(NamedTuple):
    """A turn that stands in the prompt."""

    first: MessageId
    last: MessageId
    parts: tuple[SentPart, ...]
    """As they are shown at present; none of a turn that no prompt was made for."""
    rest: int
    """Tokens of its other messages; `rest_short`: with the results of tools left out."""
    rest_short: int
    mentioned: frozenset[str] = frozenset()
    """The notes that the assistant used in it besides those attached (`mentioned`)."""


class Before(NamedTuple):
    """What a compaction is planned for."""

    turns: Sequence[Kept]
    """Oldest first."""
    library: Sequence[LibraryEntry]
    newest: Mapping[Key, Artifact]
    """The newest known version of each note that stands in another one, failed for one that is gone."""
    used: frozenset[Key]
    """What this turn attaches."""
    fixed: int
    """Tokens before the library and the turns: the system prompt, the tools' definitions, the summary."""
    newest_turn: int
    """Tokens of this turn."""
    prompts: int
    """Of the turns."""


class Plan(NamedTuple):
    """What a compaction would do."""

    dropped: int
    """The number of turns that leave."""
    library: tuple["LibraryEntry | _Version", ...]
    """What stays and what comes; `Planner.entries` renders it."""
    left_out: tuple[LeftOut, ...]
    up_to: MessageId | None
    results_up_to: MessageId | None
    size: int
    """Tokens of what stands before this turn afterwards."""


class _Version(NamedTuple):
    """A version that the library does not hold yet."""

    artifact: Artifact
    message: MessageId
    """The turn that showed the thing first."""
    tokens: int
    """An estimate by its size, since planning reads no texts: most plans are not carried out."""

    @property
    def key(self) -> Key:
        return key_of(self.artifact.kind, self.artifact.id, self.artifact.revision)


class Planner:
    """Plans compactions of one transcript."""

    def __init__(self, before: Before, policy: Policy, index: LibraryIndex) -> None:
        self._before = before
        self._policy = policy
        self._index = index
        found: dict[Key, int] = {}
        for at, turn in enumerate(self._before.turns):
            for part in turn.parts:
                if part.revision and part.kind != PIN:
                    found[part.key] = at
            found |= {("note", note): at for note in turn.mentioned}
        self._last_use = found | dict.fromkeys(self._before.used, len(self._before.turns))

    def size(self) -> int:
        """Tokens of what stands before this turn now."""
        turns = sum(turn.rest + sum(part.tokens for part in turn.parts) for turn in self._before.turns)
        return self._before.fixed + sum(entry.tokens for entry in self._before.library) + turns

    # -- what leaves --

    def over_budget(self, limit: int, at_least: int = 0) -> Plan:
        """Turns leave, `at_least` so many, until the rest is small enough; then what the library must lose."""
        policy = self._policy
        most = max(at_least, len(self._before.turns) - policy.keep_turns)
        low, high = at_least, most
        while low < high:
            middle = (low + high) // 2
            if self.plan(middle).size > policy.compact_to * limit:
                low = middle + 1
            else:
                high = middle
        plan = self.plan(low)
        # Without the library's entries used longest ago, until it fits.
        size, leaving = plan.size, set[Key]()
        for entry in sorted(plan.library, key=self._entry_use):
            if size <= round(policy.compact_below * limit):
                break
            if self._entry_use(entry) < len(self._before.turns):
                size -= entry.tokens
                leaving.add(_key(entry))
        library = tuple(entry for entry in plan.library if _key(entry) not in leaving)
        return plan._replace(library=library, size=size)

    def tightest(self) -> Plan:
        """All turns but the last leave, with the library and everything that was attached."""
        last = max(0, len(self._before.turns) - 1)
        plan = self.plan(last)
        left_out = {
            part.left_out_of(turn.first): None
            for turn in self._before.turns[last:]
            for part in turn.parts
            if part.revision and part.form != LEFT_OUT
        }
        return plan._replace(library=(), left_out=tuple(left_out))

    def _entry_use(self, entry: "LibraryEntry | _Version") -> int:
        return self._last_use.get(_key(entry), -1)

    def plan(self, dropped: int, *, all_notes: bool = False) -> Plan:
        """The compaction by which so many turns leave.

        Args:
            dropped: 0: no turn leaves; notes leave turns that stay all the same.
            all_notes: the library takes over every note, whether the turns show its newest version or not; results
                of tools stay.
        """
        turns = self._before.turns[dropped:]
        library = self._library(() if all_notes else self._readable(turns), all_notes=all_notes)
        held = set(map(_key, library))
        begins = {part.key: at for at, turn in enumerate(turns) for part in turn.parts if part.is_whole}
        last = -1 if all_notes else len(turns) - 1
        left_out = list[LeftOut]()
        size = self._before.fixed + sum(entry.tokens for entry in library)
        for at, turn in enumerate(turns):
            size += turn.rest_short if at < last else turn.rest
            for part in turn.parts:
                stays = self._stays(part, at, len(turns) - 1 if not all_notes else at, begins, held)
                size += part.tokens if stays else stand_in(part, in_library=part.key in held).tokens
                if not stays:
                    left_out.append(part.left_out_of(turn.first))
        return Plan(
            dropped,
            library,
            tuple(dict.fromkeys(left_out)),
            self._before.turns[dropped - 1].last if dropped else None,
            turns[last - 1].last if last > 0 else None,
            size,
        )

    def leaving(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """For each thing that leaves although turns used it: how many did, and its tokens."""
        uses = Counter(part.key for turn in self._before.turns for part in turn.parts if part.revision)
        held = set(map(_key, plan.library))
        gone = {(each.message, each.kind, each.id) for each in plan.left_out}
        sizes: dict[Key, int] = {}
        staying = set(held)
        for turn in self._before.turns:
            for part in turn.parts:
                if part.is_whole and part.kind in _TAKEN_OVER:
                    if (turn.first, part.kind, part.id) in gone:
                        sizes[part.key] = part.tokens
                    else:
                        staying.add(part.key)
        yield from ((uses[key], tokens) for key, tokens in sizes.items() if key not in staying)

    def _readable(self, turns: Iterable[Kept]) -> frozenset[Key]:
        """The things whose newest version these turns show whole."""
        last = {
            part.key: part for turn in turns for part in turn.parts if part.revision and part.base != part.revision
        }
        newest = self._before.newest
        return frozenset(
            key
            for key, part in last.items()
            if part.is_whole and (key not in newest or newest[key].revision == part.revision)
        )

    def _stays(self, part: SentPart, at: int, last: int, begins: Mapping[Key, int], held: Collection[Key]) -> bool:
        if part.kind == CHANGES:
            return not part.text
        if part.is_image:
            return at == last
        if not part.revision or part.kind not in _TAKEN_OVER or part.base == part.revision:
            return True
        key = part.key
        return self._is_in_use(key) and key not in held and at >= begins.get(key, at)

    def _is_in_use(self, key: Key) -> bool:
        newest = self._before.newest.get(key)
        last_use = self._last_use.get(key, -1)
        is_recent = last_use >= len(self._before.turns) - self._policy.used_within_turns
        return is_recent and (newest is None or newest.failed is None)

    # -- what the library takes over --

    def entries(self, plan: Plan) -> tuple[LibraryEntry, ...]:
        """The library of a plan.

        Raises:
            NotRecorded: a text is not kept.
        """
        return tuple(
            each if isinstance(each, LibraryEntry) else self._index.entry(each.artifact, each.message)
            for each in plan.library
        )

    def _library(self, readable: Collection[Key], *, all_notes: bool) -> tuple["LibraryEntry | _Version", ...]:
        """An entry for each note in use that the turns do not show; entries that stay as they are come first."""
        staying, found = list[LibraryEntry](), dict[Key, _Version]()
        for key, version in self._versions().items():
            if key in readable or not (all_notes or self._is_in_use(key)):
                continue
            if isinstance(version, LibraryEntry):
                staying.append(version)
            else:
                found.setdefault(version.key, version)
        known = set(map(_key, staying))
        return (*staying, *(version for key, version in found.items() if key not in known))

    def _versions(self) -> dict[Key, LibraryEntry | _Version]:
        """The newest known version of everything that may be in the library, in the order first shown."""
        found: dict[Key, LibraryEntry | _Version] = {
            key_of(entry.kind, entry.id, entry.revision): entry for entry in self._before.library
        }
        for turn in self._before.turns:
            for part in turn.parts:
                if not part.revision or part.kind not in _TAKEN_OVER or part.form == LEFT_OUT:
                    continue
                before = found.get(part.key)
                if before is None or _revision(before) != part.revision:
                    tokens = part.tokens if part.is_whole or before is None else max(part.tokens, before.tokens)
                    first = turn.first if before is None else before.message
                    kind = cast(ArtifactKind, library_kind(part.kind))
                    artifact = Artifact(kind, part.id, part.title or part.id, part.revision, part.mtime)
                    found[part.key] = _Version(artifact, first, tokens)
        for key, newest in self._before.newest.items():
            if key not in found:
                continue
            if newest.failed is not None:
                del found[key]
            elif _revision(found[key]) != newest.revision or newest.id != key[1]:
                tokens = estimate_tokens_of_chars(newest.bytes)
                found[key] = _Version(newest, found[key].message, tokens)
        return found


_TAKEN_OVER: Final = LIBRARY_KINDS | {"active_note"}


def _key(entry: LibraryEntry | _Version) -> Key:
    return entry.key if isinstance(entry, _Version) else key_of(entry.kind, entry.id, entry.revision)


def _revision(version: LibraryEntry | _Version) -> str:
    return version.revision if isinstance(version, LibraryEntry) else version.artifact.revision


def pays(planner: Planner, plan: Plan, before: Before, limit: int) -> bool:
    """Whether the tokens that a compaction saves in the turns to come are worth more than rewriting what follows.

    `limit`: the tokens that a prompt may have; a compaction over budget would save the rest.
    """
    turns, size = len(before.turns), planner.size()
    saved = size - plan.size
    growth = (size - before.fixed) / turns
    if saved <= 0:
        return False
    horizon = min(HORIZON_TURNS, turns, max(0.0, (limit - size - before.newest_turn) / growth))
    again = sum(
        (1 - (1 - uses / turns) ** horizon) * WRITE_PRICE * tokens for uses, tokens in planner.leaving(plan)
    )
    gain = READ_PRICE * saved * horizon * before.prompts / turns
    return bool(gain - again > REWRITTEN * (plan.size - before.fixed))


_PATH: Final = re.compile(r"(?<![^\s\[\](){}<>\"'`|#^*])[^\s\[\](){}<>\"'`|#^*]+\.md\b|\[\[([^\[\]|#^]+)")
"""What may name a note in an answer: a path without blanks, or the target of a wikilink.

A path begins where a word does: tried at each of its characters, a word of 200,000 would take half a minute."""


def mentioned(messages: Iterable[Message], notes: Collection[str], texts: Texts) -> frozenset[str]:
    """Those of `notes` that the assistant's messages of one turn name.

    A call names a note by a string in its arguments: path, path without ending, or wikilink. An answer names one
    by its path or by a wikilink. `notes`: paths.
    """
    by_name = {name: note for note in notes for name in (note, note.removesuffix(".md"))}
    found: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            found.update(by_name[name] for name in _names_in(message, texts) if name in by_name)
    return frozenset(found)


def _names_in(message: Message, texts: Texts) -> Iterator[str]:
    for call in message.tool_calls:
        with suppress(NotRecorded, msgspec.MsgspecError, RecursionError):
            for text in _strings(msgspec.json.decode(texts(call.arguments_sha256))):
                yield text.removeprefix("[[").removesuffix("]]").strip("/")
    with suppress(NotRecorded):
        if message.text_sha256 is not None:
            for match in _PATH.finditer(texts(message.text_sha256)):
                yield match[1] or match[0]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
