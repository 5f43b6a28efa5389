"""`workspaced publish`."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from workspaced_events.limits import BATCH_ACTIONS_MAX
from workspaced_events.schema.catalogue import CATALOGUE

from ...client.sync_client import SyncClient
from ...errors import SettingsInvalid
from ...terminal.daemon import daemon
from ...terminal.options import daemon_options, pairs, vault_option
from ...terminal.output import output
from ...terminal.printing import say, warn


def _actions(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The types of actions that a client may publish, for completion."""
    return [name for name, entry in CATALOGUE.items() if entry.by_ui and name.startswith(incomplete)]


@click.command()
@click.argument("type_", metavar="[TYPE]", required=False, shell_complete=_actions)
@click.argument("fields", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read actions as JSON, one a line.")
@click.option("--source", default="cli", show_default=True, help="The publisher's name.")
@click.option("--id", "action_id", help="Idempotency key: the same id twice is one event.")
@click.option("--to-vault", metavar="ID", help="Publish to this vault instead of the current one.")
@vault_option
@daemon_options
def publish_command(
    type_: str | None,
    fields: tuple[str, ...],
    from_stdin: bool,
    source: str,
    action_id: str | None,
    to_vault: str | None,
    vaults: tuple[str, ...],
) -> None:
    """Publish an action, durably. A note that is not in the vault is a warning that names near ones.

    \b
    workspaced publish active_note_set note=work/plan.md
    workspaced publish pinned_notes_reordered 'notes=["b.md","a.md"]'
    echo '{"type":"note_pinned","data":{"note":"a.md"}}' | workspaced publish --stdin
    """
    if from_stdin == (type_ is not None):
        raise SettingsInvalid("Expected either a TYPE or --stdin.", hint="See `workspaced publish --help`.")
    with daemon(vaults=vaults, write=True) as client:
        if type_ is not None:
            action: dict[str, Any] = {"type": type_, "data": _typed(type_, pairs(fields))}
            action |= {"id": action_id} if action_id is not None else {}
            action |= {"vault": to_vault} if to_vault else {}
            _publish(client, [action], source)
        else:
            for batch in _batches():
                _publish(client, batch, source)


def _publish(client: SyncClient, batch: list[Any], source: str) -> None:
    receipts, warnings = client.publish_checked(batch, source=source)
    for number, action in enumerate(batch):
        type_ = action.get("type", "")
        if not receipts:  # the workspace is paused
            output({"paused": True}, f"paused {type_}")
            continue
        receipt = receipts[number]
        again = " (already there)" if receipt["duplicate"] else ""
        if of_it := [each for each in warnings if each["seq"] == receipt["seq"]]:
            receipt = {**receipt, "warnings": of_it}
        output(receipt, f"{receipt['seq']} {type_}{again}")
    for warning in warnings:
        warn(warning["message"])
        for note in warning["near"]:
            say(f"  near: {note['path']} ({note['title']})", err=True)


def _typed(type_: str, texts: dict[str, str]) -> dict[str, Any]:
    """Converts the texts to the types of the action's fields; invalid ones stay, for the daemon to refuse."""
    values = {key: _json_or_text(text) for key, text in texts.items()}
    entry = CATALOGUE.get(type_)
    if entry is None or values.keys() - entry.fields:
        return values
    try:
        typed: dict[str, Any] = msgspec.to_builtins(msgspec.convert(values, entry.data, strict=False))
    except msgspec.ValidationError:
        return {key: _scalar(value) for key, value in values.items()}
    return {key: typed.get(key) for key in values}


def _json_or_text(text: str) -> Any:
    if text == "null":
        return None
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _scalar(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _batches() -> Iterator[list[Any]]:
    """Actions from standard input, one batch per read, so that a live pipe is not delayed."""
    rest, number = b"", 0
    while data := os.read(sys.stdin.fileno(), 64 * 1024):
        *lines, rest = (rest + data).split(b"\n")
        actions: list[Any] = []
        bad: SettingsInvalid | None = None
        try:
            for line in lines:
                number += 1
                if line.strip():
                    actions.append(_action(line, number))
        except SettingsInvalid as error:
            bad = error
        for start in range(0, len(actions), BATCH_ACTIONS_MAX):
            yield actions[start : start + BATCH_ACTIONS_MAX]
        if bad is not None:  # the lines before it have been published
            raise bad
    if rest.strip():
        yield [_action(rest, number + 1)]


def _action(line: bytes, number: int) -> Any:
    from workspaced_events.journal.actions import ENVELOPE_HINT

    try:
        action = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(
            f"Line {number} of standard input is no JSON: {error}.", hint=ENVELOPE_HINT
        ) from None
    except RecursionError:
        raise SettingsInvalid(f"Line {number} of standard input is nested too deep.", hint=ENVELOPE_HINT) from None
    if not isinstance(action, dict):
        raise SettingsInvalid(
            f"Line {number} of standard input: expected an object, got {line[:100]!r}.", hint=ENVELOPE_HINT
        )
    return action
