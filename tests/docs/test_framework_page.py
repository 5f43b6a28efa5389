"""What docs/how-to/frameworks.md says is true: its programs run, against a model that refuses they do."""

import os
from typing import Any

import pytest
from support import documentation as page
from support.insertions import told
from support.model_server import ModelServer

PAGE = page.Page(*page.FRAMEWORK_PAGES)
PACKAGES = ("agents", "langchain_openai", "litellm", "pydantic_ai")


@pytest.mark.thorough
def test_its_programs_do_what_it_shows(daemon: Any) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise
    for package in PACKAGES:
        pytest.importorskip(package, reason="the extra frameworks is not installed")
    running = daemon(start=False)
    home = PAGE.serve(running)
    model = ModelServer()
    with model as url:
        urls = {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url}
        keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")
        PAGE.run(running, home, MODEL="any", NO_PROXY="*", **urls, **keys)
    assert [made.answer for made in model.exchanges if made.status != 200] == []
    assert [len(told(made.raw)) for made in model.exchanges] == [1] * 7


def test_each_of_its_programs_is_run() -> None:
    run = {command for command, _shown in PAGE.commands}
    assert {f"python {name}" for name in PAGE.files} - run == {"python hook.py"}
