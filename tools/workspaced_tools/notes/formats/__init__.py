"""Formats of files that are no Markdown: which kind a name tells, and canvases as Markdown. No I/O."""
