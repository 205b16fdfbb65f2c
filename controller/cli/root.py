"""The command `kedge` itself: its options, its errors and its exit codes. Its commands are in tree.py."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import IO, Any, Final, NoReturn

import click

from .tree import ROOT, Rows

_HELP: Final[Any] = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click 8.2 and later raise for a group that is called alone: no error, but its help."""
_OWN_FAILURE: Final = 3  # so that no scheduler takes a traceback for findings


class _BadUsage(click.ClickException):
    """Arguments that cannot be used, as one line: between click's usage and hints the problem is easily missed."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        message = " ".join(error.format_message().split()).rstrip(".")
        more = "" if error.ctx is None else f"; see {error.ctx.command_path} --help"
        super().__init__(f"{message}{more}")

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - it goes where all complaints go
        from .printing import say  # noqa: PLC0415 - not every command needs it

        say(self.message)


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except _HELP:
        raise
    except click.UsageError as error:
        raise _BadUsage(error) from None


class _Commands(Rows):
    """The commands, with errors of their usage as one line."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _one_line():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            return super().invoke(ctx)


def _version() -> str:
    try:
        return version("kedge")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


@click.group(cls=_Commands, rows=ROOT, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="kedge")
def kedge() -> None:
    """Run, administer and audit Kafka-style clusters with an embeddable controller.

    `kedge demo` shows what a controller does, and `kedge serve` runs a cluster to try the other commands on.
    `kedge COMMAND --help` describes a command. Exit code: 0 done; 1 not done, or findings; 2 the options or the input
    cannot be used; 3 a failure of Kedge itself, with its traceback.
    """


def run() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is shown escaped; it must not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            kedge(prog_name="kedge")
        except OSError as error:
            _stdout_is_full(error)
    except Exception:  # noqa: BLE001 - whatever it is, it is ours
        traceback.print_exc()
        sys.exit(_OWN_FAILURE)


def _stdout_is_full(error: OSError) -> NoReturn:
    from .printing import fail, is_of_stdout, of_system  # noqa: PLC0415 - as above

    if not is_of_stdout(error):
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the rest would be tried again at exit
    fail(f"stdout: {of_system(error)}")
