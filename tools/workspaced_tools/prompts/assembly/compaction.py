"""Decides whether a prompt of a transcript needs a compaction, and plans it: what leaves, what the library gets.

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
from workspaced_events.projections.conversations import Conversation, Message, compacted, library_of, turn_of
from workspaced_events.schema.catalogue import ArtifactKind, ContextFolded, ContextNearLimit, LeftOut, LibraryEntry

from ...errors import NotRecorded
from ...ports.manifest import LayerId
from ..model import blocks as b
from ..model.sent_so_far import LEFT_OUT, SentSoFar, stand_in
from ..model.sent_turn import CHANGES, PIN, Key, SentPart, key_of, library_kind
from ..model.token_estimate import estimate_tokens, estimate_tokens_of_chars, message_seed
from ..model.turn_window import begins, summed_up, turns_in, window_of
from ..model.types import Artifact, Policy, Texts, Turn
from .history import Past, short_results
from .layers import LayerBuilder
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


NEAR_LIMIT: Final = 0.8
"""From this share of the limit on, a prompt warns of the next compaction."""
PAYS_EVERY: Final = 4
"""Turns between two looks whether a compaction pays: planning one takes as long as assembling a prompt."""


class Rendered(NamedTuple):
    """The prompt of one state of the conversation."""

    conversation: Conversation
    sent_so_far: SentSoFar
    past: Past
    rest: Past
    parts: tuple[SentPart, ...]
    """Of this turn's message."""
    builders: dict[LayerId, LayerBuilder]
    estimate: int
    shortened: int
    """The parts of the history that were shortened or left out to fit; a transcript is compacted instead."""


