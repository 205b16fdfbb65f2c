"""What the commands of `kedge plan` print: a few lines, or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from controller.cli.printing import clean, shortened

_CELL_CHARACTERS_MAX: Final = 300


def say(rows: Iterable[tuple[str, str]]) -> None:
    """Lines of a name and what is said of it."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        click.echo(f"{name.ljust(width)}  {shortened(clean(value), _CELL_CHARACTERS_MAX)}")


def say_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, separators=(",", ":"), default=str))
