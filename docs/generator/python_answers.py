"""Writes workspaced/workspaced/client/answers.py from schemas/tools/: typed answers and methods in Python.

    python docs/generator/python_answers.py           writes it
    python docs/generator/python_answers.py --check   exits with 1 where the file differs

A field that an answer may lack, or that a later version adds, harms nobody: the one is None, the other is ignored.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
SCHEMAS: Final = ROOT / "schemas" / "tools"
TARGET: Final = ROOT / "workspaced" / "workspaced" / "client" / "answers.py"
_COMMON: Final = {
    "success": "bool",
    "message": 'str = ""',
    "as_of_seq": "int | None = None",
    "error": "str | None = None",
    "code": "str | None = None",
    "hint": "str | None = None",
    "warnings": "list[str] = []",
    "truncation": "dict[str, Any] | None = None",
}
"""Fields of every answer. `success` decides whether `data` or `error` and `code` are there."""
_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_KEYWORDS: Final = {"from": "from_"}
Schema = dict[str, Any]


class Structs:
    """The structs of one tool's answer, innermost first."""

    def __init__(self, root: Schema) -> None:
        self._definitions: Schema = root.get("$defs", {})
        self.lines: list[str] = []
        self._made: dict[str, str] = {}

    def type_of(self, schema: Schema, name: str) -> str:
        """The Python type of a schema; an object with properties becomes a struct called `name`."""
        if "$ref" in schema:
            target = schema["$ref"].rpartition("/")[2]
            if target not in self._made:
                definition = self._definitions[target]
                # While it is being made it may name itself; what is no struct has no name for that.
                self._made[target] = name if definition.get("properties") else "Any"
                self._made[target] = self.type_of(definition, name)
            return self._made[target]
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            return " | ".join(dict.fromkeys(self._branches(branches, name)))
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.type_of({**schema, "type": each}, name) for each in kind)
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), f'{name}Item')}]"
        if kind == "object" and schema.get("properties"):
            return self._struct(schema, name)
        if kind == "object":
            return "dict[str, Any]"
        return _SCALARS.get(str(kind), "Any")

    def _branches(self, branches: list[Schema], name: str) -> Iterator[str]:
        """One struct at most: msgspec cannot tell two of them apart."""
        types = [self.type_of(each, f"{name}{number or ''}") for number, each in enumerate(branches)]
        structs = [each for each in types if each.startswith(name)]
        yield from ["dict[str, Any]" if each in structs and len(structs) > 1 else each for each in types]

    def _struct(self, schema: Schema, name: str) -> str:
        lines = [f"class {name}({_STRUCT}):", '    """See docs/reference/tools.md."""', ""]
        for field, each in schema["properties"].items():
            type_ = self.type_of(each, name + field[:1].upper() + field[1:])
            if "None" not in type_.split(" | ") and type_ != "Any":
                type_ += " | None"
            lines.append(f"    {_field(field)}: {type_} = {_renamed(field)}")
        self.lines += [*lines, "", ""]
        return name


_STRUCT: Final = "msgspec.Struct, frozen=True, kw_only=True, rename=camel"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _field(name: str) -> str:
    return _KEYWORDS.get(_snake(name), _snake(name))


def _renamed(name: str) -> str:
    return f'msgspec.field(name="{name}", default=None)' if _snake(name) in _KEYWORDS else "None"


def _methods(tools: dict[str, tuple[Schema, str]], *, is_async: bool) -> Iterator[str]:
    prefix, awaited = ("async ", "await ") if is_async else ("", "")
    yield f"class {'AsyncToolMethods' if is_async else 'ToolMethods'}:"
    yield '    """A method for each tool; a failure is an answer with `success` false and a `code`."""'
    yield ""
    yield f"    {prefix}def tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:"
    yield '        """The answer of any tool as JSON values."""'
    yield "        raise NotImplementedError"
    for tool, (schema, answer) in tools.items():
        required = schema.get("required", [])
        structs = Structs(schema)
        yield ""
        yield f"    {prefix}def {tool}("
        yield "        self,"
        if schema["properties"]:
            yield "        *,"
        for name, each in sorted(schema["properties"].items(), key=lambda pair: pair[0] not in required):
            type_ = structs.type_of(each, "Any")
            default = "" if name in required else " | None = None"
            yield f"        {_field(name)}: {type_}{default},"
        yield f"    ) -> {answer}:"
        yield f'        """Calls `{tool}`; see docs/reference/tools.md for its arguments."""'
        yield "        arguments = {"
        for name in schema["properties"]:
            yield f'            "{name}": {_field(name)},'
        yield "        }"
        yield f'        return msgspec.convert({awaited}self.tool("{tool}", _given(arguments)), {answer})'
    yield ""


def generated() -> str:
    """The text of the module."""
    lines = [
        '"""Answers of the tools as structs, and a method for each tool.',
        "",
        "Generated by docs/generator/python_answers.py from schemas/tools: run `make schemas`.",
        '"""',
        "",
        "from typing import Any",
        "",
        "import msgspec",
        "",
        "",
        "def camel(name: str) -> str:",
        '    """The wire name of a field."""',
        '    first, *others = name.rstrip("_").split("_")',
        '    return first + "".join(each.title() for each in others)',
        "",
        "",
    ]
    tools: dict[str, tuple[Schema, str]] = {}
    for path in sorted(SCHEMAS.glob("*.input.json")):
        tool = path.name.removesuffix(".input.json")
        schema = json.loads(path.with_name(f"{tool}.output.json").read_text())
        name = "".join(part.title() for part in tool.removeprefix("get_").split("_"))
        structs = Structs(schema)
        data = structs.type_of(schema["properties"].get("data", {}), f"{name}Data")
        lines += structs.lines
        lines += [f"class {name}({_STRUCT}):", f'    """The answer of `{tool}`."""', ""]
        lines += [f"    {field}: {type_}" for field, type_ in _COMMON.items()]
        lines += [f"    data: {data} | None = None", "", ""]
        tools[tool] = json.loads(path.read_text()), name
    lines += ["def _given(arguments: dict[str, Any]) -> dict[str, Any]:"]
    lines += ["    return {name: value for name, value in arguments.items() if value is not None}", "", ""]
    lines += [*_methods(tools, is_async=False), "", *_methods(tools, is_async=True)]
    return _formatted("\n".join(lines))


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [ruff, "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> int:
    """Writes or compares the module; returns the exit code."""
    text = generated()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if TARGET.is_file() and TARGET.read_text() == text:
        return 0
    sys.stderr.write(f"{TARGET} is not what schemas/tools gives: run `make schemas`.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
