"""The storage engine: segments on a disk, with durable appends, scanning, recovery, backup and salvage."""
