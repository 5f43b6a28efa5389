"""What editors, daemons and files may be like: the language server answers, and tells nobody what it may not."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import NOTES, Daemon, Factory
from support.language_client import LanguageClient, Refused, uri_of


@pytest.fixture(scope="module")
def running(module_daemon: Factory) -> Daemon:
    return module_daemon(notes=NOTES)


@pytest.fixture
def editor(running: Daemon) -> Iterator[LanguageClient]:
    with LanguageClient(running.env, running.vault) as client:
        yield client


def test_places_beyond_the_text_are_its_end(editor: LanguageClient, running: Daemon) -> None:
    note = editor.open(running.vault / "a.md", "[[b]]")
    for line, column in ((0, 999), (999, 0), (2**31 - 1, 2**31 - 1)):
        for what in ("definition", "hover", "completion", "prepareRename"):
            editor.at(what, note, line, column)
        editor.actions(note, (0, 0), (line, column))
    editor.change(note, " end", (999, 0), (999, 0))
    assert len(editor.of("documentLink", note)) == 1
    editor.change(note, "x", (0, 5), (0, 0))  # the wrong way round
    assert editor.of("documentLink", note) == []


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "file://elsewhere/tmp/a.md",
        "file:///tmp/bad%FF.md",
        "file:///tmp/a%00.md",
        "file://[::1/a.md",
        "",
    ],
)
def test_what_is_no_file_of_this_machine_is_told_to_nobody(
    editor: LanguageClient, running: Daemon, uri: str
) -> None:
    editor.open(uri, "# One\n\n[[a]] [[")
    assert editor.at("completion", uri, 2, 8) is None
    assert editor.run("workspaced.status")["daemons"] == []
    editor.run("workspaced.pin", uri)
    assert "Only an open file" in editor.hear("window/showMessage")["message"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/completion", {"textDocument": 7, "position": "here"}, -32602),
        ("textDocument/definition", {"textDocument": {"uri": "file:///a.md"}, "position": {"line": -1}}, -32602),
        ("workspace/executeCommand", [], -32602),
        ("foo/bar", None, -32601),
    ],
)
def test_a_request_that_cannot_be_read_is_answered(
    editor: LanguageClient, method: str, params: Any, code: int
) -> None:
    with pytest.raises(Refused) as refused:
        editor.ask(method, params)
    assert refused.value.code == code
    assert editor.run("workspaced.status")["daemons"] == []


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("workspaced.unpin", []),
        *(("workspaced.pin", [each]) for each in (None, 7, {"uri": "file:///a.md"})),
        ("workspaced.unpin", ["file:///a.md", "file:///b.md"]),
        ("workspaced.status", [None]),
        ("workspaced.none", []),
    ],
)
def test_a_command_with_other_arguments_or_none_says_which_it_takes(
    editor: LanguageClient, command: str, arguments: list[Any]
) -> None:
    given = {"arguments": arguments} if arguments else {}
    with pytest.raises(Refused) as refused:
        editor.ask("workspace/executeCommand", {"command": command, **given})
    assert (refused.value.code, refused.value.data["code"]) == (-32602, "INVALID_ARGUMENT")
    assert refused.value.data["hint"] in str(refused.value)


def test_lines_end_where_the_protocol_says(editor: LanguageClient, running: Daemon) -> None:
    note = editor.open(running.vault / "a.md", "one\u2028still\fone\r\n[[b]]\r[[c]]\n")
    assert [each["range"]["start"] for each in editor.of("documentLink", note)] == [
        {"line": 1, "character": 0},
        {"line": 2, "character": 0},
    ]
    editor.change(note, "c", (1, 2), (1, 3))
    assert editor.of("documentLink", note)[0]["target"] == uri_of(running.vault / "c.md")


@pytest.mark.thorough
def test_a_daemon_that_stands_still_leaves_answers_empty(daemon: Factory) -> None:
    running = daemon()
    with LanguageClient(running.env, running.vault) as editor:
        note = editor.open(running.vault / "a.md", "# Own\n\n[[b]] [[")
        editor.settled()
        running.send_signal(signal.SIGSTOP)
        try:
            assert editor.at("definition", note, 2, 2) is None
            assert editor.at("completion", note, 2, 8)["items"] == []
        finally:
            running.send_signal(signal.SIGCONT)
        assert editor.at("definition", note, 2, 2) is not None
