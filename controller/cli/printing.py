"""What every command says besides its output: one line on stderr; and how text of strangers is printed."""

from __future__ import annotations

import sys
from typing import NoReturn

import click


def clean(text: str) -> str:
    """Control characters and broken surrogates as escapes: a name must not move the cursor of who reads it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def say(text: str) -> None:
    """One line on stderr."""
    click.echo(f"kedge: {clean(text)}", err=True)


def fail(text: str) -> NoReturn:
    """One line on stderr, and exit code 2: what was given cannot be used."""
    say(text)
    sys.exit(2)
