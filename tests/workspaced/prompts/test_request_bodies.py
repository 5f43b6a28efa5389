"""Prompts as providers' bodies, pipelines, usage reports: over the socket of a real daemon."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import model_server
from support.daemon import refusal
from support.talk import Talk, texts

from workspaced.cli import run
from workspaced_tools.prompts.providers.bodies import RENDERER

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
TOOL = {"name": "look_up", "description": "Looks up.", "inputSchema": {"type": "object", "properties": {}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WORDS = """
{% set texts = request.messages[-1].content | selectattr("type", "equalto", "text") | map(attribute="text") %}
{"model": {{ request.model | json }}, "words": {{ texts | join(" ") | json }}}
"""
Json = dict[str, Any]


def begun(client: Any, provider: str = "openai", **settings: Any) -> Talk:
    return Talk(client, **{"provider": provider, "system": "You help.", **settings})


@pytest.fixture
def chat(client: Any) -> Talk:
    return begun(client)


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


def turns(chat: Talk) -> None:
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


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
def test_a_provider_takes_the_body_of_its_shape(client: Any, shape: str) -> None:
    chat = begun(client, shape, tools=[TOOL])
    turns(chat)
    made = chat.prompt(shape=shape)
    taken(shape, made["body"])
    said = json.dumps(made["body"])
    assert all(text in said for text in ("You help.", "What is Alpha?", "The first note", "And Beta?", "call-1"))
    assert made["messages"] == [] and made["layers"][0]["text"]
    assert ("cachedContent" in made) == (shape == "gemini")


def test_every_part_that_a_body_leaves_out_is_told(client: Any) -> None:
    chat = begun(client, "anthropic", tools=[TOOL])
    turns(chat)
    changes = chat.prompt(shape="openai")["changes"]
    assert any("Thinking" in change for change in changes)
    assert chat.prompt(shape="anthropic")["changes"] == []


def test_the_log_says_which_body_a_prompt_was_given_as(chat: Talk) -> None:
    chat.user("Hello", "a.md")
    plain = chat.prompt()
    first = chat.prompt(shape="openai")
    again = chat.prompt(shape="openai")
    other = chat.prompt(shape="anthropic")
    back = chat.prompt()
    assert first["seq"] == again["seq"] and first["body"] == again["body"]
    assert len({plain["seq"], first["seq"], other["seq"], back["seq"]}) == 4
    prompts = chat.told("prompt_assembled")
    shapes = [prompt.get("shape") for prompt in prompts]
    assert [shape and shape["name"] for shape in shapes] == [None, "openai", "anthropic", None]
    assert shapes[1]["bodyHash"] != shapes[2]["bodyHash"] and len({each["combinedHash"] for each in prompts}) == 1


def test_what_gemini_keeps_is_left_out_of_the_body_that_names_it(client: Any) -> None:
    chat = begun(client, "gemini", tools=[TOOL], system="Be brief. " * 600)
    server = model_server.ModelServer()
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
    [usage] = chat.told("usage_reported")
    assert usage["cachedTokens"] == made.answer["usageMetadata"]["totalTokenCount"]


def test_of_a_shape_that_there_is_none_of_nothing_is_recorded(chat: Talk) -> None:
    chat.user("Hello")
    for name in ("nothing", "../openai", "words"):
        error = refusal(chat.prompt, shape=name)
        assert error.code == "UNKNOWN_SHAPE" and all(shape in error.hint for shape in SHAPES)
    assert chat.told("prompt_assembled") == []


# -- own templates --


def test_a_flag_names_the_folder_of_own_templates(daemon: Any, tmp_path: Path) -> None:
    (tmp_path / "words.json.jinja").write_text(WORDS)
    chat = begun(daemon("--templates", str(tmp_path)).connect())
    chat.user("Hello")
    assert chat.prompt(shape="words")["body"]["words"] == "Hello"


def test_a_template_that_fails_records_nothing(templates: Any) -> None:
    loop = "{% for x in range(9999999) %}{% endfor %}{}"
    bad = ["{{ request.nothing }}", "{% for %}", "[1, 2]", "no json", loop, ""]
    for number, text in enumerate(bad):
        (templates.root / "templates" / f"bad{number}.json.jinja").write_text(text)
    chat = begun(templates.start().connect())
    chat.user("Hello")
    for number in range(len(bad)):
        assert refusal(chat.prompt, shape=f"bad{number}").code == "TEMPLATE_FAILED"
    assert chat.told("prompt_assembled") == [] and texts(chat.prompt())[-1] == "Hello"


def test_marks_in_definitions_of_tools_are_left_out_so_that_the_others_fit(client: Any) -> None:
    mark = {"type": "ephemeral"}
    tools = [{"name": f"t{at}", "input_schema": {"type": "object"}, "cache_control": mark} for at in range(5)]
    chat = begun(client, "anthropic", tools=tools, memory="Likes tea.")
    turns(chat)
    body = taken("anthropic", chat.prompt(shape="anthropic")["body"])
    assert len(chat.told("prompt_assembled")) and body is not False


# -- bodies made again --


@pytest.mark.thorough
def test_every_body_is_made_again_when_daemon_and_vault_and_templates_are_gone(templates: Any) -> None:
    running = templates.start()
    kept: dict[str, Json] = {}
    for shape in (*SHAPES, "words"):
        chat = begun(running.connect(), shape, tools=[TOOL])
        turns(chat)
        kept[chat.id] = chat.prompt(shape=shape)["body"]
    gemini = begun(running.connect(), "gemini")
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
    """A log of one conversation with two shaped prompts, one of them with an image and thinking; and no daemon."""

    def __init__(self, running: Any, data: Path, name: str, shapes: list[Json], body: Json) -> None:
        self.running, self.data, self.id, self.shapes, self.body = running, data, name, shapes, body

    def show(self, *arguments: str) -> Any:
        return self.running.cli("context", "show", self.id, str(self.data), "--body", *arguments)

    def outcomes(self) -> list[str]:
        done = self.running.cli("replay", "--verify", "--json", str(self.data))
        return [each["outcome"] for each in map(json.loads, done.stdout.splitlines()) if "message" in each]


@pytest.fixture(scope="module")
def kept(module_daemon: Any, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("templates")
    (folder / "words.json.jinja").write_text(WORDS)
    running = module_daemon(notes=NOTES, env={"WORKSPACED_TEMPLATES": str(folder)})
    chat = begun(running.connect(), "anthropic", output_reserve=0)
    chat.user("Begin")
    chat.prompt(shape="words")
    chat.assistant("I think.", thinking=[{"text": "Hm.", "signature": PIXEL}])
    chat.user("See \u202e\x9b there", {"kind": "image", "id": "p.png", "text": f"data:image/png;base64,{PIXEL}"})
    body = chat.prompt(shape="anthropic")["body"]
    shapes = [each["shape"] for each in chat.told("prompt_assembled")]
    running.stop()
    return Recorded(running, running.data, chat.id, shapes, body)


@pytest.fixture
def recorded(kept: Recorded, tmp_path: Path) -> Recorded:
    """A copy of it."""
    data = Path(shutil.copytree(kept.data, tmp_path / "data"))
    return Recorded(kept.running, data, kept.id, kept.shapes, kept.body)


def test_a_body_of_another_renderer_is_no_difference(
    kept: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, ours = kept.shapes
    assert ours["renderer"] == RENDERER and "templateSha256" not in ours and "renderer" not in own
    monkeypatch.setattr("workspaced_tools.replay.verify.RENDERER", RENDERER + 1)
    monkeypatch.setattr("workspaced_tools.prompts.providers.request.OUTPUT_TOKENS", 5)
    run(["replay", "--verify", "--json", str(kept.data)])
    found = [each for each in map(json.loads, capsys.readouterr().out.splitlines()) if "message" in each]
    assert found[1]["outcome"] == "otherVersion" and "renderer" in found[1]["why"]


def test_a_body_that_is_made_otherwise_now_is_told_by_show_and_by_verify(
    kept: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(kept.data)
    monkeypatch.setattr("workspaced_tools.prompts.providers.request.OUTPUT_TOKENS", 5)
    assert run(["context", "show", kept.id, data, "--body", "sent"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {**kept.body, "max_tokens": 5} and "not as it was sent" in shown.err
    assert run(["context", "show", kept.id, data, "--body", "anthropic"]) == 0
    assert run(["context", "show", kept.id, data]) == 0
    capsys.readouterr()
    assert run(["replay", "--verify", "--json", data]) == 1
    found = [each for each in map(json.loads, capsys.readouterr().out.splitlines()) if "message" in each]
    assert (found[1]["outcome"], found[1]["differs"]) == ("different", "body")


def test_a_prompt_can_be_shown_as_any_body_afterwards(kept: Recorded, tmp_path: Path) -> None:
    for shape in SHAPES:
        shown = kept.show(shape).stdout
        taken(shape, json.loads(shown))
        assert "\u202e" not in shown and "\x9b" not in shown, "no sign that a terminal obeys"
    assert json.loads(kept.show("anthropic", "--json").stdout) == kept.body
    (tmp_path / "mine.json.jinja").write_text(WORDS)
    words = {"model": "any", "words": "See \u202e\x9b there"}
    assert json.loads(kept.show(str(tmp_path / "mine.json.jinja")).stdout) == words
    assert "warning: Thinking is left out" in kept.show("openai").stderr
    assert "Thinking" not in kept.show("anthropic").stderr


# -- searches --


# -- pipelines --


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


def test_whose_report_it_is_is_told_or_follows_from_the_body_or_the_provider(client: Any) -> None:
    chat = begun(client, "somebody")
    chat.user("Hello")
    chat.prompt(shape="gemini")
    chat.context.usage(chat.id, report=REPORTS["gemini"])
    chat.context.usage(chat.id, report={**REPORTS["openai"], "prompt_tokens": 1_000}, shape="openai")
    chat.prompt(shape="anthropic")
    chat.context.usage(chat.id, report=REPORTS["anthropic"])
    assert [each["inputTokens"] for each in chat.told("usage_reported")] == [900, 1_000, 900]


@pytest.mark.parametrize(
    "usage",
    [
        {"report": REPORTS["openai"]},
        {"report": REPORTS["openai"], "shape": "words"},
        {"report": {"prompt_tokens": -1}, "shape": "openai"},
        {"report": {"prompt_tokens": 9 * 10**400}, "shape": "openai"},
        {"report": {}, "shape": "openai"},
        {
            "report": {"input_tokens": 1_000_000_000, "cache_read_input_tokens": 1, "output_tokens": 1},
            "shape": "anthropic",
        },
    ],
)
def test_usage_that_says_nothing_clear_is_refused(client: Any, usage: Json) -> None:
    chat = begun(client, "somebody")
    chat.user("Hello")
    chat.prompt()
    error = refusal(chat.context.usage, chat.id, **usage)
    assert error.code == "INVALID_ARGUMENT" and error.hint and len(error.message) < 500
    if usage == {"report": REPORTS["openai"]}:
        assert all(name in error.hint for name in SHAPES), "whose reports are known"
    assert chat.told("usage_reported") == []


# -- beside each other, and too much --
