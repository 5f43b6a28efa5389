"""A second attack on `workspaced/context/transform`: each of these succeeded."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import refusal
from support.images import png
from support.provider_bodies import of_body
from support.transforms import NOTES, assistant, call, look_at, own_client, spoken, user

Json = dict[str, Any]
PIXEL = b64encode(png()).decode()
URI = f"data:image/png;base64,{PIXEL}"


@pytest.fixture(scope="module")
def running(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture
def client(running: Any, request: Any) -> Iterator[Any]:
    with own_client(running, request) as client:
        yield client


def called(*ids: str, **more: Any) -> Json:
    """An answer that calls a tool, once for each id."""
    function = {"name": "look", "arguments": '{"q": "x"}'}
    return assistant(
        None, tool_calls=[{"id": each, "type": "function", "function": function, **more} for each in ids]
    )


def result(call_id: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


# -- words and images of the user --


def test_an_edit_of_two_merged_messages_is_sent(client: Any) -> None:
    made = call(client, [user("What is Alpha?"), user("Be quick.")])
    kept = made["messages"][-1]
    edited = user(kept["content"].replace("What is Alpha?", "What is Alpha? I mean the letter."))
    assert "I mean the letter." in spoken(call(client, [edited]))[-1]


def test_an_image_that_is_added_to_a_message_that_was_kept_is_sent(client: Any) -> None:
    made = call(client, [user("What is Alpha?")])
    kept = made["messages"][-1]["content"]
    edited = user([{"type": "text", "text": kept}, {"type": "image_url", "image_url": {"url": URI}}])
    assert URI in json.dumps(call(client, [edited])["messages"])


def test_words_before_a_quoted_prompt_are_sent(client: Any) -> None:
    call(client, [user("What is Alpha?")])
    made = call(client, [user("Explain this prompt.\n\n---\n\n[User query]:\n\nWhat is Alpha?")])
    assert "Explain this prompt." in spoken(made)[-1]


def test_a_question_that_quotes_a_prompt_stays_whole_where_a_framework_keeps_it(client: Any) -> None:
    one = call(client, [user("Explain this prompt.\n\n---\n\n[User query]:\n\nGo.")])
    two = call(client, [*one["messages"], assistant("Well."), user("Sure?")])
    assert two["session"] == one["session"]
    assert spoken(two)[0] == spoken(one)[0]


# -- tools --


def test_calls_that_are_made_again_with_new_ids_have_their_results(client: Any) -> None:
    ask = user("Look.")
    call(client, [ask])
    call(client, [ask, called("c1"), result("c1", "Found one.")])
    made = call(client, [ask, called("c2"), result("c2", "Found two.")])
    read = of_body("openai", made)
    assert [part.text for each in read.messages for part in each.parts if part.kind == "result"] == ["Found two."]


def test_one_of_two_results_may_change_where_ids_are_new(client: Any) -> None:
    ask = user("Look.")
    call(client, [ask, called("c1", "c2"), result("c1", "Found one."), result("c2", "Found two.")])
    made = call(client, [ask, called("d1", "d2"), result("d1", "Found one."), result("d2", "Found three.")])
    read = of_body("openai", made)
    results = [part.text for each in read.messages for part in each.parts if part.kind == "result"]
    assert results == ["Found one.", "Found three."]


def test_a_field_of_a_call_is_not_left_out_without_a_word(client: Any) -> None:
    more = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    talk = [user("Look."), called("c1", **more), result("c1", "Found.")]
    assert refusal(call, client, talk).code == "INVALID_ARGUMENT"


def test_a_mark_for_the_cache_in_chat_completions_is_not_left_out_without_a_word(client: Any) -> None:
    part = {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}
    assert refusal(call, client, [user([part])]).code == "INVALID_ARGUMENT"


def test_images_in_a_result_of_gemini_are_not_left_out_without_a_word(client: Any) -> None:
    data = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    talk = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {"output": "x"}, "parts": [data]}}],
        },
    ]
    assert refusal(call, client, talk, "gemini").code == "INVALID_ARGUMENT"


def test_a_call_of_gemini_without_a_name_is_refused(client: Any) -> None:
    talk = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": "x"}}}]},
    ]
    assert refusal(call, client, talk, "gemini").code == "INVALID_ARGUMENT"


# -- which conversation goes on --


def test_two_chats_that_keep_what_they_got_and_began_alike_both_keep_their_context(client: Any) -> None:
    one = call(client, [user("Summarise this.")])
    look_at(client, "b.md")
    call(client, [user("Summarise this.")])
    made = call(client, [*one["messages"], assistant("It is about Alpha."), user("Sure?")])
    assert spoken(made)[0] == spoken(one)[0]


def test_an_edit_is_not_made_in_a_newer_chat_that_began_alike(client: Any) -> None:
    first = call(client, [user("Summarise this.")])
    talk = [user("Summarise this."), assistant("Alpha is red.")]
    call(client, [*talk, user("Sure?")])
    look_at(client, "b.md")
    call(client, [user("Summarise this.")])
    edited = call(client, [*talk, user("Why?")])
    assert spoken(edited)[0] == spoken(first)[0]


# -- settings --


def test_a_framework_that_keeps_its_system_prompt_with_our_library_is_known_after_a_restart(daemon: Any) -> None:
    running = daemon(notes={name: text + "More words. " * 30 for name, text in NOTES.items()})
    window: Json = {"contextWindow": 1_800, "outputReserve": 100}
    talk: list[Json] = [{"role": "system", "content": "You help."}]

    def ask(client: Any, number: int) -> Json:
        nonlocal talk
        made = call(client, [*talk, user(f"Question {number}?" + " More words." * 40)], **window)
        talk = [*made["messages"], assistant(f"Answer {number}." + " Long words." * 40)]
        return made

    number = 0
    with running.connect("framework") as client:
        look_at(client, "a.md")
        while "Context Library" not in talk[0]["content"]:
            number += 1
            assert number < 30
            ask(client, number)
    running.kill()
    running.start()
    with running.connect("framework") as client:
        made = ask(client, number + 1)
        assert made["messages"][0]["content"].count("## Context Library") == 1


def test_a_provider_that_the_request_does_not_name_stays(client: Any) -> None:
    settings = {"provider": "mistral", "model": "m", "contextWindow": 9_000, "outputReserve": 100}
    talk = client.call("workspaced/context/start", settings)["conversation"]
    call(client, [user("Hi.")], session=talk)
    events = client.call("workspaced/log", {"types": ["conversation_started"], "limit": 1_000})["events"]
    assert [each["data"]["provider"] for each in events if each["data"]["conversation"] == talk][-1] == "mistral"


def test_a_session_that_was_begun_with_a_system_prompt_keeps_it_where_the_request_has_none(client: Any) -> None:
    settings = {"provider": "openai", "model": "m", "contextWindow": 9_000, "outputReserve": 100}
    more = {"system": "Be brief.", "memory": "The user likes tea.", "skills": [{"name": "s", "description": "d"}]}
    talk = client.call("workspaced/context/start", {**settings, **more})["conversation"]
    made = call(client, [user("Hi.")], "anthropic", session=talk)
    system = made["system"][0]["text"]
    assert "likes tea" in system and "- s: d" in system and "Be brief." in system


# -- more of these --


def test_an_edit_is_not_made_in_an_abandoned_regeneration_of_the_first_answer(client: Any) -> None:
    call(client, [user("What is it?")])
    look_at(client, "b.md")
    again = call(client, [user("What is it?")])  # regenerated: over another note a branch
    talk = [user("What is it?"), assistant("Blue.")]
    call(client, [*talk, user("Sure?")])
    edited = call(client, [*talk, user("Why?")])
    assert spoken(edited)[0] == spoken(again)[0]


def test_two_merged_messages_stay_whole_where_they_are_sent_again_over_another_note(client: Any) -> None:
    made = call(client, [user("What is Alpha?"), user("Be quick.")])
    look_at(client, "b.md")
    again = spoken(call(client, made["messages"]))[-1]
    assert "What is Alpha?" in again and again.endswith("Be quick.")


def test_an_edit_of_the_second_of_two_merged_messages_keeps_the_first(client: Any) -> None:
    made = call(client, [user("What is Alpha?"), user("Be quick.")])
    edited = user(made["messages"][-1]["content"].replace("Be quick.", "Take your time."))
    again = spoken(call(client, [edited]))[-1]
    assert "What is Alpha?" in again and again.endswith("Take your time.")


def test_a_chat_with_an_image_among_its_attachments_goes_on(client: Any) -> None:
    image = {"kind": "image", "id": "p.png", "text": URI}
    one = call(client, [user("What is this?")], attachments=[image])
    assert URI in json.dumps(one["messages"])
    two = call(client, [user("What is this?"), assistant("A dot."), user("Sure?")])
    assert two["session"] == one["session"] and two["messages"][:1] == one["messages"]


def test_a_bundle_that_begins_with_a_branch_holds_the_texts_of_its_origin(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    with running.connect("framework") as client:
        look_at(client, "a.md")
        talk = [user("What is Alpha?"), assistant("Red."), user("Sure?")]
        call(client, talk[:1])
        call(client, talk)
        call(client, [*talk[:2], user("Why?")])
        [branched] = client.call("workspaced/log", {"types": ["conversation_branched"], "limit": 10})["events"]
    out = running.root / "chat.wsb"
    assert running.cli("bundle", "-o", str(out), "--from", str(branched["seq"])).returncode == 0
    done = running.cli("replay", "--verify", str(out))
    assert done.returncode == 0, done.stdout
