"""What docs/how-to/test-from-a-wrong-answer.md says is true: from the wrong answer to a test that passes."""

import os
import sys
from pathlib import Path

import pytest
from support import documentation as page
from support.daemon import clean_environment
from support.model_server import ModelServer

from workspaced.evals import fixtures
from workspaced.evals.eval_command import SCORERS

PAGE = page.Page(*page.EVAL_PAGES)


@pytest.mark.thorough
def test_its_commands_do_what_it_shows(tmp_path: Path) -> None:
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
        page.run_as_shown(PAGE.commands, environment, tmp_path)


def test_it_names_every_scorer_and_fixture() -> None:
    public = [name for name in vars(fixtures) if name.endswith("_at")]
    assert [name for name in (*SCORERS, *public) if f"`{name}" not in PAGE.text] == []
