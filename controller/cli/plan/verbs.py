"""The table of the commands of `kedge plan`. A new one is a module of this folder and a row here."""

from __future__ import annotations

from typing import Final

import click

from controller.cli.plan.check import check
from controller.cli.plan.collect import collect
from controller.cli.plan.collect_files import collect_files
from controller.cli.plan.compare import compare
from controller.cli.plan.export import export
from controller.cli.plan.load import load
from controller.cli.plan.making import MAKING
from controller.cli.plan.run import run
from controller.cli.plan.submit import submit
from controller.cli.plan.waves import waves

COMMANDS: Final[tuple[click.Command, ...]] = (
    check, collect, collect_files, compare, export, load, *MAKING, run, submit, waves
)  # fmt: skip
