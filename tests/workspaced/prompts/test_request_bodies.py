"""Prompts as providers' bodies, pipelines, usage reports, citations, plans: over the socket of a real daemon."""

import base64
import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import model_server
from support.attachments import blocks_in
from support.daemon import refusal
from support.stored_texts import file_with, remove_text

from workspaced.cli import run
from workspaced.errors import CODES
from workspaced_events.blobs.durable import DurableBlobs
from workspaced_events.log.disk import RealDisk
from workspaced_tools.prompts.providers.bodies import RENDERER
from workspaced_tools.prompts.sources.search_block import read_search

SHAPES = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/any:generateContent",
}
NOTES = {
    "a.md": "# Alpha\n\nThe first note.\n" + "A line of many words.\n" * 300,
    "b.md": "# Beta\n\nThe second.\n",
}
PRIVATE = "---\nworkspaced: private\n---\n# Diary\n\nThe passphrase is xyzzy.\n"
TOOL = {"name": "look_up", "description": "Looks up.", "inputSchema": {"type": "object", "properties": {}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WORDS = """
{% set texts = request.messages[-1].content | selectattr("type", "equalto", "text") | map(attribute="text") %}
{"model": {{ request.model | json }}, "words": {{ texts | join(" ") | json }}}
"""
Json = dict[str, Any]


class Chat:
    """One conversation of one client."""

    _count = 0

    def __init__(self, client: Any, provider: str = "openai", **settings: Any) -> None:
        Chat._count += 1
        self.context, self.client, self.id = client.context, client, f"chat-{Chat._count}"
        known = {"model": "any", "context_window": 100_000, "output_reserve": 1_000, "system": "You help."}
        self.context.start(conversation=self.id, provider=provider, **{**known, **settings})

    def user(self, text: str, *attachments: Any) -> str:
        attached = [{"kind": "note", "id": each} if isinstance(each, str) else each for each in attachments]
        return self.say(role="user", text=text, attachments=attached)

    def say(self, **message: Any) -> str:
        (name,) = self.context.message(self.id, message)["messages"]
        return str(name)

    def prompt(self, **more: Any) -> Json:
        made: Json = self.context.assemble(self.id, **more)
        return made

    def events(self, *types: str) -> list[Json]:
        events = self.client.call("workspaced/log", {"limit": 10_000, "types": list(types)})["events"]
        return [event["data"] for event in events if event["data"].get("conversation") == self.id]

    @property
    def prompts(self) -> list[Json]:
        """As the log tells of them."""
        return self.events("prompt_assembled")


@pytest.fixture
def chat(shared: Any) -> Chat:
    return Chat(shared.connect())


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes={**NOTES, "diary.md": PRIVATE})


@pytest.fixture
def templates(daemon: Any) -> Any:
    """A daemon, not started, with a folder of own templates."""
    running = daemon(notes=NOTES, start=False)
    folder = running.root / "templates"
    folder.mkdir()
    running.env["WORKSPACED_TEMPLATES"] = str(folder)
    (folder / "words.json.jinja").write_text(WORDS)
    return running


def found(*documents: tuple[str, str], text: str = "What it says.") -> Json:
    """A search's result."""
    return {"query": "it", "documents": [{"title": a, "source": b, "text": text} for a, b in documents]}


def taken(shape: str, body: Json, server: Any = None) -> Json:
    """What the provider answers; it takes the body."""
    made = (server or model_server.ModelServer()).answered(SHAPES[shape], body)
    assert made.status == 200, made.answer
    answer: Json = made.answer
    return answer


def code_of(*call: Any, **more: Any) -> str:
    error = refusal(*call, **more)
    assert error.hint and error.code in CODES
    code: str = error.code
    return code


def turns(chat: Chat) -> None:
    """Two turns with everything that a body may have to write."""
    image = {"kind": "image", "id": "pixel.png", "text": f"data:image/png;base64,{PIXEL}"}
    chat.user("What is Alpha?", "a.md", image)
    chat.prompt()
    called = {"id": "call-1", "name": "look_up", "arguments": {"q": "Beta"}}
    chat.say(role="assistant", text="I look.", toolCalls=[called], thinking=[{"text": "Hm.", "signature": PIXEL}])
    chat.say(role="user", toolResults=[{"id": "call-1", "name": "look_up", "search": found(("Beta", "b.md"))}])
    chat.prompt()
    chat.say(role="assistant", text="It is a note.")
    chat.user("And Beta?", "a.md", "b.md")


# -- bodies --


@pytest.mark.parametrize("shape", SHAPES)
def test_a_provider_takes_the_body_of_its_shape(shared: Any, shape: str) -> None:
    chat = Chat(shared.connect(), shape, tools=[TOOL])
    turns(chat)
    made = chat.prompt(shape=shape)
    taken(shape, made["body"])
    said = json.dumps(made["body"])
    assert all(text in said for text in ("You help.", "What is Alpha?", "The first note", "And Beta?", "call-1"))
    assert made["messages"] == [] and made["layers"][0]["text"]
    assert ("cachedContent" in made) == (shape == "gemini")


def test_every_part_that_a_body_leaves_out_is_told(shared: Any) -> None:
    chat = Chat(shared.connect(), "anthropic", tools=[TOOL])
    turns(chat)
    changes = chat.prompt(shape="openai")["changes"]
    assert any("Thinking" in change for change in changes)
    assert chat.prompt(shape="anthropic")["changes"] == []


def test_the_log_says_which_body_a_prompt_was_given_as(chat: Chat) -> None:
    chat.user("Hello", "a.md")
    plain = chat.prompt()
    first = chat.prompt(shape="openai")
    again = chat.prompt(shape="openai")
    other = chat.prompt(shape="anthropic")
    back = chat.prompt()
    assert first["seq"] == again["seq"] and first["body"] == again["body"]
    assert len({plain["seq"], first["seq"], other["seq"], back["seq"]}) == 4
    shapes = [prompt.get("shape") for prompt in chat.prompts]
    assert [shape and shape["name"] for shape in shapes] == [None, "openai", "anthropic", None]
    assert (
        shapes[1]["bodyHash"] != shapes[2]["bodyHash"]
        and len({each["combinedHash"] for each in chat.prompts}) == 1
    )


def test_what_gemini_keeps_is_left_out_of_the_body_that_names_it(shared: Any) -> None:
    chat, server = (
        Chat(shared.connect(), "gemini", tools=[TOOL], system="Be brief. " * 600),
        model_server.ModelServer(),
    )
    chat.user("Hello")
    first = chat.prompt(shape="gemini")
    offer = first["cachedContent"]
    made = server.answered("/v1beta/cachedContents", offer["create"])
    assert made.status == 200 and offer["ttl"] == "3600s" and len(offer["key"]) == 64
    second = chat.prompt(shape="gemini", cached_content=made.answer["name"])
    assert second["seq"] != first["seq"] and second["body"]["cachedContent"] == made.answer["name"]
    assert "Be brief" not in json.dumps(second["body"]) and second["cachedContent"]["key"] == offer["key"]
    answer = taken("gemini", second["body"], server)
    chat.context.usage(chat.id, report=answer["usageMetadata"])
    [usage] = chat.events("usage_reported")
    assert usage["cachedTokens"] == made.answer["usageMetadata"]["totalTokenCount"]


def test_cached_content_without_a_shape_is_refused(chat: Chat) -> None:
    chat.user("Hello")
    assert code_of(chat.prompt, cached_content="cachedContents/1") == "INVALID_ARGUMENT"


def test_of_a_shape_that_there_is_none_of_nothing_is_recorded(chat: Chat) -> None:
    chat.user("Hello")
    for name in ("nothing", "../openai", "words"):
        error = refusal(chat.prompt, shape=name)
        assert error.code == "UNKNOWN_SHAPE" and all(shape in error.hint for shape in SHAPES)
    assert chat.prompts == []


# -- own templates --


def test_an_own_template_writes_the_body(templates: Any) -> None:
    chat = Chat(templates.start().connect())
    chat.user("Hello")
    assert chat.prompt(shape="words")["body"] == {"model": "any", "words": "Hello"}
    assert "words" in refusal(chat.prompt, shape="nothing").hint


def test_own_templates_lie_beside_the_settings_file_by_default(daemon: Any) -> None:
    running = daemon(start=False)
    folder = running.root / "config" / "templates"
    folder.mkdir(parents=True)
    (folder / "words.json.jinja").write_text(WORDS)
    running.env["WORKSPACED_CONFIG"] = str(folder.parent / "config.toml")
    chat = Chat(running.start().connect())
    chat.user("Hello")
    assert chat.prompt(shape="words")["body"]["words"] == "Hello"
    assert (
        json.loads(running.cli("context", "show", chat.id, "--body", "words", "--json").stdout)["words"] == "Hello"
    )


def test_a_flag_names_the_folder_of_own_templates(daemon: Any, tmp_path: Path) -> None:
    (tmp_path / "words.json.jinja").write_text(WORDS)
    chat = Chat(daemon("--templates", str(tmp_path)).connect())
    chat.user("Hello")
    assert chat.prompt(shape="words")["body"]["words"] == "Hello"


@pytest.mark.parametrize(
    "text",
    ["{{ request.nothing }}", "{% for %}", "[1, 2]", "no json", "{% for x in range(9999999) %}{% endfor %}{}", ""],
)
def test_a_template_that_fails_records_nothing(templates: Any, text: str) -> None:
    (templates.root / "templates" / "bad.json.jinja").write_text(text)
    chat = Chat(templates.start().connect())
    chat.user("Hello")
    assert code_of(chat.prompt, shape="bad") == "TEMPLATE_FAILED"
    assert chat.prompts == []
    assert sent(chat.prompt())[-1] == "Hello"


def sent(prompt: Json) -> list[str]:
    return [block["text"] for message in prompt["messages"] for block in message["content"]]


def test_more_breakpoints_than_a_provider_takes_are_an_error_and_record_nothing(shared: Any) -> None:
    mark = {"type": "ephemeral"}
    tools = [{"name": f"t{at}", "input_schema": {"type": "object"}, "cache_control": mark} for at in range(5)]
    chat = Chat(shared.connect(), "anthropic", tools=tools, memory="Likes tea.")
    turns(chat)
    before = len(chat.prompts)
    assert code_of(chat.prompt, shape="anthropic") == "BODY_INVALID"
    assert len(chat.prompts) == before
    taken("openai", chat.prompt(shape="openai")["body"])


# -- bodies made again --


@pytest.mark.thorough
def test_every_body_is_made_again_when_daemon_and_vault_and_templates_are_gone(templates: Any) -> None:
    running = templates.start()
    kept: dict[str, Json] = {}
    for shape in (*SHAPES, "words"):
        chat = Chat(running.connect(), shape, tools=[TOOL])
        turns(chat)
        kept[chat.id] = chat.prompt(shape=shape)["body"]
    gemini = Chat(running.connect(), "gemini")
    gemini.user("Hello")
    kept[gemini.id] = gemini.prompt(shape="gemini", cached_content="cachedContents/7")["body"]
    running.kill()
    shutil.rmtree(running.vault)
    shutil.rmtree(running.root / "templates")

    for name, body in kept.items():
        done = running.cli("context", "show", name, str(running.data), "--body", "sent", "--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, body), done.stderr
        readable = running.cli("context", "show", name, str(running.data), "--body", "sent").stdout
        assert json.loads(readable) == body and readable.count("\n") > 3
    done = running.cli("replay", "--verify", str(running.data))
    assert done.returncode == 0 and ", 0 differ, 0 are not recorded" in done.stdout.splitlines()[1]


class Recorded:
    """A log with one shaped prompt that holds an image, and no daemon."""

    def __init__(self, running: Any, shape: str = "anthropic") -> None:
        chat = Chat(running.start().connect(), "anthropic", output_reserve=0)
        thinking = [{"text": "Hm.", "signature": PIXEL}]
        chat.user("Begin")
        chat.say(role="assistant", text="I think.", thinking=thinking)
        chat.user("See", {"kind": "image", "id": "p.png", "text": f"data:image/png;base64,{PIXEL}"})
        self.body = chat.prompt(shape=shape)["body"]
        self.running, self.id, self.shape = running, chat.id, chat.prompts[-1]["shape"]
        running.stop()

    def cli(self, *arguments: str) -> Any:
        return self.running.cli(*arguments)

    def show(self, *arguments: str) -> Any:
        return self.cli("context", "show", self.id, str(self.running.data), "--body", *arguments)

    def verified(self) -> Json:
        (line,) = (
            json.loads(line)
            for line in self.cli("replay", "--verify", "--json", str(self.running.data)).stdout.splitlines()
            if "message" in json.loads(line)
        )
        found: Json = line
        return found


@pytest.fixture
def recorded(templates: Any) -> Recorded:
    return Recorded(templates)


def test_where_an_image_is_gone_the_body_is_not_recorded(recorded: Recorded) -> None:
    data = recorded.running.data
    assert recorded.verified()["outcome"] == "same"
    image = file_with(data, base64.b64decode(PIXEL))
    kept = image.read_bytes()
    remove_text(data, sha256(base64.b64decode(PIXEL)).hexdigest())
    done = recorded.show("sent")
    assert (done.returncode, done.stdout) == (1, "") and "NOT_RECORDED" in done.stderr
    assert recorded.verified()["outcome"] == "notRecorded"
    image.write_bytes(kept)
    assert recorded.verified()["outcome"] == "same"


def test_where_the_own_template_is_gone_the_body_is_not_recorded(templates: Any) -> None:
    recorded = Recorded(templates, "words")
    assert recorded.verified()["outcome"] == "same" and "renderer" not in recorded.shape
    remove_text(recorded.running.data, recorded.shape["templateSha256"])
    assert recorded.show("sent").returncode == 1
    assert recorded.verified()["outcome"] == "notRecorded"
    assert recorded.show("openai").returncode == 0


def test_a_body_of_another_renderer_is_no_difference(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded.shape["renderer"] == RENDERER and "templateSha256" not in recorded.shape
    monkeypatch.setattr("workspaced_tools.replay.verify.RENDERER", RENDERER + 1)
    monkeypatch.setattr("workspaced_tools.prompts.providers.request.OUTPUT_TOKENS", 5)
    run(["replay", "--verify", "--json", str(recorded.running.data)])
    [prompt] = [each for each in map(json.loads, capsys.readouterr().out.splitlines()) if "message" in each]
    assert prompt["outcome"] == "otherVersion" and "renderer" in prompt["why"]


def test_a_prompt_can_be_shown_as_any_body_afterwards(recorded: Recorded, tmp_path: Path) -> None:
    for shape in SHAPES:
        taken(shape, json.loads(recorded.show(shape, "--json").stdout))
    assert json.loads(recorded.show("anthropic").stdout) == recorded.body
    file = tmp_path / "mine.json.jinja"
    file.write_text(WORDS)
    done = recorded.show(str(file))
    assert json.loads(done.stdout) == {"model": "any", "words": "See"}
    assert "warning: Thinking is left out" in recorded.show("openai").stderr
    assert "Thinking" not in recorded.show("anthropic").stderr
    assert json.loads(recorded.show("words").stdout) == {"model": "any", "words": "See"}


@pytest.mark.parametrize(
    ("arguments", "code"), [(("nothing",), 2), (("/nowhere.jinja",), 2), (("openai", "--layers"), 2), ((), 2)]
)
def test_a_body_that_cannot_be_shown_is_an_error(
    recorded: Recorded, arguments: tuple[str, ...], code: int
) -> None:
    done = recorded.show(*arguments)
    assert (done.returncode, done.stdout) == (code, "") and done.stderr


def test_a_prompt_that_was_given_as_messages_has_no_body_that_was_sent(templates: Any) -> None:
    chat = Chat(templates.start().connect())
    chat.user("Hello \u202e\x9b there")
    chat.prompt()
    done = templates.cli("context", "show", chat.id, "--body", "sent")
    assert done.returncode == 2 and "openai" in done.stderr
    shown = templates.cli("context", "show", chat.id, "--body", "openai").stdout
    assert "\u202e" not in shown and "\x9b" not in shown
    assert json.loads(shown)["messages"][-1]["content"] == "Hello \u202e\x9b there"


def test_a_body_that_is_made_otherwise_now_is_told_by_show_and_by_verify(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(recorded.running.data)
    monkeypatch.setattr("workspaced_tools.prompts.providers.request.OUTPUT_TOKENS", 5)
    assert run(["context", "show", recorded.id, data, "--body", "sent"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {**recorded.body, "max_tokens": 5} and "not as it was sent" in shown.err
    assert run(["context", "show", recorded.id, data, "--body", "anthropic"]) == 0
    assert run(["context", "show", recorded.id, data]) == 0
    capsys.readouterr()
    assert run(["replay", "--verify", "--json", data]) == 1
    [prompt] = [each for each in map(json.loads, capsys.readouterr().out.splitlines()) if "message" in each]
    assert (prompt["outcome"], prompt["differs"]) == ("different", "body")


# -- searches, cursors, settings --


def test_a_search_is_kept_as_such_and_what_is_none_is_refused(chat: Chat, shared: Any) -> None:
    search = found(("Beta", "b.md"), ("Web", "https://example.org/x"))
    chat.user("What?", {"kind": "tool_result", "id": "search", "search": search})
    [message] = chat.events("message_added")
    [attachment] = message["attachments"]
    assert attachment["form"] == "search"
    content = DurableBlobs(RealDisk(shared.data)).get(attachment["textSha256"])
    assert content is not None
    assert [each.source for each in read_search(content.decode()).documents] == ["b.md", "https://example.org/x"]
    assert any("[2] Web (https://example.org/x)" in text for text in sent(chat.prompt()))


@pytest.mark.parametrize("tool", ["localSearch", "webSearch", "web_search"])
def test_a_result_is_named_as_its_tool_was_called_and_stays_so(chat: Chat, tool: str) -> None:
    end = f"It says </{tool}> here."
    search = {"kind": "tool_result", "id": "s", "title": tool, "search": found(("Beta", "b.md"), text=end)}
    chat.user("What?", {"kind": "tool_result", "id": tool, "text": end}, search)
    words = sent(chat.prompt())[-1]
    assert blocks_in(words) == [(tool, tool, end)]
    assert words.count(f"It says \\u{{3c}}/{tool}> here.") == 1, "in the search"
    assert words.count(f"<{tool}>\n") == words.count(f"\n</{tool}>\n") == 1, "the search"
    assert "<tool_result" not in words


@pytest.mark.parametrize(
    "parts",
    [
        {"attachments": [{"kind": "tool_result", "id": "s", "text": "x", "search": found()}]},
        {"attachments": [{"kind": "tool_result", "id": "s"}]},
        {"attachments": [{"kind": "url", "id": "https://example.org", "search": found()}]},
        {"attachments": [{"kind": "file", "id": "f", "text": "x", "before": "y"}]},
        {"attachments": [{"kind": "file", "id": "f", "text": "x", "after": ""}]},
        {"toolResults": [{"id": "c", "name": "n"}]},
        {"toolResults": [{"id": "c", "name": "n", "text": "x", "search": found()}]},
        {"attachments": [{"kind": "tool_result", "id": "s", "search": {"query": "q"}}]},
        {"attachments": [{"kind": "tool_result", "id": "s", "search": {**found(), "more": 1}}]},
        {"attachments": [{"kind": "tool_result", "id": "s", "search": found(("t", ""))}]},
    ],
)
def test_parts_of_a_message_that_contradict_each_other_are_refused(chat: Chat, parts: Json) -> None:
    assert refusal(chat.say, role="user", text="?", **parts).code == "INVALID_ARGUMENT"
    assert chat.events("message_added") == []


def test_instructions_and_turns_to_keep_are_settings_of_a_conversation(shared: Any) -> None:
    client = shared.connect()
    chat = Chat(client, composer="Answer in verse.", adapter="Think first.", history_turns=2)
    chat.user("Hello")
    assert sent(chat.prompt())[-1].count("Answer in verse.") == 1 == sent(chat.prompt())[-1].count("Think first.")
    settings = {"provider": "openai", "model": "any", "context_window": 100_000, "output_reserve": 1_000}
    same = {**settings, "system": "You help.", "composer": "Answer in verse.", "adapter": "Think first."}
    client.context.start(conversation=chat.id, history_turns=2, **same)
    assert len(chat.events("conversation_started")) == 1
    now = {**same, "history_turns": 2}
    for count, other in enumerate(
        ({"composer": "In prose."}, {"adapter": "Guess."}, {"history_turns": 3}), start=2
    ):
        now |= other
        client.context.start(conversation=chat.id, **now)
        assert len(chat.events("conversation_started")) == count
    assert chat.events("conversation_started")[-1]["historyTurns"] == 3


# -- pipelines --


def test_a_pipeline_has_its_own_prompts_and_leaves_those_of_the_chat_alone(chat: Chat) -> None:
    chat.user("What is Alpha?", "a.md")
    first = chat.prompt()
    chat.say(role="assistant", text="A note.")
    chat.user("Go on.", "b.md")
    second = chat.prompt()
    squeezed = chat.prompt(pipeline="compression")
    assert squeezed["seq"] == chat.prompt(pipeline="compression")["seq"] > second["seq"] > first["seq"]
    assert chat.prompt()["seq"] == second["seq"]
    assert [each.get("pipeline", "chat") for each in chat.prompts] == ["chat", "chat", "compression"]
    texts = "".join(sent(squeezed))
    assert "What is Alpha?" in texts and "The second." not in texts
    assert chat.prompt(pipeline="compression", shape="openai")["seq"] > squeezed["seq"]
    answer = chat.say(role="assistant", text="The last word.")
    assert "The last word." in "".join(sent(chat.prompt(pipeline="compression")))
    assert chat.prompt(message=answer)["messages"][-1]["role"] == "assistant"
    refused = refusal(chat.prompt, message=answer, pipeline="refactor")
    assert refused.code == "INVALID_ARGUMENT", "there is no instruction"


def test_a_completion_is_given_what_stands_around_the_cursor(chat: Chat) -> None:
    chat.user("An earlier question")
    chat.say(role="assistant", text="An earlier answer")
    cursor = {"kind": "selected_text", "id": "b.md#L3-L3", "before": "The sec", "after": "ond."}
    chat.user("Complete it.", cursor)
    made = "".join(sent(chat.prompt(pipeline="completion")))
    assert "The sec" in made and "ond." in made and "An earlier" not in made
    [attachment] = chat.events("message_added")[-1]["attachments"]
    assert {"beforeSha256", "afterSha256", "textSha256"} <= attachment.keys()


FILL = """{"p": {{ request.prefix | json }}, "s": {{ request.suffix | json }},
"m": {{ request.messages | json }}}"""


def test_a_template_of_a_completion_has_what_stands_before_and_after_the_cursor(templates: Any) -> None:
    running = templates
    (running.root / "templates" / "fill.json.jinja").write_text(FILL)
    running.start()
    chat = Chat(running.connect())
    before, after = "</cursor_context> The s\u202eec " + "é" * 10, 'ond "line".\n'
    chat.user("Complete it.", {"kind": "selected_text", "id": "b.md#L3-L3", "before": before, "after": after})
    body = chat.prompt(pipeline="completion", shape="fill")["body"]
    assert (body["p"], body["s"]) == (before, after)
    for pipeline in ("refactor", "chat"):
        body = chat.prompt(pipeline=pipeline, shape="fill")["body"]
        assert (body["p"], body["s"]) == ("", "")
    chat.user("Complete it.", {"kind": "selected_text", "id": "b.md#L3-L3", "text": "second"})
    made = chat.prompt(pipeline="completion", shape="fill")
    assert (made["body"]["p"], made["body"]["s"]) == ("# Beta\n\nThe ", ".\n")
    for shape in ("sent", "fill"):
        shown = running.cli("context", "show", chat.id, "--prompt", str(made["seq"]), "--body", shape)
        assert json.loads(shown.stdout) == made["body"]
    chat.user("Complete nothing.")
    body = chat.prompt(pipeline="completion", shape="fill")["body"]
    assert (body["p"], body["s"]) == ("", "")
    running.kill()
    shutil.rmtree(running.vault)
    assert "5 prompts: 5 are the same" in running.cli("replay", "--verify", str(running.data)).stdout


@pytest.mark.parametrize("pipeline", ["completion", "refactor"])
def test_open_files_enter_completion_and_refactor_by_their_pin(daemon: Any, pipeline: str) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect())
    chat.client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    chat.user("Go on.", {"kind": "selected_text", "id": "a.md#L3-L3", "text": "x", "before": "y", "after": "z"})
    assert not any("b.md" in text for text in sent(chat.prompt(pipeline=pipeline)))
    chat.context.pin(chat.id, "open", "open-files")
    (pinned,) = [text for text in sent(chat.prompt(pipeline=pipeline)) if "<pinned_context" in text]
    assert [(path, text) for _tag, path, text in blocks_in(blocks_in(pinned)[0][2])] == [("b.md", NOTES["b.md"])]


def test_what_stood_around_a_selection_is_kept_though_the_vault_is_gone(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect())
    chat.user("Shorter.", {"kind": "selected_text", "id": "b.md#L3-L3", "text": "second"})
    for pipeline in ("refactor", "completion", "chat"):
        chat.prompt(pipeline=pipeline)
    chat.user("Longer.", {"kind": "selected_text", "id": "b.md#L3-L3", "text": "The second."})
    assert "# Beta" in sent(chat.prompt(pipeline="refactor"))[-1]
    running.kill()
    shutil.rmtree(running.vault)
    done = running.cli("replay", "--verify", str(running.data))
    assert "4 prompts: 4 are the same" in done.stdout


def test_a_pipeline_that_there_is_none_of_is_refused(chat: Chat) -> None:
    chat.user("Hello")
    assert refusal(chat.prompt, pipeline="poem").code == "INVALID_ARGUMENT"


# -- usage --


REPORTS: dict[str, Json] = {
    "openai": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens": 9},
    "anthropic": {
        "input_tokens": 200,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 100,
        "output_tokens": 9,
    },
    "responses": {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 600}, "output_tokens": 9},
    "gemini": {"promptTokenCount": 900, "cachedContentTokenCount": 600, "candidatesTokenCount": 9},
}


@pytest.mark.parametrize("is_in", [True, False, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_three_providers_reports_come_to_the_same_hits(shared: Any, shape: str, is_in: bool | None) -> None:
    chat = Chat(shared.connect(), "openai" if shape == "responses" else shape, cached_in_input=is_in)
    chat.user("Hello")
    chat.prompt()
    chat.context.usage(chat.id, report=REPORTS[shape])
    chat.context.usage(chat.id, report=REPORTS[shape])
    [usage] = chat.events("usage_reported")
    told = json.loads(shared.cli("context", "show", chat.id, "--cache", "--json").stdout)["prompts"][0]
    assert (told["inputTokens"], told["cachedTokens"], usage["outputTokens"]) == (900, 600, 9)


def test_whose_report_it_is_is_told_or_follows_from_the_body_or_the_provider(shared: Any) -> None:
    chat = Chat(shared.connect(), "somebody")
    chat.user("Hello")
    chat.prompt(shape="gemini")
    chat.context.usage(chat.id, report=REPORTS["gemini"])
    chat.context.usage(chat.id, report={**REPORTS["openai"], "prompt_tokens": 1_000}, shape="openai")
    chat.prompt(shape="anthropic")
    chat.context.usage(chat.id, report=REPORTS["anthropic"], provider="openai")
    assert [each["inputTokens"] for each in chat.events("usage_reported")] == [900, 1_000, 900]


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"input_tokens": 9, "report": REPORTS["openai"]},
        {"report": REPORTS["openai"]},
        {"report": REPORTS["openai"], "shape": "words"},
        {"report": {"prompt_tokens": -1}, "shape": "openai"},
        {"report": {}, "shape": "openai"},
        {"report": REPORTS["openai"], "shape": "openai", "cached_tokens": 5},
        {"report": REPORTS["openai"], "shape": "openai", "cached_in_input": True},
        {"input_tokens": 9, "shape": "openai", "cached_in_input": True},
        {"input_tokens": 9, "cached_tokens": 10, "cached_in_input": True},
        {"input_tokens": 9, "cached_tokens": 8},
    ],
)
def test_usage_that_says_nothing_clear_is_refused(shared: Any, usage: Json) -> None:
    chat = Chat(shared.connect(), "somebody")
    chat.user("Hello")
    chat.prompt()
    assert code_of(chat.context.usage, chat.id, **usage) == "INVALID_ARGUMENT"
    assert chat.events("usage_reported") == []


def test_the_three_are_named_where_it_is_not_known_whose_report_it_is(shared: Any) -> None:
    chat = Chat(shared.connect(), "somebody")
    chat.user("Hello")
    chat.prompt()
    error = refusal(chat.context.usage, chat.id, report=REPORTS["openai"])
    assert all(name in error.hint for name in SHAPES)


# -- citations --


def test_an_answer_is_cited_by_the_numbers_that_its_prompt_showed(chat: Chat) -> None:
    documents = found(("Beta", "b.md"), ("Web", "https://example.org/x"))
    message = chat.user("What?", {"kind": "tool_result", "id": "s", "search": documents})
    chat.prompt()
    chat.say(role="assistant", text="Later.")
    before = chat.client.call("workspaced/log", {"limit": 10_000})["events"]
    cited = chat.context.cite(chat.id, "So it is.[^2] And so.[^7]", message=message)
    assert [(each["number"], each["title"], each["source"]) for each in cited["sources"]] == [
        (1, "Web", "https://example.org/x")
    ]
    assert cited["unknown"] == [7] and not cited["fallback"] and "So it is.[^1]" in cited["text"]
    assert chat.context.cite(chat.id, "So it is.[^2] And so.[^7]") == cited
    assert chat.context.cite(chat.id, "Nothing cited.")["fallback"]
    assert chat.client.call("workspaced/log", {"limit": 10_000})["events"] == before
    chat.prompt(pipeline="compression")
    assert chat.context.cite(chat.id, "So it is.[^2] And so.[^7]") == cited, "no answer to a compression is meant"


def test_what_has_no_sources_cites_nothing(chat: Chat) -> None:
    chat.user("What?")
    assert refusal(chat.context.cite, chat.id, "x").code == "UNKNOWN_MESSAGE"
    chat.prompt()
    told = chat.context.cite(chat.id, "Plain.[^1]")
    assert (told["text"], told["sources"], told["fallback"]) == ("Plain.[^1]", [], False)
    assert refusal(chat.context.cite, chat.id, "x", message="m9").code == "UNKNOWN_MESSAGE"
    assert refusal(chat.context.cite, "nothing", "x").code == "UNKNOWN_CONVERSATION"
    chat.context.message(chat.id, remove=chat.prompts[-1]["message"])
    assert refusal(chat.context.cite, chat.id, "x").code == "UNKNOWN_MESSAGE"


# -- plans --


def test_a_plan_is_asked_for_and_what_is_answered_is_checked(shared: Any) -> None:
    chat = Chat(shared.connect(), tools=[TOOL])
    chat.user("What does Alpha say of it?", "a.md")
    before = len(chat.client.call("workspaced/log", {"limit": 10_000})["events"])
    plan = chat.context.plan(chat.id)
    assert "look_up" in json.dumps(plan["schema"]) and "What does Alpha say of it?" in plan["prompt"]
    assert "(a.md)" in plan["prompt"] and plan["prompt"].count("A line of many words.") < 50
    good = json.dumps({"calls": [{"tool": "look_up", "arguments": {}, "why": "to see"}]})
    assert [each["tool"] for each in chat.context.plan(chat.id, answer=good)["calls"]] == ["look_up"]
    bad = chat.context.plan(chat.id, answer='{"calls": [{"tool": "fly", "arguments": {}}]}')
    assert bad["calls"] == [] and bad["problems"]
    assert len(chat.client.call("workspaced/log", {"limit": 10_000})["events"]) == before


def test_a_plan_shows_what_the_turn_holds_and_how_the_answer_is_to_be_written(daemon: Any) -> None:
    running = daemon(notes={"front.md": f"---\ntags: [{'x, ' * 200}]\n---\n# Front\n\nThe words.\n"})
    chat = Chat(running.connect(), composer="Answer in verse.", adapter="Think first.")
    image = {"kind": "image", "id": "pixel.png", "text": f"data:image/png;base64,{PIXEL}"}
    given = {"kind": "tool_result", "id": "s", "search": found(("Web", "https://example.org/x"))}
    chat.user("And then?", "front.md", "gone.md", image, given)
    chat.context.pin(chat.id, "rules", "text", text="Pinned words.")
    chat.say(role="assistant", toolCalls=[{"id": "call-1", "name": "look_up"}])
    chat.say(role="user", toolResults=[{"id": "call-1", "name": "look_up", "text": "It is there."}])
    prompt = chat.context.plan(chat.id)["prompt"]
    for held in (
        "And then?",
        "(front.md)",
        "The words.",
        "(https://example.org/x)",
        "(pixel.png)",
        "rules",
        "look_up",
    ):
        assert held in prompt, held
    assert "<answer_style>\n<content>\nAnswer in verse.\n" in prompt
    assert "Think first." not in prompt and "gone.md" not in prompt and "tags: [" not in prompt


def test_a_conversation_without_tools_plans_with_ours(chat: Chat) -> None:
    chat.user("What?")
    assert "search_workspace" in json.dumps(chat.context.plan(chat.id)["schema"])


def test_a_plan_needs_a_question(chat: Chat) -> None:
    assert refusal(chat.context.plan, chat.id).code == "UNKNOWN_MESSAGE"
    name = chat.say(role="assistant", text="I begin.")
    assert refusal(chat.context.plan, chat.id, message=name).code == "INVALID_ARGUMENT"


# -- chat files --


def test_a_conversation_goes_out_as_a_chat_file_and_comes_in_again(chat: Chat) -> None:
    chat.user("What is Beta?", "b.md")
    chat.say(role="assistant", text="A note.")
    text = chat.context.export(chat.id)["text"]
    settings = {"provider": "openai", "model": "any", "context_window": 9_000, "output_reserve": 900}
    again = chat.context.import_chat(text, conversation=f"{chat.id}-again", **settings)
    assert (again["conversation"], len(again["messages"]), again["warnings"]) == (f"{chat.id}-again", 2, [])
    assert sent(chat.context.assemble(again["conversation"], again["messages"][0]))[-1].endswith("What is Beta?")


# -- what may be seen --


def test_a_note_that_is_withheld_is_in_no_body_no_citation_and_no_plan(daemon: Any) -> None:
    running = daemon(notes={**NOTES, "diary.md": "# Diary\n\nThe passphrase is xyzzy.\n"})
    chat = Chat(running.connect())
    search = found(("Diary", "diary.md"), ("Beta", "b.md"))
    chat.user("Look.", "diary.md", {"kind": "tool_result", "id": "s", "search": search})
    assert "xyzzy" in json.dumps(chat.prompt(shape="openai")["body"])
    assert [each["source"] for each in chat.context.cite(chat.id, "x")["sources"]] == ["diary.md", "b.md"]
    assert "xyzzy" in chat.context.plan(chat.id)["prompt"]

    (running.vault / "diary.md").write_text(PRIVATE)
    told = chat.context.cite(chat.id, "So.[^1] And.[^2]")
    assert [each["source"] for each in told["sources"]] == ["b.md"] and told["unknown"] == [1]
    assert "Diary" not in json.dumps(told)
    assert not any(word in json.dumps(chat.context.plan(chat.id)) for word in ("xyzzy", "diary.md", "Diary"))
    assert "xyzzy" not in json.dumps(chat.prompt(shape="openai"))


def test_a_note_that_moves_to_where_it_is_withheld_leaves_prompts_and_sources(daemon: Any) -> None:
    running = daemon("--deny", "secret/", notes={**NOTES, "old.md": "# Old\n\nThe passphrase is xyzzy.\n"})
    client = running.connect()
    chat = Chat(client)
    search = found(("Old", "old.md"), ("Beta", "b.md"))
    chat.user("Look.", "old.md", {"kind": "tool_result", "id": "s", "search": search})
    assert "xyzzy" in json.dumps(chat.prompt(shape="openai")["body"])
    chat.say(role="assistant", text="I see.")
    (running.vault / "secret").mkdir()
    (running.vault / "old.md").rename(running.vault / "secret" / "new.md")
    client.publish([{"type": "note_renamed", "data": {"from": "old.md", "to": "secret/new.md"}}])
    assert [each["source"] for each in chat.context.cite(chat.id, "x")["sources"]] == ["b.md"]
    chat.user("And now?")
    assert "xyzzy" not in json.dumps(chat.prompt(shape="openai"))


def test_a_note_found_private_by_citing_is_no_source_by_any_of_its_names(daemon: Any) -> None:
    running = daemon("--deny", "secret/", notes={**NOTES, "diary.md": "# Open\n", "secret/plan.md": "# Plan\n"})
    chat = Chat(running.connect())
    chat.client.publish([{"type": "active_note_set", "data": {"note": "diary.md"}}])
    assert chat.client.tool("get_current_note")["data"]["id"] == "diary.md"
    (running.vault / "diary.md").write_text(PRIVATE)
    names = ("diary.md", "./diary.md", "/diary.md", "diary", "diary.md#L3", "secret/plan.md")
    shown = ("https://example.org/secret/plan.md", "b.md", "nothing.md")
    search = found(*((f"title {name}", name) for name in (*names, *shown)))
    chat.user("Look.", {"kind": "tool_result", "id": "s", "search": search})
    chat.prompt()
    running.restart()
    cited = running.connect().context.cite(chat.id, "x")
    assert [each["source"] for each in cited["sources"]] == list(shown)


def test_a_client_that_is_shown_names_or_nothing_gets_no_text_of_notes(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect("runtime"))
    chat.user("Look.", "b.md")
    assert "The second." in json.dumps(chat.prompt(shape="openai"))
    chat.client.call("workspaced/share", {"client": "curious", "level": "names"})
    curious = running.connect("curious").context
    for made in (curious.plan(chat.id), curious.assemble(chat.id, shape="openai"), curious.cite(chat.id, "x")):
        assert "The second." not in json.dumps(made)
    chat.client.call("workspaced/share", {"client": "curious", "level": "none"})
    for call in (curious.plan, curious.assemble):
        assert refusal(call, chat.id).code == "SHARING_OFF"
    assert refusal(curious.cite, chat.id, "x").code == "SHARING_OFF"


def test_a_pipelines_prompt_does_not_hide_the_chats_and_both_are_found(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect())
    first = chat.user("Look.", "b.md")
    chat.prompt(shape="openai")
    chat.say(role="assistant", text="I see.")
    summing = chat.prompt(message=first, pipeline="completion", shape="openai")["seq"]
    heads = {
        name: running.cli("context", "show", chat.id, *options, "--manifest").stdout.splitlines()[0]
        for name, options in (("chat", ()), ("named", ("--message", first)), ("seq", ("--prompt", str(summing))))
    }
    assert heads["chat"] == heads["named"] != heads["seq"]
    assert heads["seq"].endswith(", for completion") and "completion" not in heads["chat"]
    assert f"{first} (completion)" in running.cli("context", "show", chat.id, "--cache").stdout
    assert running.cli("context", "show", chat.id, "--prompt", "1").returncode == 2


# -- what is too much --


def test_a_report_of_impossible_numbers_is_refused_and_nothing_breaks(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect())
    chat.user("Look.")
    chat.prompt(shape="openai")
    error = refusal(chat.context.usage, chat.id, report={"prompt_tokens": 9 * 10**4000, "completion_tokens": 1})
    assert error.code == "INVALID_ARGUMENT" and len(error.message) < 500
    assert chat.client.call("workspaced/status")["conversations"]["count"] == 1


@pytest.mark.thorough
def test_a_prompt_too_large_to_be_answered_is_not_recorded(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    chat = Chat(running.connect(), context_window=50_000_000)
    chat.user("All of it.")
    for number in range(15):
        chat.context.pin(chat.id, f"p{number}", "text", text="\u0001" * 140_000)
    assert refusal(chat.prompt).code == refusal(chat.prompt, shape="gemini").code == "INVALID_ARGUMENT"
    assert chat.events("prompt_assembled") == []


def test_an_import_tells_of_so_many_warnings_and_how_many_more_there_are(daemon: Any) -> None:
    running = daemon(notes=NOTES)
    line = "[Context: Notes: " + ", ".join(f"nothing {number}" for number in range(150)) + "]"
    text = "".join(f"**user**: Hello {number}.\n{line}\n\n**ai**: Yes.\n\n" for number in range(3))
    made = running.connect().context.import_chat(
        text, provider="p", model="m", context_window=10_000, output_reserve=100
    )
    assert len(made["messages"]) == 6 and len(made["warnings"]) == 201
    assert made["warnings"][-1]["code"] == "MORE_WARNINGS" and "250" in made["warnings"][-1]["message"]


def test_a_body_too_large_to_be_answered_is_not_recorded_though_its_prompt_is_short(templates: Any) -> None:
    text = '{"a": [{% for i in range(200) %}{{ request.messages[0].content[0].text | json }},{% endfor %} 1]}'
    (templates.root / "templates" / "many.json.jinja").write_text(text)
    templates.start()
    chat = Chat(templates.connect())
    chat.user("x" * 60_000)
    assert refusal(chat.prompt, shape="many").code == "INVALID_ARGUMENT"
    assert chat.events("prompt_assembled") == []
