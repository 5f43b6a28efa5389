"""A data directory as a source of replays."""

from hashlib import sha256
from pathlib import Path

import pytest

from workspaced_events.blobs.durable import blob_path
from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.limits import LINE_BYTES_MAX
from workspaced_events.log.data_directory import BLOBS, LOG
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import DirectorySource


def test_a_blob_that_cannot_be_read_is_damage_and_not_missing(tmp_path: Path) -> None:
    name = sha256(b"a text").hexdigest()
    (tmp_path / LOG).mkdir()
    (tmp_path / blob_path(BLOBS, name)).mkdir(parents=True)  # whoever runs this may read every file, but no folder
    with DirectorySource(tmp_path) as source, pytest.raises(LogDamaged, match=f"{name} cannot be read"):
        source.blob(name)


def test_a_file_whose_first_line_does_not_end_is_no_export(tmp_path: Path) -> None:
    """Such as /dev/zero, of which all memory would not be enough."""
    export = tmp_path / "log.jsonl"
    header = b'{%s"workspaced":"log","version":1,"log":"a7b937df6537c7ae"}\n'
    export.write_bytes(header % b"")
    with open_source(export) as source:
        assert source.log_id == "a7b937df6537c7ae"
    export.write_bytes(header % (b" " * LINE_BYTES_MAX))
    with pytest.raises(InvalidArgument, match=r"log\.jsonl is no export"):
        open_source(export)
