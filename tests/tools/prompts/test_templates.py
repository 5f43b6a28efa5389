"""Templates: which there are, what they may do, and what is said of them where they fail."""

from pathlib import Path
from typing import Any

import pytest
from support import golden_bodies as write
from support.growth import costs_less_than, thread_seconds

from workspaced_tools.errors import TemplateFailed, UnknownShape
from workspaced_tools.prompts.providers.bodies import RenderedBody, shape
from workspaced_tools.prompts.providers.known import SHAPES
from workspaced_tools.prompts.providers.templates import Template, template_named


def rendered(text: str | None, name: str = "mine", tools: Any = (), **more: Any) -> RenderedBody:
    chat = write.Chat("anthropic", list(tools), system="You help.")
    chat.ask("First?")
    envelope = chat.prompt(chat.say("Hello?"))
    return shape(envelope, chat.now.settings, Template(name, text), chat.texts, chat.images.get, **more)


def failed(text: str, name: str = "mine") -> TemplateFailed:
    with pytest.raises(TemplateFailed) as error:
        rendered(text, name)
    assert error.value.details["template"] == name and name in error.value.message
    return error.value


# -- which there are --


def test_one_s_own_template_is_a_file_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "my-model_2.json.jinja").write_text('{"é": 1}', encoding="utf-8")
    template = template_named("my-model_2", tmp_path)
    assert template == Template("my-model_2", '{"é": 1}')
    assert rendered(template.text, template.name).body == {"é": 1}


@pytest.mark.parametrize(
    "name",
    [
        *["", "nothing", "../mine", "sub/mine", "Mine", "mine.json.jinja", ".mine", "-mine", "mine\n", "m" * 65],
        "mïne",
    ],
)
def test_other_names_are_errors_that_say_what_there_is(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "shapes"
    (folder / "sub").mkdir(parents=True)
    for path in (tmp_path / "mine", folder / "mine", folder / "sub" / "mine", folder / "Mine", folder / "-mine"):
        path.with_name(f"{path.name}.json.jinja").write_text("{}")
    with pytest.raises(UnknownShape) as error:
        template_named(name, folder)
    assert error.value.details["known"] == [*SHAPES, "mine"]
    with pytest.raises(UnknownShape):
        template_named(name, None)


def test_a_file_with_the_name_of_a_built_in_template_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "openai.json.jinja").write_text("{}")
    with pytest.raises(UnknownShape):
        template_named("openai", tmp_path)


@pytest.mark.parametrize("content", [b"x" * (64 * 1024 + 1), b"\xff", None])
def test_a_large_file_one_of_bytes_and_a_folder_are_errors(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "mine.json.jinja"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(UnknownShape):
        template_named("mine", tmp_path)


def test_a_template_sees_the_request() -> None:
    body = rendered(
        '{"all": [{% for m in request.messages %}{% for p in m.content %}'
        "{{ [m.role, p.text, p.cache] | json }},{% endfor %}{% endfor %} 0],"
        '"model": {{ request.model | json }}, "key": {{ request.cached_content.key | json }}}'
    ).body
    assert body["all"] == [["user", "First?", True], ["assistant", "!", False], ["user", "Hello?", True], 0]
    assert body["model"] == "claude-9" and len(body["key"]) == 64


# -- what goes wrong --


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n"a": {{ nothing }}}', 2),
        ('{\n\n"a": {{ request.nothing | json }}}', 3),
        ("{}\n{% if %}", 2),
        ("{% macro m() %}\n\n{{ 1 / 0 }}\n{% endmacro %}\n{{ m() }}", 3),
        ('{}\n{% include "openai.json.jinja" %}', 2),
        ('\n{{ "x" | nofilter }}', 2),
        ("\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 2),
        ("\n{{ request.__class__ }}", 2),
        ('\n{{ request.messages[0].content[0] | attr("__init__") }}', 2),
        ('\n{{ "{0.__class__}".format(request) }}', 2),
        ("\n{% for tool in request.tools %}{% endfor %}{{ {}.update({}) }}", 2),
        ("\n{{ lipsum() }}", 2),
        ("\n{{ [1, 2] | random }}", 2),
    ],
)
def test_a_template_that_fails_says_at_which_line(text: str, line: int) -> None:
    assert failed(text).details["line"] == line


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("[]", 0),
        ("", 0),
        ('{"é": 1,}', 8),
        ('{"a": 1} more', 10),
        ('{"a": {{ request.model }}}', 6),
        ('{"a": 1e999}', None),
        ('{"a": {{ "[" * 100000 }}', None),
        ('{"a": "\ud800"}', None),
    ],
)
def test_output_that_is_no_object_is_an_error_that_says_where(text: str, at: int | None) -> None:
    message = failed(text).message
    assert at is None or f"at character {at}," in message


# -- what is bounded --


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}{}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}{}",
        pytest.param(
            "{% for x in range(3) recursive %}{{ loop(range(3)) if loop.depth < 40 else '' }}{% endfor %}{}",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "{% macro m() %}{{ caller() }}{% endmacro %}{% for a in range(90000) %}{% for b in range(9) %}"
            "{% call m() %}{% endcall %}{% endfor %}{% endfor %}{}",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_no_template_goes_on_without_end(text: str) -> None:
    assert thread_seconds(lambda: failed(text)) < 20


def test_output_is_bounded() -> None:
    line = "x" * 60_000
    failed('{"a": "{% for a in range(2000) %}' + line + '{% endfor %}"}')


# -- what is checked of a body --


@pytest.mark.parametrize(
    "expression",
    [
        *['("a" * 2000000000) | length', '("%9000000000s" % "a") | json', '"{:9000000000}".format("a") | json'],
        *['"a".center(2000000000) | json', '("a" | center(2000000000)) | json', "(9 ** 9 ** 9) | json"],
        *['(["a"] * 2000000000) | length', '("a" | wordwrap(1)) | json'],
    ],
)
def test_no_expression_takes_the_daemon_s_time_or_memory(expression: str) -> None:
    text = '{"a": {{ ' + expression + " }}}"
    assert failed(text).code == "TEMPLATE_FAILED"
    assert costs_less_than(1, lambda: failed(text))


def test_no_text_doubles_until_memory_ends() -> None:
    doubled = '{% set ns = namespace(a="a") %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}'
    assert "characters" in failed(doubled + '{"a": {{ ns.a | json }}}').message
    joined = (
        '{% set ns = namespace(a="a") %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] | join %}{% endfor %}'
    )
    assert "characters" in failed(joined + '{"a": {{ ns.a | json }}}').message


@pytest.mark.parametrize("written", ["request.messages.index", "request.messages", "request"])
def test_nothing_is_written_that_would_be_another_text_elsewhere(written: str) -> None:
    assert "filter `json`" in failed('{"a": "{{ ' + written + ' }}"}').message
    assert "filter `json`" in failed('{"a": {{ (' + written + " | string) | json }}}").message
