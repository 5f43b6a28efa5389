"""What is public is chosen, and what is chosen is documented."""

import importlib
import pkgutil
import re

import click
import pytest
from support import ROOT

import workspaced
import workspaced_events
import workspaced_tools
from workspaced.api.routes import METHODS
from workspaced.cli import COMMANDS, cli
from workspaced.errors import CODES
from workspaced.settings.settings import Settings
from workspaced_events.schema.catalogue import CATALOGUE
from workspaced_tools.tools.registry import TOOLS

SOURCES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
WORDS = set(re.findall(r"[\w/.-]*\w", "\n".join(path.read_text() for path in SOURCES if path.exists())))


@pytest.mark.parametrize(
    "package", [workspaced, workspaced_tools, workspaced_events], ids=lambda each: each.__name__
)
def test_every_module_can_be_imported_and_what_it_exports_is_there(package: object) -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as error:  # An adapter's framework need not be installed.
            if found.name.startswith("workspaced.adapters.") and not str(error.name).startswith("workspaced"):
                continue
            raise
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{found.name}.{name}"


def test_the_public_names_are_these() -> None:
    assert sorted(workspaced.__all__) == [
        "Client",
        "SyncClient",
        "WorkspacedError",
        "__version__",
        "connect",
        "replay",
    ]
    assert all(hasattr(workspaced, name) for name in workspaced.__all__)
    with pytest.raises(AttributeError):
        _ = workspaced.nothing


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_documented_as_it_is_listed(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.help
    assert name in WORDS


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_action_or_event_is_documented(name: str) -> None:
    assert name in WORDS


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_documented(name: str) -> None:
    assert name in WORDS


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_documented(name: str) -> None:
    assert name in WORDS


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_documented(name: str) -> None:
    assert {name, f"WORKSPACED_{name.upper()}"} & WORDS


@pytest.mark.parametrize("code", CODES)
def test_an_error_code_is_documented(code: str) -> None:
    assert code in WORDS


def test_the_docs_name_no_code_and_no_method_that_is_none() -> None:
    pages = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    for method in re.findall(r"`(workspaced/[\w/]+)`", pages):
        assert method in METHODS or method in ("workspaced/event", "workspaced/gap"), method
