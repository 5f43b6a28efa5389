"""`workspaced completion`."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from ...terminal.options import json_option
from ...terminal.output import output
from ...terminal.printing import say_text

VARIABLE = "_WORKSPACED_COMPLETE"
"""The variable by which a shell asks for completions, as click reads it."""

_CHANGES: Final = {
    "bash": {
        "read type value": "read -r type value",
        "COMPREPLY+=($value)": 'COMPREPLY+=("$value"); [[ $value == *= ]] && compopt -o nospace',
    },
    "zsh": {
        "#compdef workspaced\n": "#compdef workspaced\n"
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n"
    },
}
"""Changes to click's scripts. bash: backslashes of names stay, and no space follows `KEY=`. zsh: whoever has not
switched completion on has no `compdef`."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion_command(shell: str) -> None:
    """Print the script that has SHELL complete commands, options, and names of actions, tools and notes.

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
    for old, new in _CHANGES.get(shell, {}).items():
        assert old in script, "click's script has changed"
        script = script.replace(old, new)
    output({"shell": shell, "script": script}, lambda answer: say_text(answer["script"]))
