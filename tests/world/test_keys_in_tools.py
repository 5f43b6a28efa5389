"""Keys in definitions of tools: a field of a provider's own types is kept on purpose, or taken out as a secret."""

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Factory
from support.stored_texts import unpacked

from workspaced_tools.prompts.providers.tool_definitions import kept_form

HERE = Path(__file__).parent
CANARY = "canary-4f1d"

TAKEN_OUT = {
    *("access_token", "api_auth", "auth_config", "authorization", "authorization_token", "domain_secrets"),
    "headers",
}
"""Fields of today's types whose values are credentials, or objects that hold them."""
INSIDE = {
    *("alpha", "google_service_account_config", "http_element_location", "oauth_config", "oidc_config"),
    *("service_account", "domain", "value"),
}
"""Fields inside those that say nothing by themselves."""


def fields_of(kind: Any, seen: set[Any]) -> Iterator[str]:
    """The names of all fields that a type of a provider's package has, at any depth."""
    kind = getattr(kind, "__value__", kind)
    for inner in typing.get_args(kind):
        yield from fields_of(inner, seen)
    if not isinstance(kind, type) or kind in seen:
        return
    seen.add(kind)
    if hasattr(kind, "model_fields"):
        hints = {name: field.annotation for name, field in kind.model_fields.items()}
    else:
        hints = typing.get_type_hints(kind) if hasattr(kind, "__required_keys__") else {}
    for name, inner in hints.items():
        yield name
        yield from fields_of(inner, seen)


def provider_types() -> Iterator[Any]:
    anthropic = pytest.importorskip("anthropic.types.beta")
    yield from (anthropic.BetaToolUnionParam, anthropic.BetaRequestMCPServerURLDefinitionParam)
    yield pytest.importorskip("openai.types.responses").ToolParam
    yield pytest.importorskip("openai.types.chat").ChatCompletionToolUnionParam
    yield pytest.importorskip("google.genai.types").Tool


def test_each_field_of_the_providers_types_is_kept_or_known_as_a_secret() -> None:
    names = {name for kind in provider_types() for name in fields_of(kind, set())}
    assert len(names) > 200, "the types could not be read"
    kept = {name for name in names if CANARY in json.dumps(kept_form([{name: {"x": CANARY}}])[0])}
    known = set((HERE / "tools" / "kept_fields.txt").read_text().split())
    assert kept - known - INSIDE == set(), "new fields: credentials, or of kept_fields.txt?"
    assert names - kept >= TAKEN_OUT


SECRET_TOOLS = json.loads((HERE / "tools" / "with_keys.json").read_text())


@pytest.mark.parametrize("case", SECRET_TOOLS, ids=lambda case: case["name"])
def test_a_definition_is_kept_without_its_keys(case: dict[str, Any]) -> None:
    kept, taken = kept_form([case["given"]])
    assert kept == [case["kept"]]
    assert [place.removeprefix("tools[0].") for place in taken] == case["taken"]


def test_no_file_of_a_daemon_holds_a_key_of_a_tool(daemon: Factory) -> None:
    running = daemon()
    tools = [case["given"] for case in SECRET_TOOLS]
    with running.connect() as client:
        settings = {"provider": "openai", "model": "m", "contextWindow": 100_000, "outputReserve": 1_000}
        begun = client.call("workspaced/context/start", {**settings, "tools": tools})
        assert "tools[0]." in begun["warnings"][0] and CANARY not in begun["warnings"][0]
    running.stop()
    for path in running.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert CANARY.encode() not in data + unpacked(data), path
