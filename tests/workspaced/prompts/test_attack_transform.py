"""Attacks on `workspaced/context/transform`: odd frameworks, hostile clients, several at once.

Each of them succeeded once.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import refusal
from support.images import png
from support.transforms import NOTES, TRANSFORM, assistant, call, own_client, spoken, user

Json = dict[str, Any]


@pytest.fixture(scope="module")
def running(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture
def client(running: Any, request: Any) -> Iterator[Any]:
    with own_client(running, request) as client:
        yield client


def image(colour: str) -> str:
    return "data:image/png;base64," + b64encode(png(*{"red": (2, 2), "blue": (3, 3)}[colour])).decode()


def picture(url: str) -> list[Json]:
    return [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]


def is_refused(client: Any, messages: Any, form: str = "openai") -> None:
    """A conversation would not hold all of it: its caller sends the request as it is."""
    before = client.call("workspaced/state")["clock"]
    error = refusal(call, client, messages, form)
    assert (error.code, error.hint) == ("INVALID_ARGUMENT", "Send the request as it is.")
    assert client.call("workspaced/state")["clock"] == before


# -- which conversation goes on --


def test_two_questions_with_the_same_words_and_other_images_are_two_questions(client: Any) -> None:
    call(client, [user(picture(image("red")))])
    made = call(client, [user(picture(image("blue")))])
    assert image("blue") in json.dumps(made["messages"])


def test_an_edit_of_an_earlier_turn_keeps_the_turns_before_it_as_they_were_sent(client: Any) -> None:
    talk = [user("What is Alpha?")]
    first = call(client, talk)
    talk += [assistant("Red."), user("Sure?")]
    call(client, talk)
    talk += [assistant("Yes."), user("Really?")]
    call(client, talk)
    edited = call(client, [*talk[:2], user("Why?")])
    assert spoken(edited)[0] == spoken(first)[0]


def test_two_chats_that_share_a_first_turn_both_keep_it_as_it_was_sent(client: Any) -> None:
    first = call(client, [user("What is Alpha?")])
    call(client, [user("What is Alpha?")])
    one = call(client, [user("What is Alpha?"), assistant("Red."), user("Sure?")])
    two = call(client, [user("What is Alpha?"), assistant("It is red."), user("Sure?")])
    assert spoken(one)[0] == spoken(first)[0]
    assert spoken(two)[0] == spoken(first)[0]


def test_two_chats_with_the_same_answer_do_not_take_each_others_last_turn(client: Any) -> None:
    shared = [user("What is Alpha?"), assistant("Red.")]
    call(client, shared[:1])
    beta: Json = {"attachments": [{"kind": "note", "id": "b.md"}]}
    one = call(client, [*shared, user("And Beta?")], **beta)
    call(client, [*shared, user("And Gamma?")])
    later = call(client, [*shared, user("And Beta?"), assistant("Blue."), user("Sure?")])
    assert spoken(later)[: len(spoken(one))] == spoken(one)


def test_the_first_request_sent_twice_at_once_is_one_conversation(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    with running.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    wires = [running.wire() for _ in range(8)]
    for wire in wires:
        wire.ask("workspaced/hello", {"client": {"name": "framework", "version": "1", "pid": 1}})
    for wire in wires:
        wire.request(TRANSFORM, {"form": "openai", "messages": [user("What is Alpha?")]})
    first = [wire.line() for wire in wires]
    talk = [user("What is Alpha?"), assistant("Red."), user("Sure?")]
    second = wires[0].ask(TRANSFORM, {"form": "openai", "messages": talk})
    assert spoken(second["result"])[0] == spoken(first[0]["result"])[0]


def test_requests_at_once_that_share_examples_each_get_their_own_question(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    wires = [running.wire() for _ in range(8)]
    for wire in wires:
        wire.ask("workspaced/hello", {"client": {"name": "framework", "version": "1", "pid": 1}})
    examples = [user("Two and two?"), assistant("Four.")]
    wires[0].ask(TRANSFORM, {"form": "openai", "messages": examples[:1]})
    for number, wire in enumerate(wires):
        wire.request(TRANSFORM, {"form": "openai", "messages": [*examples, user(f"Question {number}?")]})
    answers = [wire.line() for wire in wires]
    asked = [spoken(each["result"])[-1] if "result" in each else each["error"]["message"] for each in answers]
    assert asked == [f"Question {number}?" for number in range(len(wires))]


def test_agents_that_ask_the_same_at_once_each_get_their_own_system_prompt(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    wires = [running.wire() for _ in range(8)]
    for wire in wires:
        wire.ask("workspaced/hello", {"client": {"name": "framework", "version": "1", "pid": 1}})
    request = {"form": "anthropic", "messages": [user("Go.")]}
    wires[0].ask(TRANSFORM, {**request, "system": "Agent 0."})
    for number, wire in enumerate(wires):
        wire.request(TRANSFORM, {**request, "system": f"Agent {number}."})
    answers = [wire.line() for wire in wires]
    systems = [each["result"]["system"][0]["text"] for each in answers]
    assert systems == [f"Agent {number}." for number in range(len(wires))]


def test_agents_that_ask_the_same_in_turn_both_keep_their_context(client: Any) -> None:
    def ask(agent: str, *talk: Json) -> Json:
        return call(client, [user("What is Alpha?"), *talk], "anthropic", system=agent)

    first = [ask(agent) for agent in ("Plan.", "Criticise.")]
    second = [ask(agent, assistant(agent), user("Go on.")) for agent in ("Plan.", "Criticise.")]
    assert [spoken(each)[0] for each in second] == [spoken(each)[0] for each in first]


@pytest.mark.parametrize("looks", [True, False])
def test_white_text_that_we_trim_does_not_part_a_framework_that_keeps_it_from_its_conversation(
    client: Any, looks: bool
) -> None:
    if not looks:
        client.publish([{"type": "active_note_cleared", "data": {}}])
    one = call(client, [user("What is Alpha? ")])
    two = call(client, [*one["messages"], assistant("Red.\n"), user("Sure? ")])
    three = call(client, [*two["messages"], assistant("Yes.\n"), user("Why?")])
    assert one["session"] == two["session"] == three["session"]
    assert "".join(spoken(three)).count("Alpha is red.") == int(looks)


def test_a_framework_that_trims_answers_later_keeps_its_context(client: Any) -> None:
    first = call(client, [user("What is Alpha?")])
    call(client, [user("What is Alpha?"), assistant("Red.\n"), user("Sure?")])
    talk = [user("What is Alpha?"), assistant("Red."), user("Sure?"), assistant("Yes."), user("Why?")]
    assert spoken(call(client, talk))[0] == spoken(first)[0]


def test_a_framework_that_keeps_what_it_got_goes_on_after_a_fold(client: Any) -> None:
    window: Json = {"contextWindow": 1_500, "outputReserve": 100}
    talk: list[Json] = []
    sessions = set()
    for number in range(12):
        talk.append(user(f"Question {number}?" + " More words." * 40))
        made = call(client, talk, **window)
        sessions.add(made["session"])
        talk[-1] = made["messages"][-1]
        talk.append(assistant(f"Answer {number}." + " Long words." * 40))
    folds = client.call("workspaced/log", {"types": ["context_folded"], "limit": 1_000})["events"]
    assert any(each["data"]["conversation"] in sessions for each in folds)
    assert len(sessions) == 1


def test_a_note_that_changed_before_a_retry_does_not_part_a_framework_from_its_conversation(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    with running.connect("framework") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        one = call(client, [user("What is Alpha?")])
        running.add({"a.md": "# A\n\nAlpha is green now.\n"})
        call(client, [user("What is Alpha?")])  # the answer never came to the framework
        two = call(client, [*one["messages"], assistant("Red."), user("Sure?")])
    assert two["session"] == one["session"]


@pytest.mark.thorough
def test_many_requests_of_one_turn_end_no_other_conversation(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    with running.connect("runtime") as runtime, running.connect("framework") as framework:
        settings = {"provider": "openai", "model": "m", "contextWindow": 9_000, "outputReserve": 100}
        talk = runtime.call("workspaced/context/start", settings)["conversation"]
        for number in range(201):
            call(framework, [user(f"Question {number}?")])
        said = {"conversation": talk, "messages": [{"role": "user", "text": "Still there?"}]}
        assert runtime.call("workspaced/context/message", said)["messages"]


def test_a_long_word_does_not_stop_the_daemon(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    with running.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    talk = [user("Encode it."), assistant("x" * 100_000), user("Thanks.")]
    with running.connect("framework") as client:
        assert len(call(client, talk)["messages"]) == 3


def test_a_framework_that_keeps_what_it_got_and_edits_is_not_told_twice(client: Any) -> None:
    talk = [user("What is Alpha?")]
    for answer, then in (("Red.", "Sure?"), ("Yes.", "Really?")):
        talk = [*call(client, talk)["messages"], assistant(answer), user(then)]
    call(client, talk)
    made = call(client, [*talk[:2], user("Why?")])
    assert "".join(spoken(made)).count("Alpha is red.") == 1


def test_a_framework_that_keeps_two_messages_merged_is_not_told_twice(client: Any) -> None:
    made = call(client, [user("What is Alpha?")])
    made = call(client, [*made["messages"], user("Quickly, please.")])
    made = call(client, [*made["messages"], assistant("Red."), user("Sure?")])
    assert "".join(spoken(made)).count("Alpha is red.") == 1


def test_a_framework_that_drops_an_empty_answer_keeps_its_context(client: Any) -> None:
    first = call(client, [user("What is Alpha?")])
    call(client, [user("What is Alpha?"), assistant(""), user("Well?")])
    call(client, [user("What is Alpha?"), assistant(""), user("Well?"), assistant("Red."), user("Sure?")])
    last = [user("What is Alpha?"), user("Well?"), assistant("Red."), user("Sure?")]
    assert spoken(first)[0] in "".join(spoken(call(client, last)))


# -- what is attached --


def test_a_small_context_window_needs_no_reserve_beside_it(client: Any) -> None:
    assert call(client, [user("What is Alpha?")], contextWindow=4_096)["messages"]


def test_the_same_request_with_another_attachment_shows_it(client: Any) -> None:
    call(client, [user("What is Beta?")])
    made = call(client, [user("What is Beta?")], attachments=[{"kind": "note", "id": "b.md"}])
    assert "Beta is blue." in spoken(made)[-1]


def test_a_refused_attachment_leaves_nothing_behind(client: Any) -> None:
    before = client.call("workspaced/state")["clock"]
    error = refusal(call, client, [user("Hello?")], attachments=[{"kind": "note"}])
    assert error.code == "INVALID_ARGUMENT"
    assert client.call("workspaced/state")["clock"] == before


def test_a_refused_append_leaves_what_the_base_names(client: Any) -> None:
    one = call(client, [user("Hi.")], "anthropic")
    named = {"form": "anthropic", "session": one["session"], "base": one["base"]}
    many = [each for at in range(150) for each in (assistant(f"A{at}"), user(f"Q{at}"))]
    source = {"type": "base64", "media_type": "image/png", "data": image("red").partition(",")[2]}
    result = {"type": "tool_result", "tool_use_id": "x", "content": "y"}
    bad = user([result, {"type": "image", "source": source}])
    error = refusal(client.call, TRANSFORM, {**named, "append": [*many, bad]})
    assert error.code == "INVALID_ARGUMENT"
    assert client.call(TRANSFORM, {**named, "append": [assistant("Hello."), user("Well?")]})["messages"]


# -- nothing is left out without a word --


def test_calls_of_one_answer_with_the_same_id_are_refused(client: Any) -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": f'{{"at": {at}}}'}}
        for at in (1, 2)
    ]
    results = [{"role": "tool", "tool_call_id": "c1", "content": f"Found {at}."} for at in (1, 2)]
    is_refused(client, [user("Look."), assistant(None, tool_calls=calls), *results])


def test_a_system_message_among_those_of_anthropic_is_not_left_out_without_a_word(client: Any) -> None:
    is_refused(client, [{"role": "system", "content": "Answer in French."}, user("Hi.")], "anthropic")


def test_the_detail_of_an_image_is_not_left_out_without_a_word(client: Any) -> None:
    shown = {"url": image("red"), "detail": "low"}
    is_refused(client, [user([{"type": "image_url", "image_url": shown}])])


def test_a_tool_that_would_be_renamed_in_the_messages_is_refused(client: Any) -> None:
    used = {"id": "c1", "type": "function", "function": {"name": "files.read", "arguments": "{}"}}
    talk = [
        user("Read."),
        assistant(None, tool_calls=[used]),
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    is_refused(client, talk)


def test_a_system_message_among_the_others_is_not_left_out_without_a_word(client: Any) -> None:
    talk = [user("Hi."), assistant("Hello."), {"role": "system", "content": "Answer in French."}, user("Go on.")]
    is_refused(client, talk)


def test_a_result_without_its_call_is_not_left_out_without_a_word(client: Any) -> None:
    talk = [user("Look."), {"role": "tool", "tool_call_id": "x", "content": "Found it."}, user("Well?")]
    is_refused(client, talk)


def test_a_call_without_its_result_is_not_left_out_without_a_word(client: Any) -> None:
    one = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    is_refused(client, [user("Look."), assistant("I look.", tool_calls=[one]), user("Well?")])
    is_refused(client, [user("Look."), assistant("I look.", tool_calls=[one])])


def test_what_is_appended_without_a_base_is_refused(client: Any) -> None:
    params = {"form": "openai", "messages": [user("Hi.")], "append": [user("And this?")]}
    assert refusal(client.call, TRANSFORM, params).code == "INVALID_ARGUMENT"


def test_a_system_prompt_beside_messages_of_openai_is_not_left_out(client: Any) -> None:
    params = {"form": "openai", "messages": [user("Hi.")], "system": "Be brief."}
    try:
        made = client.call(TRANSFORM, params)
    except Exception as error:
        assert getattr(error, "code", "") == "INVALID_ARGUMENT"
    else:
        assert "Be brief." in "".join(spoken(made)) or made["changes"]


def test_a_new_system_prompt_given_with_a_base_is_the_one_that_is_sent(client: Any) -> None:
    one = call(client, [user("Hi.")], "anthropic", system="It is one o'clock.")
    named = {"form": "anthropic", "session": one["session"], "base": one["base"], "system": "It is two o'clock."}
    two = client.call(TRANSFORM, {**named, "append": [assistant("Hello."), user("The time?")]})
    assert two["system"][0]["text"] == "It is two o'clock."


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("part", [{"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": 5}])
def test_a_text_that_is_none_is_refused(client: Any, form: str, part: Json) -> None:
    assert refusal(call, client, [user([part])], form).code == "INVALID_ARGUMENT"


def test_calls_that_are_no_list_are_refused(daemon: Any) -> None:
    with daemon(notes=NOTES).connect("framework") as client:
        talk = [user("Hi."), assistant(None, tool_calls=5), user("Well?")]
        assert refusal(call, client, talk).code == "INVALID_ARGUMENT"


def test_blocks_of_an_answer_in_an_order_that_is_not_held_are_refused(client: Any) -> None:
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "One.", "signature": "c2ln"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
        {"type": "thinking", "thinking": "Two.", "signature": "c2ln"},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
    ]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("t1", "t2")]
    is_refused(client, [user("Look."), assistant(blocks), user(results)], "anthropic")
