"""`workspaced sweep`."""

from pathlib import Path
from typing import Any

import click
import msgspec

from workspaced_events.blobs.evictable import EvictableBlobStore

from ..discovery.records import running
from ..settings.settings import load_settings
from ..terminal.log import checked_log
from ..terminal.options import given, json_option, workspace_option
from ..terminal.output import output
from ..terminal.printing import say


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Default: the workspace's.")
@workspace_option
@click.option("--bytes", "record_bytes", type=int, metavar="N", help="Keep no more (default: record_bytes).")
@click.option("--days", "record_days", type=float, metavar="N", help="Keep no longer (default: record_days).")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@json_option
def sweep_command(data_dir: Path | None, dry_run: bool, **bounds: Any) -> None:
    """Forget what agents were shown: what was not shown for so long, then the longest ago beyond so many bytes.

    The log stays whole; calls whose answer went can no longer be shown or replayed, and say so. A daemon does this
    by itself every hour; this works beside one.
    """
    settings = load_settings(data_dir=data_dir, workspace=given("workspace"), **bounds)
    ran = (Path(each.data_dir) for each in running() if each.workspace == settings.workspace)
    data = checked_log(settings, next(ran, None) if settings.data_dir is None else None)
    swept = EvictableBlobStore(data).sweep(settings.record_bytes, settings.record_days, dry_run=dry_run)
    would = "would be " if dry_run else ""

    def tell(_: object) -> None:
        say(f"{swept.removed} blobs {would}removed, {swept.removed_bytes} bytes.")
        say(f"{swept.kept} blobs {would}kept, {swept.kept_bytes} bytes.")

    output({**msgspec.to_builtins(swept), "dryRun": dry_run}, tell)
