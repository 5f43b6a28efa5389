"""Conversations whose messages a test names, and random ones."""

from hypothesis import strategies as st

from support.conversation import ID, ConversationLog
from workspaced_events.ids import MessageId
from workspaced_events.schema import catalogue as c

Call = tuple[str, str]
"""Id and arguments, or result."""


class NamedTalk(ConversationLog):
    """A conversation whose messages a test names."""

    def __init__(self) -> None:
        super().__init__()
        self.start(reserve=1_000)

    # -- messages --

    def say(
        self,
        name: str,
        role: c.Role,
        text: str | None = None,
        *,
        calls: tuple[Call, ...] = (),
        results: tuple[Call, ...] = (),
        thinking: tuple[tuple[str, str | None], ...] = (),
        replaces: bool = False,
    ) -> MessageId:
        return self.add(
            role,
            text,
            name,
            replaces=replaces,
            tool_calls=tuple(c.ToolCall(call, "search", self.keep(given)) for call, given in calls),
            tool_results=tuple(c.ToolResult(call, "search", self.keep(text)) for call, text in results),
            thinking=tuple(c.Thinking(self.keep(thought), signature) for thought, signature in thinking),
        )

    def sent(self, message: MessageId, elided: int = 0) -> None:
        """A prompt was made for the message."""
        name = "0" * 64
        self.tell(
            c.PromptAssembled(
                conversation=ID,
                message=message,
                as_of_seq=self.seq,
                inputs_sha256=name,
                manifest_sha256=name,
                layer_hashes=c.LayerHashes(name, name, name, name, name),
                combined_hash=name,
                prefix_tokens=0,
                estimate=0,
                seed_estimate=0,
                limit=0,
                elided=elided,
            )
        )

    def turn(self, name: str, words: str, result: str | None = None) -> None:
        """A question; a tool's call and what it found; and an answer."""
        self.say(name, "user", f"{name} {words}")
        if result is not None:
            self.say(f"{name}.call", "assistant", None, calls=((f"{name}-1", '{"query": "x"}'),))
            self.say(f"{name}.found", "user", results=((f"{name}-1", result),))
        self.say(f"{name}.answer", "assistant", f"answer to {name} {words}")


_IDS = st.sampled_from(["a", "b", "c"])
_TEXTS = st.sampled_from([None, "", " \t\n", "words", "\u00a0", " more words \n", "漢字 " * 20, "long " * 200])
_BODIES = st.sampled_from(["", "found", "much found " * 60, "漢" * 300])
_CALLS = st.lists(st.tuples(_IDS, _BODIES), max_size=3).map(tuple)
_THINKING = st.lists(st.tuples(st.sampled_from(["", "hm"]), st.sampled_from([None, "", "signed"])), max_size=2)
_ROLES: st.SearchStrategy[c.Role] = st.sampled_from(["user", "assistant"])


@st.composite
def talks(draw: st.DrawFn, most: int = 24) -> NamedTalk:
    """Anything that a runtime might say, in any order, edited and summed up. At least one message."""
    talk = NamedTalk()
    for number in range(draw(st.integers(1, most))):
        ids = list(talk.now.messages)
        what = (
            draw(st.sampled_from(["say"] * 12 + ["replace", "remove", "cut", "sum up", "sent"])) if ids else "say"
        )
        one = draw(st.sampled_from(ids)) if ids else ""
        if what in {"say", "replace"}:
            role, calls, results = draw(_ROLES), draw(_CALLS), draw(_CALLS)
            if draw(st.integers(0, 4)):  # mostly, those who may
                calls, results = (calls if role == "assistant" else ()), (results if role == "user" else ())
            talk.say(
                f"m{number}" if what == "say" else one,
                role,
                draw(_TEXTS),
                calls=calls,
                results=results,
                thinking=tuple(draw(_THINKING)),
                replaces=what == "replace",
            )
        elif what == "sum up":
            talk.summarise("So far: words.", one)
        elif what == "sent":
            talk.sent(MessageId(one), draw(st.integers(0, 2)))
        elif len(ids) > 1 and one != ids[0]:
            talk.remove(one, following=what == "cut")
    return talk
