"""`workspaced schema`."""

import json
from pathlib import Path
from typing import Any

import click

from ...api.json_schemas import all_schemas, definitions
from ...errors import SettingsInvalid
from ...inspector.routes import ANSWERS
from ..shared.options import json_option
from ..shared.printing import print_json, say, say_text


@click.command()
@click.argument("name", required=False)
@click.option(
    "--check", is_flag=True, help="Compare the files in DIR with what this version says; exit 1 if they differ."
)
@click.option("--write", is_flag=True, help="Write the files in DIR.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), default=Path("schemas"), show_default=True)
@json_option
def schema_command(name: str | None, check: bool, write: bool, directory: Path, as_json: bool) -> int:
    """Print the schema NAME, or the names of all."""
    schemas = _schemas()
    if check or write:
        written = _write(schemas, directory) if write else None
        wrong = _differing(schemas, directory) if check and not write else []
        return _report(directory, written, wrong, as_json=as_json)
    if name is None and as_json:
        print_json(list(schemas))
    elif name is None:
        for each in schemas:
            say(each)
    elif name in schemas:
        print_json(schemas[name]) if as_json else say_text(_text(schemas[name]))
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


def _report(directory: Path, written: int | None, wrong: list[str], *, as_json: bool) -> int:
    """Prints what was written or is wrong; returns the exit code."""
    if as_json:
        print_json({"ok": not wrong, "directory": str(directory), "written": written, "wrong": wrong})
    elif written is not None:
        say(f"{written} schemas written to {directory}", err=True)
    for line in [] if as_json else wrong:
        say(line, err=True)
    if wrong and not as_json:
        say("Run `make schemas`, and read schemas/README.md on what may change.", err=True)
    return 1 if wrong else 0


def _files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.json"))
