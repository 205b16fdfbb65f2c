"""What `kedge audit` and `kedge progress` share: the engine that is asked for, its errors as exit codes, samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from controller.cli.printing import fail, one_line
from pipeline.journal.files import NoJournal, journal_files

F = TypeVar("F", bound=Callable[..., Any])
REMOTE_TIMEOUT_S: Final = 20.0


class Engine(NamedTuple):
    """What was asked for: local or spark, and where Spark is."""

    name: str
    master: str | None
    remote: str | None
    remote_timeout_s: float = REMOTE_TIMEOUT_S

    @property
    def is_local(self) -> bool:
        return self.name == "local"


WHERE_SPARK_IS: Final = (
    click.option("--master", metavar="URL", help="A master of Spark; with --engine spark. Default: local[*]."),
    click.option("--remote", metavar="URL", help="A server of Spark Connect, sc://host:port; with --engine spark."),
    click.option(
        "--remote-timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=REMOTE_TIMEOUT_S,
        show_default=True,
        help="How long --remote may take to answer at first.",
    ),
)


def options(command: F) -> F:
    """The journals and the engine, as arguments of a command."""
    for option in (
        *reversed(WHERE_SPARK_IS),
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


def checked(engine: Engine) -> Engine:
    """The engine; options that do not go together are exit code 2."""
    if engine.is_local and (engine.master is not None or engine.remote is not None):
        fail("--master and --remote need --engine spark")
    if engine.master is not None and engine.remote is not None:
        fail("either --master or --remote, not both")
    return engine


def files_of(paths: tuple[Path, ...]) -> list[Path]:
    """The files of journals; what is no journal is exit code 2."""
    try:
        return journal_files(paths)
    except NoJournal as error:
        fail(str(error))


@contextmanager
def spark(engine: Engine) -> Iterator[Any]:
    """A session of Spark; where there is none to be had, exit code 2."""
    from pipeline.spark import NoSpark, session  # noqa: PLC0415 - a JVM, or the package itself, may be missing

    try:
        with session(engine.master, engine.remote, remote_timeout_s=engine.remote_timeout_s) as opened:
            yield opened
    except NoSpark as error:
        fail(one_line(error))
