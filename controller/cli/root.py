"""The root of the command line: options of `kedge` itself, and the table of its sub-commands.

A new command is a module of this folder with a click command or group, and a row in COMMANDS.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import Final

import click

from controller.cli.check import check
from controller.cli.demo.command import demo
from controller.cli.journal import journal

COMMANDS: Final[tuple[click.Command, ...]] = (check, demo, journal)


def _version() -> str:
    try:
        return version("kedge")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="kedge")
def kedge() -> None:
    """An embeddable controller for partitioned, replicated logs."""


for _command in COMMANDS:
    kedge.add_command(_command)


def run() -> None:
    """Run `kedge` with the arguments of the process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is shown escaped; it must not end the command.
            stream.reconfigure(errors="backslashreplace")
    kedge(prog_name="kedge")
