"""What docs/ says to the author of a runtime is all that there is."""

import ast
import re
from typing import get_args

import pytest
from support import ROOT
from support import documentation as page

from workspaced.client.conversations import ContextMethods
from workspaced_events.schema.catalogue import AttachmentKind, Pipeline, ProviderKind
from workspaced_tools.ports.manifest import LAYERS
from workspaced_tools.prompts.assembly.library import LIBRARY_KINDS
from workspaced_tools.prompts.audit import cache_accounting
from workspaced_tools.prompts.providers.known import SHAPES
from workspaced_tools.prompts.providers.provider import Part, Request

PAGE = page.Page(*page.RUNTIME_PAGES)
PROMPTS = page.Page("reference/prompts.md")
WORDS = set(re.findall(r"[\w-]+", PAGE.text + PROMPTS.text))
PROGRAMS = [name for name in PAGE.files if name.endswith(".py")]


def test_what_it_begins_with_is_in_the_clone_and_sets_all_that_its_programs_read() -> None:
    begin = PAGE.text[PAGE.text.index("## Before you begin") : PAGE.text.index("## The program")]
    paths = re.findall(r"(?:tests|workspaced)/[\w/.]+\w", begin)
    assert len(paths) >= 2 and all((ROOT / path).exists() for path in paths)
    read = set(re.findall(r"[A-Z]+_[A-Z_]*URL", "".join(PAGE.files[name] for name in PROGRAMS)))
    assert read and {*read, "MODEL", "OPENAI_API_KEY"} <= set(re.findall(r"\w+", begin))


def test_it_names_all_attachments_and_what_of_them_the_library_holds() -> None:
    table = PROMPTS.text[PROMPTS.text.index("## Attachments") :]
    rows = [
        line.strip("|").split("|") for line in table[: table.index("\n\nEach")].splitlines() if line[:3] == "| `"
    ]
    later = {kind: row[3].strip() for row in rows[1:] for kind in re.findall(r"`(\w+)`", row[0])}
    assert later.keys() == set(get_args(AttachmentKind))
    held = {kind for kind, told in later.items() if told.startswith(("yes", "each note"))}
    assert held - {"active_note", "folder", "tag"} == LIBRARY_KINDS


def test_the_reference_explains_all_that_is_said_of_a_providers_cache() -> None:
    table = PROMPTS.text[PROMPTS.text.index("## Cache table") : PROMPTS.text.index("## Errors")]
    causes = {value for name, value in vars(cache_accounting).items() if name.isupper() and isinstance(value, str)}
    told = " ".join(table.split())
    assert len(causes) > 10 and not [
        each for each in causes - {cache_accounting.OTHER_PIPELINE} if each not in told
    ]
    assert all(f"`{outcome}`" in told for outcome in get_args(cache_accounting.Outcome))


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_programs_name_no_host(name: str) -> None:
    texts = [node.value for node in ast.walk(ast.parse(PAGE.files[name])) if isinstance(node, ast.Constant)]
    assert not [text for text in texts if isinstance(text, str) and "://" in text]


def test_it_names_all_layers_pins_pipelines_shapes_and_methods() -> None:
    assert {*LAYERS, *get_args(ProviderKind), *get_args(Pipeline), *SHAPES} <= WORDS
    methods = {name for name in vars(ContextMethods) if not name.startswith("_")}
    assert methods <= WORDS


def test_it_names_all_that_a_template_sees() -> None:
    words = set(re.findall(r"\w+", PAGE.text))
    assert {*Request.__struct_fields__, *Part.__struct_fields__} - words == set()
