"""`kedge journal`: what the controller did, shown row by row (`show`) or held against the rules (`replay`)."""

from __future__ import annotations

import click

from controller.cli.journal.replay import replay
from controller.cli.journal.show import show


@click.group()
def journal() -> None:
    """What the controller did, line by line."""


journal.add_command(show)
journal.add_command(replay)
