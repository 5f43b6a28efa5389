"""`workspaced completion`."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from ...terminal.options import json_option
from ...terminal.output import output
from ...terminal.printing import say_text

VARIABLE = "_WORKSPACED_COMPLETE"
"""The variable by which a shell asks for completions, as click reads it."""

_ZSH_HEAD: Final = "#compdef workspaced\n"
_ZSH_COMPDEF: Final = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n"
"""Whoever has not switched completion on has no `compdef`."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion_command(shell: str) -> None:
    """Print the script that has SHELL complete commands, options, and names of actions and tools.

    \b
    bash
    echo 'command -v workspaced >/dev/null && eval "$(workspaced completion bash)"' >> ~/.bashrc
    zsh
    echo 'command -v workspaced >/dev/null && eval "$(workspaced completion zsh)"' >> ~/.zshrc
    fish
    mkdir -p ~/.config/fish/completions; workspaced completion fish > ~/.config/fish/completions/workspaced.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    script = made(root, {}, "workspaced", VARIABLE).source()
    if shell == "zsh":
        assert _ZSH_HEAD in script, "click's script has changed"
        script = script.replace(_ZSH_HEAD, _ZSH_HEAD + _ZSH_COMPDEF)
    output({"shell": shell, "script": script}, lambda answer: say_text(answer["script"]))
