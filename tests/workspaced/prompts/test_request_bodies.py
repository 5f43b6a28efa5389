"""Prompts as providers' bodies, pipelines, usage reports: over the socket of a real daemon."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import model_server
from support.daemon import refusal
from support.stored_logs import outcomes
from support.talk import Talk

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


def taken(shape: str, body: Json, server: Any = None) -> Json:
    """What the provider answers; it takes the body."""
    made = (server or model_server.ModelServer()).answered(SHAPES[shape], body)
    assert made.status == 200, made.answer
    answer: Json = made.answer
    return answer


# -- bodies --


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


def test_a_flag_names_the_folder_of_own_templates_and_one_that_fails_records_nothing(
    daemon: Any, tmp_path: Path
) -> None:
    (tmp_path / "words.json.jinja").write_text(WORDS)
    (tmp_path / "bad.json.jinja").write_text("{% for x in range(9999999) %}{% endfor %}{}")
    chat = begun(daemon("--templates", str(tmp_path)).connect())
    chat.user("Hello")
    assert refusal(chat.prompt, shape="bad").code == "TEMPLATE_FAILED"
    assert chat.told("prompt_assembled") == []
    assert chat.prompt(shape="words")["body"]["words"] == "Hello"


# -- bodies made again --


class Recorded:
    """A log of one conversation with two shaped prompts, one of them with an image and thinking; and no daemon."""

    def __init__(self, running: Any, data: Path, name: str, shapes: list[Json], body: Json) -> None:
        self.running, self.data, self.id, self.shapes, self.body = running, data, name, shapes, body

    def show(self, *arguments: str) -> Any:
        return self.running.cli("context", "show", self.id, str(self.data), "--body", *arguments)


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


def test_every_body_is_made_again_and_one_of_another_renderer_is_no_difference(
    kept: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, ours = kept.shapes
    assert ours["renderer"] == RENDERER and "templateSha256" not in ours and "renderer" not in own
    assert outcomes(kept.data, prompts=True) == {"same": 2}, "without a vault and with the template that was kept"
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
    assert json.loads(kept.show("anthropic", "--json").stdout) == kept.body == json.loads(kept.show("sent").stdout)
    (tmp_path / "mine.json.jinja").write_text(WORDS)
    words = {"model": "any", "words": "See \u202e\x9b there"}
    assert json.loads(kept.show(str(tmp_path / "mine.json.jinja")).stdout) == words
    assert "warning: Thinking is left out" in kept.show("openai").stderr
    assert "Thinking" not in kept.show("anthropic").stderr


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
        {"report": {"prompt_tokens": 9 * 10**400}, "shape": "openai"},
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
