"""`workspaced schema`."""

import json
from pathlib import Path
from typing import Any

import click

from ...api.json_schemas import all_schemas, definitions
from ...errors import SettingsInvalid
from ...inspector.routes import ANSWERS
from ..shared.options import json_option
from ..shared.output import output
from ..shared.printing import say, say_text


@click.command()
@click.argument("name", required=False)
@click.option(
    "--check", is_flag=True, help="Compare the files in DIR with what this version says; exit 1 if they differ."
)
@click.option("--write", is_flag=True, help="Write the files in DIR.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), default=Path("schemas"), show_default=True)
@json_option
def schema_command(name: str | None, check: bool, write: bool, directory: Path) -> int:
    """Print the schema NAME, or the names of all."""
    schemas = _schemas()
    if check or write:
        written = _write(schemas, directory) if write else None
        wrong = _differing(schemas, directory) if check and not write else []
        answer = {"ok": not wrong, "directory": str(directory), "written": written, "wrong": wrong}
        output(answer, _report)
        return 1 if wrong else 0
    if name is None:
        output(list(schemas), lambda names: say_text("\n".join(names)))
    elif name in schemas:
        output(schemas[name], lambda schema: say_text(_text(schema)))
    else:
        raise SettingsInvalid(f"There is no schema {name[:100]!r}.", hint="`workspaced schema` lists them.")
    return 0


def _schemas() -> dict[str, Any]:
    """Every schema by its name: of what crosses the daemon's socket, and of the inspector's API."""
    inspector = definitions("Inspector", "The answers of the inspector's API, one definition each.", ANSWERS)
    return dict(sorted({**all_schemas(), "inspector": inspector}.items()))


def _text(schema: Any) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _write(schemas: dict[str, Any], directory: Path) -> int:
    """Writes the files; returns how many."""
    for path in _files(directory):
        if str(path.relative_to(directory).with_suffix("")) not in schemas:
            path.unlink()
    for name, schema in schemas.items():
        path = directory / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(schema))
    return len(schemas)


def _differing(schemas: dict[str, Any], directory: Path) -> list[str]:
    """What is wrong with the files, a line for each."""
    if not directory.is_dir():
        raise SettingsInvalid(f"There is no folder {directory}.", hint="Name it with --dir.")
    present = {path.relative_to(directory).as_posix().removesuffix(".json"): path for path in _files(directory)}
    wrong = [f"{name} is missing" for name in schemas if name not in present]
    wrong += [f"{name} is none of this version" for name in present if name not in schemas]
    wrong += [
        f"{name} differs"
        for name, path in present.items()
        if name in schemas and path.read_text() != _text(schemas[name])
    ]
    return wrong


def _report(answer: dict[str, Any]) -> None:
    if answer["written"] is not None:
        say(f"{answer['written']} schemas written to {answer['directory']}", err=True)
    for line in answer["wrong"]:
        say(line, err=True)
    if answer["wrong"]:
        say("Run `make schemas`, and read schemas/README.md on what may change.", err=True)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.json"))
