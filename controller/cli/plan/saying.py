"""What the commands of `kedge plan` print: a few lines, or one JSON object."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from controller.cli.printing import clean, shortened
from pipeline.amounts import amount

__all__ = ["amount", "counted", "reason_rows", "say", "say_json"]

_LINES_MAX: Final = 20
_CELL_CHARACTERS_MAX: Final = 300


def say(rows: Iterable[tuple[str, str]]) -> None:
    """Lines of a name and what is said of it."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        click.echo(f"{name.ljust(width)}  {shortened(clean(value), _CELL_CHARACTERS_MAX)}")


def say_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, separators=(",", ":"), default=str))


def counted(reasons: Iterable[str]) -> dict[str, int]:
    """How often each reason was given, the most frequent first."""
    return dict(sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0])))


def reason_rows(name: str, reasons: Mapping[str, int]) -> list[tuple[str, str]]:
    """A line per reason."""
    shown = [(name, f"{count} x {reason}") for reason, count in list(reasons.items())[:_LINES_MAX]]
    more = len(reasons) - len(shown)
    return [*shown, (name, f"and {more} more reasons")] if more else shown
