"""The engine that computes, local or Spark, and the journals: shared by `kedge plan` and `kedge journal`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import click

from ...pipeline.errors import EngineFailed
from ...pipeline.journal.files import NoJournal, journals
from .extras import need
from .options import ENGINE, OUTPUT, option
from .printing import fail, note, one_line

F = TypeVar("F", bound=Callable[..., Any])
AUTO: Final = "auto"
LOCAL: Final = "local"
SPARK: Final = "spark"
Engine: TypeAlias = Literal["auto", "local", "spark"]


def engine_option(auto: str) -> Callable[[F], F]:
    """Adds --engine; argument `engine`. `auto`: when `auto` is Spark."""
    return option(
        "--engine",
        type=click.Choice([AUTO, LOCAL, SPARK]),
        default=AUTO,
        envvar="KEDGE_ENGINE",
        show_envvar=True,
        none=f"auto: spark {auto}, else local",
        group=ENGINE,
        help="Where to compute; the results are identical.",
    )


def renamed(taking: Callable[..., Any], command: F) -> F:
    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    found: Any = taking
    return found  # type: ignore[no-any-return]


def options(command: F) -> F:
    paths = click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path))
    return paths(engine_option("if a session is active")(command))


def out_option(command: F) -> F:
    out = click.Path(path_type=Path)
    return option("--out", type=out, metavar="FOLDER", group=OUTPUT, help="Folder for the tables, as Parquet.")(command)


def plan_option(does: str) -> Callable[[F], F]:
    folder = click.Path(path_type=Path)
    return option("--plan", "exports", type=folder, metavar="FOLDER", multiple=True, help=does)


def settled(engine: Engine) -> Engine:
    """The engine that was given; for `auto` Spark if a session is active, which is printed."""
    if engine != AUTO:
        return engine
    if not is_active():
        return LOCAL
    note("engine: spark, because a session is active")
    return SPARK


def is_active() -> bool:
    """Whether this process has a Spark session, or spark-submit has started it to create one."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # PySpark finds the JVM of spark-submit by this variable
        return True
    if sys.modules.get("pyspark") is None:
        return False
    from ...pipeline.spark.session import active  # noqa: PLC0415 - Spark is loaded already

    return active() is not None


def journals_in(paths: Sequence[Path]) -> Mapping[str, Sequence[Path]]:
    """The files of journals by cluster. Exits with 2 for a file that is not a journal."""
    try:
        return journals(paths)
    except NoJournal as error:
        fail(str(error))


def of_cluster(found: Mapping[str, Sequence[Path]], cluster: str | None) -> Mapping[str, Sequence[Path]]:
    """The journals of `cluster`, or of all. Exits with 2 where there is no such cluster."""
    if cluster is None:
        return found
    if cluster not in found:
        fail(f"--cluster: there is no journal of cluster {cluster}; there are journals of {', '.join(found)}")
    return {cluster: found[cluster]}


def need_one(option: str, found: Mapping[str, Sequence[Path]]) -> None:
    """Exits with 2 where there are several clusters, which the option cannot take."""
    if len(found) > 1:
        fail(f"{option}: expected one cluster, got {len(found)}; choose one with --cluster: {', '.join(found)}")


@contextmanager
def spark() -> Iterator[Any]:
    """The active session of Spark, or a new one. Exits with 2 if there is none, or if a job fails."""
    need("spark")
    from ...pipeline.spark import NoSpark, session  # noqa: PLC0415 - a JVM, or the package itself, may be missing

    try:
        with session() as opened:
            yield opened
    except (NoSpark, EngineFailed) as error:
        fail(one_line(error))
