"""Where the command begins, also as `python -m workspaced`.

The bridge is branched off before the command line is imported: an agent waits for it, and there may be many.
"""

import sys


def main() -> None:
    """Runs the bridge if that is all that was asked for, else the command line."""
    if sys.argv[1:2] == ["mcp"]:
        from .bridge import stdio

        if (target := stdio.target_of(sys.argv[2:])) is not None:
            sys.exit(stdio.run(target))
    from .cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
