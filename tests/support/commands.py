"""The commands of the command line."""

from collections.abc import Iterator

import click

from workspaced.cli import cli


def _leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from _leaves(part, (*path, name))
    else:
        yield path, command


COMMANDS = dict(_leaves(cli))
"""Each by its words, such as `("log", "verify")`."""
