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
_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_KEYWORDS: Final = {"from": "from_"}
Schema = dict[str, Any]


class Structs:
    """The structs of all answers, by the names of their definitions in the schemas, innermost first."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._made: dict[str, Schema] = {}

    def type_of(self, schema: Schema, definitions: Schema) -> str:
        """The Python type of a schema. A definition with properties becomes a struct of its name.

        Raises:
            ValueError: definitions of one name differ.
        """
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self._named(name, definitions)
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            return " | ".join(dict.fromkeys(self.type_of(each, definitions) for each in branches))
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.type_of({**schema, "type": each}, definitions) for each in kind)
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), definitions)}]"
        return "dict[str, Any]" if kind == "object" else _SCALARS.get(str(kind), "Any")

    def _named(self, name: str, definitions: Schema) -> str:
        definition = definitions[name]
        if not definition.get("properties"):
            # It may name itself, and what is no struct has no name for that.
            return self.type_of(definition, {**definitions, name: {}}) if definition else "Any"
        if name not in self._made:
            self._made[name] = definition
            self.lines += self._struct(name, definition, definitions)
        elif self._made[name] != definition:
            raise ValueError(f"Two tools define {name!r} differently.")
        return name

    def _struct(self, name: str, definition: Schema, definitions: Schema) -> list[str]:
        lines = [f"class {name}({_STRUCT}):", '    """See docs/reference/tools.md."""', ""]
        for field, each in definition["properties"].items():
            type_ = self.type_of(each, definitions)
            if "None" not in type_.split(" | ") and type_ != "Any":
                type_ += " | None"
            lines.append(f"    {_field(field)}: {type_} = {_renamed(field)}")
        return [*lines, "", ""]


_STRUCT: Final = "msgspec.Struct, frozen=True, kw_only=True, rename=camel"
_ANSWER: Final = '''
class Answer(msgspec.Struct, frozen=True, kw_only=True, rename=camel):
    """The answer of a tool. `data` is set if and only if `success`; otherwise `error` and `code` are."""

    success: bool
    message: str = ""
    as_of_seq: int | None = None
    error: str | None = None
    code: str | None = None
    warnings: list[str] = []
    truncation: Truncation | None = None
    details: dict[str, Any] | None = None
    """What a failure says besides, as JSON values: candidates, near titles, the outline."""


A = TypeVar("A", bound=Answer)


def _typed(answer: dict[str, Any], type_: type[A]) -> A:
    if not answer["success"]:
        answer = {**answer, "data": None, "details": answer.get("data")}
    return converted(answer, type_)
'''


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
        yield ""
        yield f"    {prefix}def {tool}("
        yield "        self,"
        if schema["properties"]:
            yield "        *,"
        for name, each in sorted(schema["properties"].items(), key=lambda pair: pair[0] not in required):
            type_ = Structs().type_of(each, {})
            default = "" if name in required else " | None = None"
            yield f"        {_field(name)}: {type_}{default},"
        yield f"    ) -> {answer}:"
        yield f'        """Calls `{tool}`; see docs/reference/tools.md for its arguments."""'
        yield "        arguments = {"
        for name in schema["properties"]:
            yield f'            "{name}": {_field(name)},'
        yield "        }"
        yield f'        return _typed({awaited}self.tool("{tool}", _given(arguments)), {answer})'
    yield ""


def generated() -> str:
    """The text of the module."""
    lines = [
        '"""Answers of the tools as structs, and a method for each tool.',
        "",
        "Generated by docs/generator/python_answers.py from schemas/tools: run `make schemas`.",
        '"""',
        "",
        "from typing import Any, TypeVar",
        "",
        "import msgspec",
        "",
        "from workspaced_events.schema.decoding import converted",
        "",
        "",
        "def camel(name: str) -> str:",
        '    """The wire name of a field."""',
        '    first, *others = name.rstrip("_").split("_")',
        '    return first + "".join(each.title() for each in others)',
        "",
        "",
    ]
    structs, answers = Structs(), list[str]()
    tools: dict[str, tuple[Schema, str]] = {}
    for path in sorted(SCHEMAS.glob("*.input.json")):
        tool = path.name.removesuffix(".input.json")
        schema = json.loads(path.with_name(f"{tool}.output.json").read_text())
        for part in (_data(schema), "Truncation"):
            if part in schema["$defs"]:
                structs.type_of({"$ref": part}, schema["$defs"])
        name = "".join(part.title() for part in tool.removeprefix("get_").split("_")) + "Answer"
        answers += [f"class {name}(Answer, frozen=True, kw_only=True):", f'    """The answer of `{tool}`."""', ""]
        answers += [f"    data: {_data(schema)} | None = None", "", ""]
        tools[tool] = json.loads(path.read_text()), name
    lines += [*structs.lines, *_ANSWER.splitlines(), "", "", *answers]
    lines += ["def _given(arguments: dict[str, Any]) -> dict[str, Any]:"]
    lines += ["    return {name: value for name, value in arguments.items() if value is not None}", "", ""]
    lines += [*_methods(tools, is_async=False), "", *_methods(tools, is_async=True)]
    return _formatted("\n".join(lines))


def _data(schema: Schema) -> str:
    """The struct of a success's data: the first of the schemas of `data`; the others are those of failures."""
    data = schema["properties"]["data"]
    reference: str = data.get("anyOf", [data])[0]["$ref"]
    return reference.rpartition("/")[2]


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
