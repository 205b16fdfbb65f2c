"""Runs a command of Kedge in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from controller.cli.root import kedge


def run(*arguments: object) -> Result:
    """`kedge` with these arguments, as texts."""
    return CliRunner().invoke(kedge, [str(argument) for argument in arguments])


def plan(*arguments: object) -> Result:
    """`kedge plan` with these arguments."""
    return run("plan", *arguments)
