"""What `kedge audit` and `kedge progress` share: the engine that is asked for, its errors as exit codes, samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from controller.cli.printing import fail, one_line
from pipeline.journal.files import NoJournal, journal_files

F = TypeVar("F", bound=Callable[..., Any])


class Engine(NamedTuple):
    """What was asked for: local or spark, and where Spark is."""

    name: str
    master: str | None
    remote: str | None

    @property
    def is_local(self) -> bool:
        return self.name == "local"


def options(command: F) -> F:
    """The journals and the engine, as arguments of a command."""
    for option in (
        click.option("--remote", metavar="URL", help="A server of Spark Connect, sc://host:port; with --engine spark."),
        click.option("--master", metavar="URL", help="A master of Spark; with --engine spark. Default: local[*]."),
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="local: in this process, without a JVM. spark: needs Java 17. Both say the same.",
        ),
        click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


def files_of(paths: tuple[Path, ...], engine: Engine) -> list[Path]:
    """The files of journals; options that do not go together, and what is no journal, are exit code 2."""
    if engine.is_local and (engine.master is not None or engine.remote is not None):
        fail("--master and --remote need --engine spark")
    if engine.master is not None and engine.remote is not None:
        fail("either --master or --remote, not both")
    try:
        return journal_files(paths)
    except NoJournal as error:
        fail(str(error))


@contextmanager
def spark(engine: Engine) -> Iterator[Any]:
    """A session of Spark; where there is none to be had, exit code 2."""
    from pipeline.spark import NoSpark, session  # noqa: PLC0415 - a JVM, or the package itself, may be missing

    try:
        with session(engine.master, engine.remote) as opened:
            yield opened
    except NoSpark as error:
        fail(one_line(error))
