"""The storage engine: segments on a disk, appended durably, scanned, recovered, salvaged."""
