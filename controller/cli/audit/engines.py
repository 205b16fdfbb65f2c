"""What `kedge audit` and `kedge progress` share: the engine that is asked for, its errors as exit codes, samples."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from controller.cli.extras import need
from controller.cli.printing import fail, one_line, say
from pipeline.journal.files import NoJournal, journals

F = TypeVar("F", bound=Callable[..., Any])
REMOTE_TIMEOUT_S: Final = 20.0
AUTO: Final = "auto"


class Setting(click.ParamType[tuple[str, str]]):
    """A setting of Spark, KEY=VALUE."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, is_given, setting = str(value).partition("=")
        key = key.strip()
        if not is_given or not key.startswith("spark."):
            self.fail(f"{value!r:.80} is not spark.KEY=VALUE", param, ctx)
        return key, setting.strip()


class Engine(NamedTuple):
    """What was asked for: auto, local or spark, where Spark is, and how it is set."""

    name: str
    master: str | None
    remote: str | None
    remote_timeout_s: float = REMOTE_TIMEOUT_S
    conf: tuple[tuple[str, str], ...] = ()
    packages: str | None = None

    @property
    def is_local(self) -> bool:
        return self.name == "local"

    @property
    def settings(self) -> dict[str, str]:
        """Of Spark; of two with one name the last counts."""
        return {**dict(self.conf), **({} if self.packages is None else {"spark.jars.packages": self.packages})}


WHERE_SPARK_IS: Final = (
    click.option(
        "--master", metavar="URL", help="A master of Spark; with --engine spark. Default: Spark's own, else local[*]."
    ),
    click.option("--remote", metavar="URL", help="A server of Spark Connect, sc://host:port; with --engine spark."),
    click.option(
        "--remote-timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=REMOTE_TIMEOUT_S,
        show_default=True,
        help="How long --remote may take to answer at first.",
    ),
    click.option(
        "--conf",
        metavar="KEY=VALUE",
        type=Setting(),
        multiple=True,
        help="A setting of Spark, above those of its files; may be repeated; with --engine spark.",
    ),
    click.option(
        "--packages",
        metavar="COORDS",
        help="Jars from Maven that Spark loads, group:artifact:version[,...]; with --engine spark.",
    ),
)


def options(command: F) -> F:
    """The journals and the engine, as arguments of a command."""
    for option in (
        *reversed(WHERE_SPARK_IS),
        click.option(
            "--engine",
            type=click.Choice([AUTO, "local", "spark"]),
            default=AUTO,
            envvar="KEDGE_ENGINE",
            show_default=True,
            show_envvar=True,
            help="Both say the same. auto: spark where an option names it or a session is active, else local.",
        ),
        click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


def checked(engine: Engine) -> Engine:
    """The engine; options that do not go together are exit code 2."""
    if engine.is_local and (engine.master is not None or engine.remote is not None):
        fail("--master and --remote need --engine spark")
    if engine.is_local and engine.settings:
        fail("--conf and --packages need --engine spark")
    if engine.master is not None and engine.remote is not None:
        fail("either --master or --remote, not both")
    return engine


def settled(engine: Engine) -> Engine:
    """The engine that was asked for; for `auto` Spark where something says so, which is told."""
    if engine.name != AUTO:
        return engine
    why = why_spark(engine)
    if why is not None:
        say(f"engine: spark, as {why}")
    return engine._replace(name="local" if why is None else "spark")


def why_spark(engine: Engine) -> str | None:
    """What asks for Spark, of the options and of this process."""
    if engine.remote is not None:
        return "--remote names a server"
    if engine.master is not None:
        return "--master names a master"
    if engine.settings:
        return "--conf or --packages sets it"
    return "a session is active" if _is_active() else None


def _is_active() -> bool:
    if sys.modules.get("pyspark") is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return False  # asked without loading what would answer
    from pipeline.spark.there import is_active  # noqa: PLC0415 - Spark is loaded already, or its JVM is there

    return is_active()


def journals_in(paths: Sequence[Path]) -> Mapping[str, Sequence[Path]]:
    """The files of journals by cluster; what is no journal is exit code 2."""
    try:
        return journals(paths)
    except NoJournal as error:
        fail(str(error))


def of_cluster(found: Mapping[str, Sequence[Path]], cluster: str | None) -> Mapping[str, Sequence[Path]]:
    """The one that is named, or all; one that is not there is exit code 2."""
    if cluster is None:
        return found
    if cluster not in found:
        fail(f"no journal of cluster {cluster}; there are: {', '.join(found)}")
    return {cluster: found[cluster]}


@contextmanager
def spark(engine: Engine) -> Iterator[Any]:
    """The active session of Spark, or one of these options; where there is none to be had, exit code 2."""
    need("spark")
    from pipeline.spark import NoSpark, session  # noqa: PLC0415 - a JVM, or the package itself, may be missing

    try:
        with session(
            engine.master, engine.remote, settings=engine.settings, remote_timeout_s=engine.remote_timeout_s
        ) as opened:
            yield opened
    except NoSpark as error:
        fail(one_line(error))
