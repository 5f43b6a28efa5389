"""Nothing is printed but through `terminal/printing.py`, which escapes what a terminal would obey."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "workspaced" / "workspaced"
DOORS = {"terminal/printing.py"}
BY_RICH = {
    "terminal/output.py": "a progress bar, in words of the program",
    "connecting/start_command.py": "a progress bar, in words of the program",
    "demo/command.py": "the demo's own story",
}
OTHERS = {"click": {"echo", "secho", "echo_via_pager", "confirm", "prompt"}, "logging": {"basicConfig"}}
STREAMS = {"write", "writelines", "buffer"}


def ways_to_print(source: str) -> set[str]:
    """What of a module prints by itself."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="print" | "Console" as name)):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in OTHERS.get(module, ()):
                found.add(f"{module}.{name}")
            case ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr" as stream), attr=name) if (
                name in STREAMS
            ):
                found.add(f"{stream}.{name}")
    return found


def test_nothing_prints_by_other_means() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): ways_to_print(path.read_text()) for path in PACKAGE.rglob("*.py")
    }
    others = {name: ways for name, ways in found.items() if ways and name not in DOORS}
    assert {name: ways for name, ways in others.items() if ways != {"Console"} or name not in BY_RICH} == {}
