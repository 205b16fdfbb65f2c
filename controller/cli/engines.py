"""The engine that computes, local or Spark, and the journals: shared by `kedge plan` and `kedge journal`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from ...pipeline.journal.files import NoJournal, journals
from .extras import need
from .options import ENGINE, OUTPUT, group, option
from .printing import fail, note, one_line

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
    """The options: auto, local or spark, where Spark is, and its configs."""

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


def engine_options(auto: str) -> Callable[[F], F]:
    """Adds --engine and the options of Spark; one argument `engine`, checked. `auto`: when `auto` is Spark."""
    options = group(
        ENGINE,
        option(
            "--engine",
            type=click.Choice([AUTO, "local", "spark"]),
            default=AUTO,
            envvar="KEDGE_ENGINE",
            show_envvar=True,
            none=f"auto: spark {auto}, else local",
            help="Where to compute; the results are identical.",
        ),
        option("--master", metavar="URL", none="Spark's own, or local[*]", help="Master of Spark."),
        option("--remote", metavar="URL", help="Spark Connect server, sc://HOST:PORT."),
        option(
            "--remote-timeout",
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            default=REMOTE_TIMEOUT_S,
            help="Time limit for the first answer of --remote, in seconds.",
        ),
        option("--conf", metavar="KEY=VALUE", type=Setting(), multiple=True, help="Config of Spark; may be repeated."),
        option("--packages", metavar="COORDS", help="Maven packages that Spark loads."),
    )

    def add(command: F) -> F:
        def taking(*positional: Any, **given: Any) -> Any:
            names = ("engine", "master", "remote", "remote_timeout", "conf", "packages")
            return command(*positional, engine=checked(Engine(*(given.pop(name) for name in names))), **given)

        return options(renamed(taking, command))

    return add


def renamed(taking: Callable[..., Any], command: F) -> F:
    """`taking` in the place of `command`, with its name, help and options."""
    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    found: Any = taking
    return found  # type: ignore[no-any-return]


def options(command: F) -> F:
    """Adds the journals and the engine, as arguments `paths` and `engine` of a command."""
    paths = click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path))
    return paths(engine_options("if an option names it or a session is active")(command))


def out_option(command: F) -> F:
    """Adds --out; argument `out`."""
    out = click.Path(path_type=Path)
    return option("--out", type=out, metavar="FOLDER", group=OUTPUT, help="Folder for the tables, as Parquet.")(command)


def plan_option(does: str) -> Callable[[F], F]:
    """Adds --plan; argument `exports`."""
    folder = click.Path(path_type=Path)
    return option("--plan", "exports", type=folder, metavar="FOLDER", multiple=True, help=does)


def checked(engine: Engine) -> Engine:
    """The engine; options that do not go together are exit code 2."""
    if engine.is_local and (engine.master is not None or engine.remote is not None):
        fail("--master and --remote need --engine spark")
    if engine.is_local and engine.settings:
        fail("--conf and --packages need --engine spark")
    if engine.master is not None and engine.remote is not None:
        fail("--master and --remote exclude each other")
    return engine


def settled(engine: Engine) -> Engine:
    """The engine that was given; for `auto` Spark if something asks for it, which is printed."""
    if engine.name != AUTO:
        return engine
    why = why_spark(engine)
    if why is not None:
        note(f"engine: spark, because {why}")
    return engine._replace(name="local" if why is None else "spark")


def why_spark(engine: Engine) -> str | None:
    """What asks for Spark, of the options and of this process."""
    if engine.remote is not None:
        return "--remote is given"
    if engine.master is not None:
        return "--master is given"
    if engine.settings:
        return "--conf or --packages is given"
    return "a session is active" if _is_active() else None


def _is_active() -> bool:
    if sys.modules.get("pyspark") is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return False  # asked without loading what would answer
    from ...pipeline.spark.there import is_active  # noqa: PLC0415 - Spark is loaded already, or its JVM is there

    return is_active()


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
def spark(engine: Engine) -> Iterator[Any]:
    """The active session of Spark, or one with these options. Exits with 2 where there is none."""
    need("spark")
    from ...pipeline.spark import NoSpark, session  # noqa: PLC0415 - a JVM, or the package itself, may be missing

    try:
        with session(
            engine.master, engine.remote, settings=engine.settings, remote_timeout_s=engine.remote_timeout_s
        ) as opened:
            yield opened
    except NoSpark as error:
        fail(one_line(error))
