"""The object that templates are rendered over: what all providers demand, what one of them would refuse; and
the tools it names."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings as runs
from hypothesis import strategies as st
from msgspec.structs import replace
from support import golden_bodies as write
from support.profiles import examples

from workspaced_tools.prompts.model.types import Envelope
from workspaced_tools.prompts.providers.known import SHAPES
from workspaced_tools.prompts.providers.openai import OPENAI
from workspaced_tools.prompts.providers.provider import OWN, Definition, Part, Request
from workspaced_tools.prompts.providers.request import OUTPUT_TOKENS, request_of
from workspaced_tools.prompts.providers.request import marked as with_marks
from workspaced_tools.prompts.providers.tool_definitions import DEPTH_MAX, SATISFY, Definitions, definitions_of

Chat = write.Chat

FAMILIES = ("openai", "anthropic", "gemini", None)


def asked(
    chat: Any, envelope: Envelope, family: str | None = "anthropic", cached: str | None = None
) -> tuple[Request, tuple[str, ...]]:
    provider = SHAPES.get(family or "", OWN)
    return request_of(envelope, chat.now.settings, provider, chat.texts, chat.images.get, cached)


def parts(request: Request, *types: str) -> Iterator[Part]:
    for message in request.messages:
        yield from (part for part in message.content if not types or part.type in types)


def texts(request: Request) -> list[list[str | None]]:
    return [[part.text for part in message.content] for message in request.messages]


def chat_with(family: str = "anthropic", tools: list[Any] | None = None, **more: Any) -> Any:
    return Chat(family, tools or [], **{"system": "You help.", **more})


def test_without_a_reserve_answers_still_have_room_and_a_white_system_prompt_is_none() -> None:
    chat = chat_with(reserve=0, system="\u00a0")
    request, changes = asked(chat, chat.prompt(chat.say("Hello?")))
    assert (request.output_tokens, request.system) == (OUTPUT_TOKENS, ()) and len(changes) == 2


# -- breakpoints --


def parts_of(count: int, type_: str = "text") -> list[Part]:
    return [Part(type_, str(at)) for at in range(count)]  # type: ignore[arg-type]


messages = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant"]),
        st.lists(
            st.sampled_from([Part("text", "x"), Part("thinking", "x"), Part("toolResult", "x")]), max_size=30
        ),
    ),
    max_size=12,
)


@drawn(read=messages, system=st.integers(0, 4), library=st.integers(0, 4))
@runs(max_examples=examples(300))
def test_at_most_four_parts_are_marked_and_stay_what_they_are(read: Any, system: int, library: int) -> None:
    made, said = with_marks(parts_of(system + library), library, read)
    places = [part for part in (*made, *(part for _role, parts in said for part in parts)) if part.cache]
    assert len(places) <= 4
    assert all(part.type != "thinking" for part in places)
    plain = [(role, [replace(part, cache=False) for part in parts]) for role, parts in said]
    assert plain == read and [replace(part, cache=False) for part in made] == parts_of(system + library)
    if made:
        assert made[-1].cache
    last = [part for _role, parts in said for part in parts if part.type != "thinking"]
    assert not last or last[-1].cache


# -- thinking --


@pytest.mark.parametrize(
    ("family", "provider", "is_redacted", "kept"),
    [
        *(("anthropic", "anthropic", is_redacted, True) for is_redacted in (False, True)),
        *((None, "anthropic", is_redacted, True) for is_redacted in (False, True)),
        *(("openai", "openai", is_redacted, False) for is_redacted in (False, True)),
        ("gemini", "gemini", False, True),
        ("gemini", "gemini", True, False),
        (None, "openai", False, True),
        ("openai", "anthropic", False, False),
        ("anthropic", "gemini", False, False),
        ("gemini", "anthropic", False, False),
    ],
)
def test_thinking_goes_back_to_its_signer(
    family: str | None, provider: str, is_redacted: bool, kept: bool
) -> None:
    chat = chat_with(provider)
    chat.say("Why?")
    if is_redacted:
        chat.redacts("b3BhcXVl", "So.")
    else:
        chat.thinks("Because.", "So.")
    request, changes = asked(chat, chat.prompt(chat.say("Ah.")), family)
    expected = ("b3BhcXVl", None, True) if is_redacted else ("Because.", write.SIGNED, False)
    thinking = [(part.text, part.signature, part.redacted) for part in parts(request, "thinking")]
    assert thinking == [expected] * kept and bool(changes) != kept


@pytest.mark.parametrize(
    ("signature", "kept"),
    [
        *((each, True) for each in ("YWI=", "YQ", "Y-_I", "Y+/I")),
        *((each, False) for each in ("not base64", "signed", "A", "é", "+-AA", "AA=A", "YQ=", "==")),
    ],
)
def test_gemini_gets_thinking_back_whose_signature_is_base64(signature: str, kept: bool) -> None:
    chat = chat_with("gemini")
    chat.say("Why?")
    chat.thinks("Because.", "So.", signature=signature)
    request, changes = asked(chat, chat.prompt(chat.say("Ah.")), "gemini")
    assert [part.signature for part in parts(request, "thinking")] == [signature] * kept
    assert len(changes) == (not kept)


# -- images --


@pytest.mark.parametrize(
    ("media_type", "takes"),
    [
        ("image/png", {"openai", "anthropic", "gemini", None}),
        ("image/jpeg", {"openai", "anthropic", "gemini", None}),
        ("image/webp", {"openai", "anthropic", "gemini", None}),
        ("image/gif", {"openai", "anthropic", None}),
        ("image/heic", {"gemini", None}),
        ("image/heif", {"gemini", None}),
        ("image/svg+xml", {None}),
    ],
)
def test_images_that_a_provider_does_not_take_become_a_line(media_type: str, takes: set[str | None]) -> None:
    chat = chat_with()
    envelope = chat.prompt(chat.say("What is it?"), chat.image("a", b"bytes", media_type))
    for family in FAMILIES:
        request, changes = asked(chat, envelope, family)
        last = request.messages[-1].content[-1]
        if family in takes:
            assert (last.type, last.media_type, last.data) == ("image", media_type, "Ynl0ZXM=")
        else:
            assert last.text == f"[Image unavailable: {media_type}]"
        assert bool(changes) != (family in takes)


@pytest.mark.parametrize(
    ("content", "said", "real"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/jpeg", "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/png", "image/jpeg"),
        (b"GIF87a", "image/png", "image/gif"),
        (b"GIF89a", "image/tiff", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/png", "image/webp"),
        (b"bytes", "image/jpg", "image/jpeg"),
    ],
)
def test_an_image_is_of_the_type_that_its_bytes_say(content: bytes, said: str, real: str) -> None:
    chat = chat_with()
    envelope = chat.prompt(chat.say("What?"), chat.image("a", content, said))
    request, changes = asked(chat, envelope)
    assert [part.media_type for part in parts(request, "image")] == [real] and changes == ()
    assert bool(list(parts(asked(chat, envelope, "gemini")[0], "image"))) == (real != "image/gif")


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_an_image_that_is_too_large_for_anthropic_becomes_a_line_there(more: int, fits: bool) -> None:
    chat = chat_with()
    content = b"x" * (5 * 1024 * 1024 // 4 * 3 + more)
    envelope = chat.prompt(chat.say("What?"), chat.image("a", content))
    for family in FAMILIES:
        request, changes = asked(chat, envelope, family)
        sent = fits or family != "anthropic"
        assert bool(list(parts(request, "image"))) == sent and bool(changes) != sent


# -- tools --


def called(*calls: tuple[str, str, str], family: str | None = "anthropic", tools: Any = ()) -> Any:
    """The request in which these calls were made and answered, each in a round of its own; and the changes."""
    chat = chat_with(tools=list(tools))
    question = chat.say("Look.")
    envelope = chat.prompt(question)
    for call, name, arguments in calls:
        chat.thinks("Hm.", "", (call, name, arguments))
        envelope = chat.go_on(chat.gives((call, name, f"for {call}", False)), question)
    return asked(chat, envelope, family)


@pytest.mark.parametrize("text", ["no JSON", "[1]", "3", "null", '{"a": 1', '{"a": 1e999}', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_in_one_and_reported(text: str) -> None:
    request, changes = called(("1", "look", text))
    [call] = parts(request, "toolCall")
    assert call.input == {"arguments": text} == json.loads(call.arguments or "")
    assert len(changes) == 1


def test_arguments_that_are_nested_too_deep_are_sent_as_text() -> None:
    deep, fits = (f'{{"a": {"[" * depth}{"]" * depth}}}' for depth in (DEPTH_MAX, DEPTH_MAX - 1))
    assert [part.input for part in parts(called(("1", "look", deep))[0], "toolCall")] == [{"arguments": deep}]
    assert [part.input for part in parts(called(("1", "look", fits))[0], "toolCall")] == [json.loads(fits)]


@pytest.mark.parametrize(
    ("call", "family", "stays"),
    [
        ("call_1-A", "openai", True),
        ("x" * 40, "openai", True),
        ("x" * 41, "openai", False),
        ("x" * 64, "anthropic", True),
        ("x" * 65, "anthropic", False),
        ("a\n", "anthropic", False),
        ("", "anthropic", False),
    ],
)
def test_ids_that_do_not_fit_are_replaced_alike_in_call_and_result(call: str, family: str, stays: bool) -> None:
    request, changes = called((call, "look", "{}"), family=family)
    [made], [answered] = parts(request, "toolCall"), parts(request, "toolResult")
    assert made.id == answered.id and made.id
    assert (made.id == call) == stays
    assert len(made.id) <= 40 or stays
    assert any("ids" in change for change in changes) != stays
    assert called((call, "look", "{}"), family=family)[0] == request


def test_an_id_that_is_used_again_is_replaced_from_the_second_time_on() -> None:
    request, changes = called(("1", "look", "{}"), ("1", "look", "{}"), ("1", "look", "{}"))
    made, answered = list(parts(request, "toolCall")), list(parts(request, "toolResult"))
    ids = [part.id for part in made]
    assert ids[0] == "1" and len(set(ids)) == 3
    assert [part.id for part in answered] == ids
    before = [part.id for part in parts(called(("1", "look", "{}"), ("1", "look", "{}"))[0], "toolCall")]
    assert before == ids[:2], "what was sent before stays"
    assert any("ids" in change for change in changes)


def test_a_replaced_id_never_meets_one_that_is_there() -> None:
    [taken] = (part.id for part in parts(called(("a b", "look", "{}"))[0], "toolCall"))
    assert taken is not None
    for order in ((taken, "a b"), ("a b", taken)):
        request, _ = called(*((call, "look", "{}") for call in order))
        ids = [part.id for part in parts(request, "toolCall")]
        assert len(set(ids)) == 2
        assert [part.id for part in parts(request, "toolResult")] == ids


def test_names_that_do_not_fit_are_replaced_alike_in_definition_call_and_result() -> None:
    tools = [
        {"name": name, "inputSchema": {"type": "object"}} for name in ("notes.look up", "notes_look_up", "ä" * 70)
    ]
    request, changes = called(*((str(at), tool["name"], "{}") for at, tool in enumerate(tools)), tools=tools)
    names = [tool.name for tool in request.tools]
    assert names[1] == "notes_look_up" and names[2] == "_" * 64
    assert names[0].startswith("notes_look_up_") and len(set(names)) == 3
    assert [part.name for part in parts(request, "toolCall")] == names
    assert [part.name for part in parts(request, "toolResult")] == names
    assert len(changes) == 2
    assert request.tool_names == {names[0]: "notes.look up", names[2]: "ä" * 70}


def test_names_that_would_meet_are_told_apart_within_their_length() -> None:
    long = "x" * 64
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in (long + "a", long + "b", long)]
    names = [tool.name for tool in called(tools=tools)[0].tools]
    assert len(set(names)) == 3 and all(len(name) <= 64 for name in names) and names[2] == long


# -- explicit caches --


def key(chat: Any, envelope: Envelope, **settings: Any) -> str:
    request, _ = request_of(
        envelope, replace(chat.now.settings, **settings), SHAPES["gemini"], chat.texts, chat.images.get, None
    )
    return request.cached_content.key


def test_the_cache_s_key_changes_with_all_that_it_holds_and_with_nothing_else() -> None:
    chat = chat_with("gemini", each_turn=True)
    note = chat.read("a.md", "A")
    first = chat.ask("1", note)
    second, third = chat.ask("2", note), chat.ask("3", note)
    assert key(chat, second) == key(chat, third) != key(chat, first)
    others = [
        key(chat, third, model="other"),
        key(chat, third, tools_sha256=chat.keep("[1]")),
        key(chat, replace(third, conversation_id="other")),
        key(chat, replace(third, hashes=replace(third.hashes, L1_SYSTEM="x"))),
        key(chat, replace(third, hashes=replace(third.hashes, L3_TURN="x"))),
    ]
    assert others[-1] == key(chat, third)
    assert len({*others, key(chat, third)}) == 5


def test_only_gemini_and_templates_of_one_s_own_use_a_cached_content() -> None:
    chat = chat_with("gemini")
    envelope = chat.prompt(chat.say("?"))
    for family in FAMILIES:
        request, changes = asked(chat, envelope, family, "cachedContents/x")
        used = family in {"gemini", None}
        assert request.cached_content.resource == ("cachedContents/x" if used else None)
        assert bool(changes) != used


SCHEMA = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["n"],
}
CAPITALS = {
    "type": "OBJECT",
    "properties": {"type": {"type": "STRING"}, "n": {"type": "INTEGER"}},
    "required": ["n"],
}
LOOK = Definition("look", "Looks.", SCHEMA)
NAMED = {"name": "look", "description": "Looks."}
FORMS = {
    "mcp": {**NAMED, "inputSchema": SCHEMA},
    "mcp with what is meant for the runtime": {**NAMED, "inputSchema": SCHEMA, "title": "L", "annotations": {}},
    "openai": {"type": "function", "function": {**NAMED, "parameters": SCHEMA}},
    "openai flat": {"type": "function", **NAMED, "parameters": SCHEMA},
    "anthropic": {**NAMED, "input_schema": SCHEMA},
    "anthropic custom": {"type": "custom", **NAMED, "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{**NAMED, "parametersJsonSchema": SCHEMA}]},
    "gemini snake": {"function_declarations": [{**NAMED, "parameters_json_schema": SCHEMA}]},
    "gemini's own schema": {"functionDeclarations": [{**NAMED, "parameters": CAPITALS}]},
    "null besides": {"type": "function", "function": {**NAMED, "parameters": SCHEMA, "strict": None}},
}


def read(*tools: Any, family: str | None = "openai", provider: str | None = "openai") -> Definitions:
    return definitions_of(json.dumps(tools), SHAPES.get(family or "", OWN), SHAPES.get(provider or ""))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_the_same_definition(form: str) -> None:
    for family in FAMILIES:
        assert read(FORMS[form], family=family) == Definitions((LOOK,), (), ())


def test_a_list_of_declarations_is_as_many_tools() -> None:
    declared = [{"name": name, "parameters": CAPITALS} for name in ("a", "b")]
    found = read({"functionDeclarations": declared, "googleSearch": {}}, family="gemini", provider="gemini")
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert found.own == ({"googleSearch": {}},) and found.changes == ()


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_20250305", "name": "web_search"},
        {"googleSearch": {}},
        {"name": "", "inputSchema": SCHEMA},
        {"name": "x", "description": 3, "inputSchema": SCHEMA},
        {"name": "x", "inputSchema": [1]},
        {"name": "x", "inputSchema": {"type": "string"}},
        {"functionDeclarations": ["x"]},
    ],
)
def test_what_only_one_provider_may_know_goes_to_that_one_as_it_is(tool: dict[str, Any]) -> None:
    assert read(tool, FORMS["mcp"]) == Definitions((LOOK,), (tool,), ())
    assert read(tool, family=None, provider=None) == Definitions((), (tool,), ())
    elsewhere = read(tool, FORMS["mcp"], family="anthropic")
    assert elsewhere[:2] == ((LOOK,), ()) and len(elsewhere.changes) == 1


def test_what_a_form_says_besides_is_kept_for_its_own_provider_and_else_reported() -> None:
    strict = {"type": "function", "function": {**NAMED, "parameters": SCHEMA, "strict": True}}
    assert read(strict) == Definitions((), (strict,), ())
    elsewhere = read(strict, family="anthropic")
    assert elsewhere.tools == (LOOK,) and elsewhere.own == ()
    assert len(elsewhere.changes) == 1 and "strict" in elsewhere.changes[0]


def test_a_second_tool_of_a_name_is_left_out_and_reported() -> None:
    found = read(FORMS["mcp"], {**FORMS["anthropic"], "description": "Another."})
    assert found.tools == (LOOK,) and len(found.changes) == 1


@pytest.mark.parametrize(
    "text", ["", "no JSON", "{}", '{"tools": []}', "[" * 5_000, "3", "[3]", "[null]", '["look"]', "[[1]]"]
)
def test_what_is_no_list_is_left_out_and_reported(text: str) -> None:
    found = definitions_of(text, OPENAI, OPENAI)
    assert found[:2] == ((), ()) and len(found.changes) == 1
    assert len(found.changes[0]) < 200


# -- what providers refuse of a schema --


@pytest.mark.parametrize(
    ("key", "refused"),
    [
        *((key, {"openai", "anthropic"}) for key in ("oneOf", "anyOf", "allOf")),
        *((key, {"openai"}) for key in ("enum", "const", "not")),
        ("additionalProperties", set()),
        ("$defs", set()),
    ],
)
def test_what_a_provider_refuses_at_the_top_of_a_schema_its_description_says(key: str, refused: set[str]) -> None:
    value: Any = [{"required": ["n"]}] if key.endswith("Of") else {"a": {"type": "string"}}
    schema = {**SCHEMA, key: value}
    for family in FAMILIES:
        found = read({**NAMED, "inputSchema": schema}, family=family)
        [tool] = found.tools
        if family in refused:
            assert tool.parameters == SCHEMA
            said, _, rest = tool.description.partition(f"\n\n{SATISFY}")
            assert said == "Looks." and json.loads(rest) == {key: value}
            assert len(found.changes) == 1 and key in found.changes[0]
        else:
            assert tool == Definition("look", "Looks.", schema) and found.changes == ()


@pytest.mark.parametrize(
    ("name", "fits"), [("a.b-C_1", True), ("x" * 64, True), ("x" * 65, False), ("$top", False), ("", False)]
)
def test_anthropic_refuses_names_of_properties_so_they_are_left_out(name: str, fits: bool) -> None:
    properties: dict[str, Any] = {"n": {"type": "object", "properties": {name: {}}}, name: {"type": "string"}}
    tool = {**NAMED, "inputSchema": {"type": "object", "properties": properties, "required": ["n"]}}
    for family in ("openai", "gemini", None):
        assert read(tool, family=family).tools[0].parameters["properties"] == properties
    found = read(tool, family="anthropic")
    assert list(found.tools[0].parameters["properties"]) == (["n", name] if fits else ["n"])
    assert found.tools[0].parameters["properties"]["n"] == properties["n"], "deeper they are taken"
    assert bool(found.changes) != fits


def test_a_tool_that_requires_a_property_of_such_a_name_is_left_out() -> None:
    tool = {"name": "odd", "inputSchema": {"properties": {"$top": {}}, "required": ["$top"]}}
    found = read(tool, FORMS["mcp"], family="anthropic")
    assert found.tools == (LOOK,) and len(found.changes) == 1 and "odd" in found.changes[0]
    assert len(read(tool, FORMS["mcp"], family="openai").tools) == 2


@pytest.mark.parametrize("kind", ["array", ["string", "array"]])
def test_for_openai_an_array_of_anything_says_so(kind: Any) -> None:
    bare, whole = {"type": kind}, {"type": kind, "items": {}}

    def schema(array: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"type": array, "items": {"type": "array", "items": array}, "x": {"anyOf": [array, {}]}},
            "additionalProperties": array,
            "$defs": {"a": {"type": "object", "properties": {"b": array}}},
            "default": bare,
            "examples": [bare],
        }

    assert read({**NAMED, "inputSchema": schema(bare)}).tools[0].parameters == schema(whole)
    for family in ("anthropic", "gemini", None):
        assert read({**NAMED, "inputSchema": schema(bare)}, family=family).tools[0].parameters == schema(bare)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": schema}
    return schema


def test_a_tool_that_is_nested_too_deep_is_left_out_and_reported() -> None:
    found = read({"name": "deep", "inputSchema": nested(DEPTH_MAX)}, FORMS["mcp"])
    assert found.tools == (LOOK,) and len(found.changes) == 1
