"""The root of the command line: options of `kedge` itself, and the table of its sub-commands.

A new command is a module of this folder with a click command or group, and a row in COMMANDS. A module is imported when
its command is asked for: what one command needs costs the start of no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import IO, Any, Final, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem


class Late(NamedTuple):
    """Where a command is, and what the list of commands says of it, which asks for no module."""

    module: str
    says: str


COMMANDS: Final[Mapping[str, Late]] = {
    "audit": Late("controller.cli.audit", "Audit journals: was every rule kept?"),
    "check": Late("controller.cli.check", "Check the tree of a store for what is broken or left behind."),
    "completion": Late("controller.cli.completion", "Print what makes a shell complete `kedge`."),
    "configs": Late("controller.cli.configs", "Tell and change settings of topics and brokers, as Kafka's tool does."),
    "demo": Late("controller.cli.demo.command", "Watch a cluster being moved while controllers and brokers die."),
    "journal": Late("controller.cli.journal", "What the controller did, line by line."),
    "leader-election": Late("controller.cli.elections", "Elect leaders of partitions, as Kafka's tool does."),
    "log-dirs": Late("controller.cli.log_dirs", "Tell what lies in which directory, as Kafka's tool does."),
    "plan": Late("controller.cli.plan", "Plan reassignments: collect, plan, cut into waves, export."),
    "progress": Late("controller.cli.progress", "Tell how far moves are by journals, and what is stuck."),
    "reassign-partitions": Late("controller.cli.reassign", "Move partitions to other brokers, as Kafka's tool does."),
    "serve": Late("controller.cli.serve", "Run a cluster that stock Kafka clients can talk to, in this process."),
    "store": Late("controller.cli.store", "Ask a store how it is; dump, load, compare, migrate."),
    "topics": Late("controller.cli.topics", "Create, alter, delete, list and describe topics, as Kafka's tool does."),
}


_HELP: Final[Any] = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click 8.2 and later raise for a group that is called alone: no error, but its help."""


class _BadUsage(click.ClickException):
    """Arguments that cannot be used, as one line: with usage and hints around it, what is wrong is easily missed."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        said = " ".join(error.format_message().split()).rstrip(".")
        more = "" if error.ctx is None else f"; {error.ctx.command_path} --help says more"
        super().__init__(f"{said}{more}")

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - it goes where all complaints go
        from controller.cli.printing import say  # noqa: PLC0415 - not every command needs it

        say(self.message)


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except _HELP:
        raise
    except click.UsageError as error:
        raise _BadUsage(error) from None


class _Commands(click.Group):
    """The rows of COMMANDS, each loaded when it is asked for."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _one_line():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click asks
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click asks
        late = COMMANDS.get(cmd_name)
        if late is None:
            return None
        found = getattr(import_module(late.module), cmd_name.replace("-", "_"))
        assert isinstance(found, click.Command), found
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """By the table: click would load every command that may be meant, at each key."""
        rows = [
            CompletionItem(name, help=COMMANDS[name].says) for name in sorted(COMMANDS) if name.startswith(incomplete)
        ]
        return [*rows, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click asks
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].says) for name in sorted(COMMANDS)])


def _version() -> str:
    try:
        return version("kedge")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="kedge")
def kedge() -> None:
    """An embeddable controller for partitioned, replicated logs."""


def run() -> None:
    """Run `kedge` with the arguments of the process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is shown escaped; it must not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        kedge(prog_name="kedge")
    except OSError as error:
        _stdout_is_full(error)


def _stdout_is_full(error: OSError) -> NoReturn:
    from controller.cli.printing import fail, is_of_stdout, of_system  # noqa: PLC0415 - as above

    if not is_of_stdout(error):
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the rest would be tried again at exit
    fail(f"stdout: {of_system(error)}")
