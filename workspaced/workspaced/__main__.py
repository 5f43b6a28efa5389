"""Entry point of the command, also as `python -m workspaced`.

The bridge starts before the command line is imported: an agent waits for it, and there may be many bridges.
"""

import sys


def main() -> None:
    """Runs the bridge if the arguments ask for the bridge only, else the command line."""
    if sys.argv[1:2] == ["mcp"]:
        from .bridge import stdio

        if (target := stdio.target_of(sys.argv[2:])) is not None:
            sys.exit(stdio.run(target))
    from .cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
