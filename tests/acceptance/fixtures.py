"""A daemon that has what the conformance suite asks for: `fixtures.py PYTHON -m workspaced serve ...`.

The suite drives tools and resources of its own naming. They are registered here, from outside, as values of the
product's own kinds, so that all the rest (dispatch, schemas, errors, subscriptions) is the product's. What the
product has no kind for (images, prompts, ...) is not here but in the baseline.
"""

import sys
from typing import Any

from pydantic import Field

from workspaced_tools.answers import Part
from workspaced_tools.errors import ToolError
from workspaced_tools.ports.view import View
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Answer, Arguments, Tool

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""As the scenario `json-schema-2020-12` wants it listed."""


class Said(Part):
    text: str


class Uri(Arguments):
    uri: str = Field(max_length=200)


class Refused(ToolError):
    code = "REFUSED"


class WithSchema(Tool[Arguments]):
    """A tool whose schema was written by hand, and is listed whole.

    The product lists shorter schemas; the suite asks whether what is listed arrives as it is.
    """

    input_schema = SCHEMA  # type: ignore[assignment]

    @property
    def definition(self) -> dict[str, Any]:  # type: ignore[override]
        return {**super().definition, "inputSchema": SCHEMA}


def say(_view: View, _arguments: Arguments) -> Answer[Said]:
    return Answer(Said("This is a simple text response for testing."), "Said.")


def refuse(_view: View, _arguments: Arguments) -> Answer[Said]:
    raise Refused("This tool intentionally returns an error for testing", hint="There is none.")


def resource(_view: View, arguments: Uri) -> Answer[Said]:
    return Answer(Said(f"This is {arguments.uri}."), "Read.")


READ = Tool("test_resource", "Read a resource of the suite.", Uri, Said, resource)
NOT_TOLD_OF = ("test_streaming_elicitation", "test_logging_tool")
"""While these run the suite listens for what a server must not send: requests, and logs nobody asked for."""
TEXTS = ("test://static-text", "test://watched-resource", "test://template/123/data")


def register() -> None:
    """Adds the fixtures to the product, before it makes its lists of them."""
    fixtures: list[Tool[Any]] = [
        Tool("test_simple_text", "Say a simple text.", Arguments, Said, say),
        Tool("test_error_handling", "Fail.", Arguments, Said, refuse),
        *(Tool(name, "Say a simple text.", Arguments, Said, say) for name in NOT_TOLD_OF),
        WithSchema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", Arguments, Said, say),
    ]
    TOOLS.update({tool.name: tool for tool in fixtures})

    from workspaced.mcp import resource_subscriptions, resources

    product = resources.resource

    def with_fixtures(uri: str) -> resources.Resource:
        return resources.Resource(READ, {"uri": uri}) if uri in TEXTS else product(uri)

    for module in (resources, resource_subscriptions):
        module.resource = with_fixtures  # type: ignore[assignment]


if __name__ == "__main__":
    register()
    del sys.argv[1:4]
    from workspaced.__main__ import main

    main()