class Compacting:
    """The compactions of one prompt."""

    def __init__(
        self,
        conversation: Conversation,
        turn: Turn,
        artifacts: Sequence[Artifact],
        tool_seed: int,
        index: LibraryIndex,
        texts: Texts,
    ) -> None:
        """
        Args:
            conversation: before any compaction.
            tool_seed: tokens of the tools' definitions, before calibration.
        """
        self.before, self.turn, self.index, self.texts = conversation, turn, index, texts
        self.artifacts, self.tool_seed = artifacts, tool_seed
        self.start = turn_of(conversation, turn.message)
        self.is_first = turn.message == self.start and self.start not in conversation.turns
        """Whether it is the turn's first prompt: the others keep its bytes, as far as they fit."""
        settings = conversation.settings
        self.limit = settings.context_window - settings.output_reserve

    def compactions(self, made: Rendered) -> Iterator[ContextFolded]:
        """The compactions to try one after the other, until the prompt fits; none if nothing has to change."""
        policy, limit = self.turn.policy, round(self.limit / self.turn.factor)
        must = self.turn.rebase or (policy.each_turn and self.is_first) or made.estimate > self.limit
        # Whether one pays is looked at every PAYS_EVERY turns.
        at_times = self.is_first and len(made.sent_so_far.turns) % PAYS_EVERY == 0
        if not (must or made.past.summary is not None or at_times):
            yield from self._without_replaced()
            return
        before = self._before_compaction(made)
        planner = Planner(before, policy, self.index)
        reason: CompactionReason = "summary"
        at_least, plan = self._summed_up(before), None
        if at_least:
            plan = planner.plan(at_least)
        elif self.turn.rebase:
            reason, plan = "asked", planner.plan(0)
        elif made.estimate > self.limit:
            reason, plan = "budget", planner.over_budget(limit)
        elif policy.each_turn and self.is_first:
            reason, plan = "each_turn", planner.plan(0, all_notes=True)
        elif self.is_first and before.turns and len(before.turns) % PAYS_EVERY == 0:
            in_place = planner.plan(0)
            if pays(planner, in_place, before, limit):
                reason, plan = "pays", in_place
        if plan is None:
            yield from self._without_replaced()
            return
        first = list(self._compaction(plan, reason, planner))
        yield from first
        if not first and made.estimate <= self.limit:
            return
        yield from self._compaction(planner.over_budget(limit, at_least), "budget", planner)
        tightest = planner.tightest()
        # Of this turn, the results before its last rounds, which stay whole.
        old = [each.id for each in made.rest.messages if each.role == "user"][: -policy.keep_rounds]
        tightest = tightest._replace(results_up_to=next(reversed(old), None) or tightest.results_up_to)
        yield from self._compaction(tightest, "budget", planner)

    def _without_replaced(self) -> Iterator[ContextFolded]:
        """Records that the library lost what its first message brought, where that was replaced and is the last.

        Otherwise the next prompt would begin with a library that this one does not have.
        """
        kept = library_of(self.before, self.start)
        if self._is_last and kept != self.before.library:
            yield ContextFolded(conversation=self.before.id, reason="edited", library=kept)

    @property
    def _is_last(self) -> bool:
        """Whether no turn follows."""
        return self.turn.message == next(reversed(self.before.messages))

    def _summed_up(self, before: Before) -> int:
        """How many turns leave because a summary stands for them."""
        names = list(self.before.messages)
        covered = summed_up(self.before, self.turn.message)
        return sum(names.index(turn.last) < covered for turn in before.turns)

    def _compaction(self, plan: Plan, reason: CompactionReason, planner: Planner) -> Iterator[ContextFolded]:
        """The event of a plan; none if it changes nothing. What later turns brought into the library stays."""
        compaction = ContextFolded(
            conversation=self.before.id,
            reason=reason,
            library=(*planner.entries(plan), *self._of_later_turns()),
            up_to=plan.up_to,
            left_out=plan.left_out,
            results_up_to=plan.results_up_to,
            saved=max(0, planner.size() - plan.size),
        )
        if compacted(self.before, compaction) != self.before:
            yield compaction

    def _of_later_turns(self) -> Iterator[LibraryEntry]:
        """The library's entries that this prompt has not got, but prompts of later turns have."""
        if self._is_last:
            return
        earlier = library_of(self.before, self.start)
        yield from (entry for entry in self.before.library if entry not in earlier)

    def _before_compaction(self, made: Rendered) -> Before:
        used = [key_of(each.kind, each.id, each.revision) for each in self.artifacts if each.failed is None]
        used += [("note", pin.path) for pin in self.before.pins.values() if pin.path is not None]
        newest = {key_of(each.kind, each.id, each.revision): each for each in self.artifacts if not each.failed}
        newest |= {("note", present.id): present.artifact for present in self.turn.present if present.is_kept}
        turns = list(self._turns(made))
        builders = made.builders
        summary = (
            estimate_tokens(b.summary_block(made.past.summary, fence=self.turn.fence))
            if made.past.summary is not None
            else 0
        )
        frame = estimate_tokens(b.LIBRARY_FRAME)
        return Before(
            turns=turns,
            library=library_of(made.conversation, self.start),
            newest=newest,
            used=frozenset(used),
            fixed=builders["L1_SYSTEM"].seed + self.tool_seed + summary + frame,
            newest_turn=builders["L3_TURN"].seed + builders["L5_USER"].seed,
            prompts=sum(each.role == "user" for each in made.past.messages),
        )

    def _turns(self, made: Rendered) -> Iterator[Kept]:
        """The turns before this one that the prompt shows."""
        shown = {each.id: each for each in made.past.messages if each.id is not None}
        window = window_of(made.conversation, self.turn.message, self.turn.policy)
        turns = [[each.id for each in messages] for messages in turns_in(window.messages)]
        policy = self.turn.policy
        recent = len(turns) - policy.used_within_turns
        notes = {key[1] for key in made.sent_so_far.shown if key[0] == "note"}
        for at, names in enumerate(turns):
            parts = made.sent_so_far.turns.get(names[0], ())
            messages = [self.before.messages[name] for name in names]
            used = mentioned(messages, notes, self.texts) if at >= recent else frozenset[str]()
            own = names[0] if parts and begins(self.before.messages[names[0]]) else None
            rest = [shown[name] for name in names if name in shown and name != own]
            short = sum(map(message_seed, map(short_results, rest)))
            yield Kept(names[0], names[-1], parts, sum(map(message_seed, rest)), short, used)

    def near_limit(self, made: Rendered) -> tuple[str | None, ContextNearLimit | None]:
        """What the next compaction would take, where the prompt has most of its limit: a warning and an event.

        No event where no summary helps, or one was asked for and the turns that it is of are still there.
        """
        if made.estimate < NEAR_LIMIT * self.limit:
            return None, None
        before = self._before_compaction(made)
        planner = Planner(before, self.turn.policy, self.index)
        plan = planner.over_budget(round(self.limit / self.turn.factor))
        leaving = f"{plan.dropped} turns up to {plan.up_to!r}" if plan.dropped else "no turn"
        warning = (
            f"nearLimit: about {made.estimate} of {self.limit} tokens. The next fold leaves out {leaving} of "
            f"{len(before.turns)}, and keeps {len(plan.library)} notes in the library."
        )
        if plan.up_to is None or made.conversation.near_limit in {turn.last for turn in before.turns}:
            return warning, None
        event = ContextNearLimit(
            conversation=self.before.id,
            message=self.turn.message,
            estimate=made.estimate,
            limit=self.limit,
            up_to=plan.up_to,
        )
        return warning, event


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
