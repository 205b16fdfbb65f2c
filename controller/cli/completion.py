"""`kedge completion SHELL`: the script with which a shell completes commands, options and their values.

The script calls `kedge` with the variable _KEDGE_COMPLETE at each key, so it does not depend on the version.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from .options import command

_SHELLS: Final = ("bash", "zsh", "fish")
_NAME: Final = "kedge"
_VARIABLE: Final = "_KEDGE_COMPLETE"  # what click makes of the name


@command(
    "completion",
    example="""\
eval "$(kedge completion bash)"        # in ~/.bashrc; zsh in ~/.zshrc
kedge completion fish > ~/.config/fish/completions/kedge.fish""",
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands.

    The shell then completes commands, options and their values with Tab. bash needs version 4.4 or later.

    Exit code: 0 printed; 2 the shell is not known.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    script = kind(context.find_root().command, {}, _NAME, _VARIABLE)
    click.echo(script.source_template % script.source_vars())
