"""`kedge completion SHELL`: the script that makes a shell complete commands, options and their values.

    eval "$(kedge completion bash)"              # in ~/.bashrc; for zsh the same in ~/.zshrc
    kedge completion fish > ~/.config/fish/completions/kedge.fish

The script asks `kedge` itself at each key, with the variable _KEDGE_COMPLETE: nothing in it grows old with a version.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")
_NAME: Final = "kedge"
_VARIABLE: Final = "_KEDGE_COMPLETE"  # what click makes of the name


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options and files: bash (4.4 or later), zsh or fish.

    In ~/.bashrc, or with zsh in ~/.zshrc: eval "$(kedge completion bash)"

    With fish: kedge completion fish > ~/.config/fish/completions/kedge.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    script = kind(context.find_root().command, {}, _NAME, _VARIABLE)
    click.echo(script.source_template % script.source_vars())
