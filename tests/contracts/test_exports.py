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


@pytest.mark.thorough
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


DOCUMENTED = {
    "command": COMMANDS,
    "action or event": CATALOGUE,
    "method": METHODS,
    "tool": TOOLS,
    "error code": CODES,
}


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_each_is_documented(kind: str) -> None:
    assert [name for name in DOCUMENTED[kind] if name not in WORDS] == []


def test_each_setting_is_documented_and_each_command_has_its_help() -> None:
    named = {name: {name, f"WORKSPACED_{name.upper()}"} for name in Settings.model_fields}
    assert [name for name, words in named.items() if not words & WORDS] == []
    commands = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}
    assert [name for name, command in commands.items() if command is None or not command.help] == []


def test_the_docs_name_no_code_and_no_method_that_is_none() -> None:
    pages = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    for method in re.findall(r"`(workspaced/[\w/]+)`", pages):
        assert method in METHODS or method in ("workspaced/event", "workspaced/gap"), method
