"""Writes a golden log: a small data directory, its export and its state, as the code it runs on makes them.

    PYTHONPATH=events python tests/data/logs/write.py tests/data/logs

makes `v<version of the catalogue>/`, `v<version>.jsonl` and `v<version>.state.json` of the events in `rows.jsonl`.
There a line is a type and its data; `sha256 of TEXT` stands for the name of a blob with that text, `{long}` for a
long text, `{last}` for the sequence of the event before. Until the first release the one version is written anew
when it changes; from then on a version's files are what users have, and stay.
"""

import itertools
import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal, read_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.schema.catalogue import CATALOGUE, CATALOGUE_VERSION

NAMED = "sha256 of "
LONG = "A long selection lies in a blob. " * 200


def main(directory: Path) -> None:
    name = f"v{CATALOGUE_VERSION}"
    data = directory / name
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    ticks = itertools.count()
    journal = open_journal(
        RealDisk(data),
        version="golden",
        clock=lambda: f"2026-03-01T12:00:00.{next(ticks):06}Z",
        segment_bytes_max=6_000,
    )
    rows = [json.loads(line) for line in (directory / "rows.jsonl").read_text().splitlines()]
    assert {type_ for type_, _data in rows} == set(CATALOGUE)
    for type_, wire in rows:
        append(journal, type_, wire)
    journal.writer.close()
    events = []
    scan = read_journal(data, events.extend)
    assert scan.damage is None and scan.segments > 1
    (directory / f"{name}.jsonl").write_bytes(b"".join(export_lines(scan.log_id, events, visibility=True)))
    state = journal.writer.state
    golden = {
        "state": msgspec.to_builtins(state),
        "vaults": {vault: msgspec.to_builtins(to_json(state, vault)) for vault in state.by_vault},
    }
    text = json.dumps(golden, ensure_ascii=False, indent=1)
    (directory / f"{name}.state.json").write_text(text + "\n")


def append(journal: Journal, type_: str, wire: dict[str, Any]) -> None:
    seq, blobs = journal.log.tail.seq, list[bytes]()

    def meant(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: meant(each) for key, each in value.items()}
        if isinstance(value, list):
            return list(map(meant, value))
        if value == "{last}":
            return seq
        if not isinstance(value, str):
            return value
        value = value.replace("tab-{last}", f"tab-{seq}").replace("tab-{last but one}", f"tab-{seq - 1}")
        if not value.startswith(NAMED):
            return value
        blobs.append(value.removeprefix(NAMED).replace("{long}", LONG).encode())
        return sha256(blobs[-1]).hexdigest()

    entry = CATALOGUE[type_]
    action = Action(msgspec.convert(meant(wire), entry.data), blobs=tuple(blobs))
    if type_ == "vault_closed":  # what the daemon appends itself is admitted as it is
        action = msgspec.structs.replace(action, vault=wire["vaultId"])
    outcome: list[Any] = []
    journal.writer.submit([action], "editor" if entry.by_ui else "workspaced", outcome.append)
    for done, came in journal.writer.commit().outcomes:
        done(came)
    assert isinstance(outcome[0], list), outcome[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
