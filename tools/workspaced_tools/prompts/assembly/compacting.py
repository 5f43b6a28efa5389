"""Decides whether a prompt of a transcript needs a compaction, and makes the event of its plan (compaction.py)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from workspaced_events.projections.conversations import Conversation, compacted, library_of, turn_of
from workspaced_events.schema.catalogue import ContextFolded, ContextNearLimit, LibraryEntry

from ...ports.manifest import LayerId
from ..model import blocks as b
from ..model.sent_so_far import SentSoFar
from ..model.sent_turn import SentPart, key_of
from ..model.token_estimate import estimate_tokens, message_seed
from ..model.turn_window import begins, summed_up, turns_in, window_of
from ..model.types import Texts, Turn
from .compaction import Before, CompactionReason, Kept, Plan, Planner, mentioned, pays
from .history import Past, short_results
from .layers import LayerBuilder
from .library import LibraryIndex

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
        self, conversation: Conversation, turn: Turn, tool_seed: int, index: LibraryIndex, texts: Texts
    ) -> None:
        """
        Args:
            conversation: before any compaction.
            tool_seed: tokens of the tools' definitions, before calibration.
        """
        self.before, self.turn, self.index, self.texts = conversation, turn, index, texts
        self.tool_seed = tool_seed
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
        attached = {
            key_of(each.kind, each.id, each.revision): each for each in self.turn.artifacts if not each.failed
        }
        pinned = (("note", pin.path) for pin in self.before.pins.values() if pin.path is not None)
        present = {("note", each.id): each.artifact for each in self.turn.present if each.is_kept}
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
            newest=attached | present,
            used=frozenset([*attached, *pinned]),
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
