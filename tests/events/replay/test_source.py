"""A data directory as a source of replays."""

from hashlib import sha256
from pathlib import Path

import pytest

from workspaced_events.blobs.durable import blob_path
from workspaced_events.errors import LogDamaged
from workspaced_events.log.data_directory import BLOBS, LOG
from workspaced_events.replay.source import DirectorySource


def test_a_blob_that_cannot_be_read_is_damage_and_not_missing(tmp_path: Path) -> None:
    name = sha256(b"a text").hexdigest()
    (tmp_path / LOG).mkdir()
    (tmp_path / blob_path(BLOBS, name)).mkdir(parents=True)  # whoever runs this may read every file, but no folder
    with DirectorySource(tmp_path) as source, pytest.raises(LogDamaged, match=f"{name} cannot be read"):
        source.blob(name)
