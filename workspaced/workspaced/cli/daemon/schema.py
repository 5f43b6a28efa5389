"""`workspaced schema`."""

import json
from pathlib import Path
from typing import Any

import click

from ...api.json_schemas import all_schemas
from ...errors import SettingsInvalid


@click.command()
@click.argument("name", required=False)
@click.option(
    "--check", is_flag=True, help="Compare the files in DIR with what this version says; exit 1 if they differ."
)
@click.option("--write", is_flag=True, help="Write the files in DIR.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), default=Path("schemas"), show_default=True)
def schema_command(name: str | None, check: bool, write: bool, directory: Path) -> int:
    """Print the schema NAME, or the names of all."""
    schemas = all_schemas()
    if check or write:
        return _write(schemas, directory) if write else _check(schemas, directory)
    if name is None:
        for each in schemas:
            click.echo(each)
    elif name in schemas:
        click.echo(_text(schemas[name]), nl=False)
    else:
        raise SettingsInvalid(f"There is no schema {name[:100]!r}.", hint="`workspaced schema` lists them.")
    return 0


def _text(schema: Any) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _write(schemas: dict[str, Any], directory: Path) -> int:
    for path in _files(directory):
        if str(path.relative_to(directory).with_suffix("")) not in schemas:
            path.unlink()
    for name, schema in schemas.items():
        path = directory / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(schema))
    click.echo(f"{len(schemas)} schemas written to {directory}", err=True)
    return 0


def _check(schemas: dict[str, Any], directory: Path) -> int:
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
    for line in wrong:
        click.echo(line, err=True)
    if wrong:
        click.echo("Run `make schemas`, and read schemas/README.md on what may change.", err=True)
    return 1 if wrong else 0


def _files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.json"))
