"""The least that the official Python SDK does for a call: `python peer_sdk.py VAULT`, where `mcp` is installed."""

import sys
from pathlib import Path

from mcp.server.fastmcp import FastMCP  # type: ignore[import-not-found]


def main(vault: Path) -> None:
    """Serves one tool until stdin ends."""
    server = FastMCP("floor", log_level="ERROR")

    def read(path: str) -> str:
        """Read a note."""
        return (vault / path).read_text(encoding="utf-8")

    server.add_tool(read)
    server.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
