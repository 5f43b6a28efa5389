"""A framework's messages come back as its own: with context, without what was folded, with nothing lost."""

from collections.abc import Mapping, Sequence
from typing import Any

from workspaced.adapters.chat import Pair, Placed, answer, placed, result

Json = dict[str, Any]
CALL = ("c1", "look", '{"at":1}')


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def place(given: Sequence[Pair[Any]], *made: Json, system: str = "") -> Placed[Any]:
    """What comes of the messages if the daemon makes these of them."""

    def transform(form: str, messages: Sequence[Json], _system: Any = None) -> Mapping[str, Any]:
        return {"messages": made}

    return placed(transform, system, given, lambda each, own: ("built", own, each))


def test_what_came_back_as_it_was_is_the_frameworks_own() -> None:
    told = [user("a"), answer("", [CALL]), result("c1", "found"), answer("b", [])]
    given = [Pair(object(), each) for each in told]
    made = place(given, *(dict(each) for each in told if each is not None))
    assert made.messages == [each.own for each in given]


def test_a_question_with_context_is_built_of_its_own() -> None:
    given = [Pair("own", user(" a "))]
    assert place(given, user("note\n\na")).messages == [("built", "own", user("note\n\na"))]


def test_what_is_not_told_stays_between_its_neighbours() -> None:
    given = [Pair("q", user("a")), Pair("untold", None), Pair("a", answer("b", [])), Pair("end", None)]
    made = place(given, user("x a"), {"role": "assistant", "content": "b"})
    assert made.messages == [("built", "q", user("x a")), "untold", "a", "end"]


def test_turns_that_were_folded_are_gone_and_what_took_over_is_said() -> None:
    given = [
        Pair("1", user("a")),
        Pair("2", answer("b", [])),
        Pair("3", user("c")),
        Pair("4", answer("d", [])),
    ]
    system = {"role": "system", "content": "Help.\n\nLibrary"}
    made = place(given, system, user("c"), {"role": "assistant", "content": "d"}, system=" Help. ")
    assert made == Placed("Library", ["3", "4"])


def test_a_shortened_result_has_the_id_of_the_frameworks_call() -> None:
    given = [Pair("q", user("a")), Pair("calls", answer("", [CALL])), Pair("result", result("c1", "long"))]
    calls = answer("", [("other", *CALL[1:])])
    assert calls is not None
    made = place(given, user("a"), calls, result("other", "[elided]"))
    assert made.messages == ["q", "calls", ("built", "result", result("c1", "[elided]"))]


def test_arguments_that_are_no_json_are_compared_as_they_are() -> None:
    told = answer("", [("c1", "look", "{at: 1")])
    assert told is not None
    assert place([Pair("calls", told)], dict(told)).messages == ["calls"]
