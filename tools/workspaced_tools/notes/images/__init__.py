"""Images as notes and bytes tell of them: the files that a note embeds, types and sizes. No I/O."""
