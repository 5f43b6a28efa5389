"""What the README and the pages of docs/ show is what happens: their commands and programs run in their order,
against a model that refuses what providers refuse."""

import os
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import ROOT
from support import documentation as page
from support.daemon import clean_environment
from support.insertions import told
from support.model_server import ModelServer
from support.proxy import Proxy

from workspaced.evals import fixtures
from workspaced.evals.eval_command import SCORERS
from workspaced.replay import Call, Log, Moment, Prompt
from workspaced.settings.settings import Settings

EVAL, PROXY = page.Page(*page.EVAL_PAGES), page.Page(*page.PROXY_PAGES)
FRAMEWORK, REPLAY = page.Page(*page.FRAMEWORK_PAGES), page.Page(*page.REPLAY_PAGES)
RUNTIME, SUMMARY = page.Page(*page.RUNTIME_PAGES), page.Page(*page.SUMMARY_PAGES)
REPLAY_REFERENCE = page.Page("reference/replay-library.md", "reference/recording.md", "reference/settings.md")
PAGE_S = 120.0
KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")


def asked_of_a_model(shown: page.Page, running: Any, *, proxied: bool = False) -> list[Any]:
    """The exchanges with a model while a page's commands run; none of them was refused."""
    home, model = shown.serve(running), ModelServer()
    with model as url:
        given = {"MODEL": "any", "NO_PROXY": "*", **KEYS, "OPENAI_BASE_URL": f"{url}/v1"}
        given |= dict.fromkeys(("ANTHROPIC_BASE_URL", "GEMINI_URL", "GOOGLE_GEMINI_BASE_URL"), url)
        if proxied:
            with Proxy(running, f"{url}/v1") as proxy:
                shown.run(running, home, **{**given, "OPENAI_BASE_URL": proxy.url})
        else:
            shown.run(running, home, **given)
    assert [made.answer for made in model.exchanges if made.status != 200] == []
    return model.exchanges


@pytest.mark.thorough
def test_what_the_pages_for_runtimes_show(daemon: Any) -> None:
    running = daemon(start=False)
    running.env["WORKSPACED_TEMPLATES"] = str(running.root / "home" / "templates")
    served = {made.path for made in asked_of_a_model(RUNTIME, running)}
    assert {f"/{version}/cachedContents" for version in ("v1", "v1beta")} < served  # Google's client, and REST
    assert {"/v1/chat/completions", "/v1/messages"} < served


@pytest.mark.thorough
def test_what_the_page_about_frameworks_shows(daemon: Any) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise
    for package in ("agents", "langchain_openai", "litellm", "pydantic_ai"):
        pytest.importorskip(package, reason="the extra frameworks is not installed")
    exchanges = asked_of_a_model(FRAMEWORK, daemon(start=False))
    assert [len(told(made.raw)) for made in exchanges] == [1] * 7


@pytest.mark.thorough
def test_what_the_page_about_the_proxy_shows(daemon: Any) -> None:
    assert len(asked_of_a_model(PROXY, daemon(start=False), proxied=True)) == 4


@pytest.mark.thorough
def test_what_the_page_about_summaries_shows_before_a_fold_leaves_turns_out(daemon: Any) -> None:
    exchanges = asked_of_a_model(SUMMARY, daemon(start=False))
    assert any(b"<conversation_summary>" in made.raw for made in exchanges), "later prompts have the summary"


@pytest.mark.thorough
def test_what_the_page_about_evals_shows(tmp_path: Path) -> None:
    with ModelServer() as url:
        environment = {
            **clean_environment(tmp_path),
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / ".cache"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            # The plugin is found by its entry point where workspaced is installed.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": fixtures.__name__,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "MODEL": "any",
            "OPENAI_BASE_URL": f"{url}/v1",
            "NO_PROXY": "*",
        }
        page.run_as_shown(EVAL.commands, environment, tmp_path)


@pytest.mark.thorough
def test_what_the_pages_about_replay_show(daemon: Any) -> None:
    running = daemon(start=False)
    home = REPLAY.serve(running)
    # `workspaced stop` waits until the process is gone, which one is not that nobody waited for.
    gone = threading.Thread(target=running.wait, args=(PAGE_S,))
    gone.start()
    REPLAY.run(running, home)
    gone.join()


@pytest.mark.thorough
def test_what_the_first_session_shows(daemon: Any) -> None:
    running = daemon(start=False)
    running.socket = running.root / "workspaced" / "default.sock"
    session = page.Page(*page.SESSION_PAGES)
    session.run(running, session.serve(running))


@pytest.mark.thorough
def test_what_the_readme_shows(daemon: Any) -> None:
    page.run_readme(Path(sys.executable).parent, daemon.root())


# -- all that is shown is run --


def test_each_program_of_a_page_is_run() -> None:
    for shown, not_run in ((PROXY, set()), (FRAMEWORK, {"hook.py"}), (RUNTIME, set())):
        programs, run = {name for name in shown.files if name.endswith(".py")}, dict(shown.commands)
        assert {name for name in programs if f"python {name}" not in run} == not_run
        assert len(programs) > 1
    tests = [command for command, _shown in REPLAY.commands if command.startswith("pytest ")]
    assert REPLAY.files and all(any(name in command for command in tests) for name in REPLAY.files)


def test_every_page_whose_blocks_are_marked_is_run() -> None:
    marked = {
        name for name in page.ALL_PAGES if re.search(r"^<!-- (tested|file: )", page.Page(name).text, re.MULTILINE)
    }
    run = (EVAL, PROXY, FRAMEWORK, REPLAY, RUNTIME, SUMMARY)
    assert marked == {*page.SESSION_PAGES, *(name for each in run for name in each.names)}
    assert page.blocks((ROOT / "README.md").read_text())


def test_the_runner_finds_commands_and_notices_what_is_not_shown() -> None:
    text = "x\n<!-- tested -->\n```console\n$ a\none...\n$ b\n```\n```console\n$ c\n```\n"
    assert page.blocks(text) == [[("a", ["one..."]), ("b", [])]]
    page.assert_shown(["one ...", "...", "three"], "one 1\ntwo\nthree\n")
    with pytest.raises(AssertionError):
        page.assert_shown(["three", "one"], "one\ntwo\nthree\n")


@pytest.mark.parametrize("command", ["false", "echo no"])
def test_a_page_is_not_true_if_a_command_fails_or_prints_something_else(tmp_path: Path, command: str) -> None:
    made = page.Page(*page.RUNTIME_PAGES)
    running = SimpleNamespace(env={}, socket=tmp_path, data=tmp_path)
    made.text = "<!-- tested -->\n```console\n$ echo yes\nyes\n```\n"
    made.run(running, tmp_path)
    made.text += f"<!-- tested -->\n```console\n$ {command}\n{'yes' if command != 'false' else ''}\n```\n"
    with pytest.raises(AssertionError):
        made.run(running, tmp_path)


# -- nothing is left out --


def test_the_page_about_evals_names_every_scorer_and_fixture() -> None:
    public = [name for name in vars(fixtures) if name.endswith("_at")]
    assert [name for name in (*SCORERS, *public) if f"`{name}" not in EVAL.text] == []


def test_the_reference_names_the_whole_replay_library_and_every_setting_of_recording() -> None:
    words = set(re.findall(r"\w+", REPLAY_REFERENCE.text))
    public = [name for kind in (Log, Moment, Call, Prompt) for name in vars(kind) if not name.startswith("_")]
    assert set(public) - words == set()
    assert {name for name in Settings.model_fields if name.startswith("record")} - words == set()
