"""Entry point of the command, also as `python -m workspaced`.

The bridge and the hooks start before the command line is imported: an agent waits for them, and there may be many.
A daemon decides where its compiled modules lie before it imports them.
"""

import gc
import sys


def main() -> None:
    """Runs the bridge or a hook if the arguments ask for no more, else the command line."""
    if sys.argv[1:2] == ["mcp"]:
        from .bridge.target import target_of as bridge_target_of

        if (bridged := bridge_target_of(sys.argv[2:])) is not None:
            from .bridge import stdio

            sys.exit(stdio.run(bridged))
    if sys.argv[1:2] == ["hook"]:
        from .hooks import hook

        if (hooked := hook.target_of(sys.argv[2:])) is not None:
            sys.exit(hook.run(hooked))
        from .cli import run

        code = run()
        sys.exit(1 if code == 2 else code)  # to a runtime, 2 means that the user's prompt is to be blocked
    if sys.argv[1:2] == ["serve"]:
        gc.disable()  # imports make no garbage; the command collects again once all is imported
    from .cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
