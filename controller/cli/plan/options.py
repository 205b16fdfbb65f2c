"""Options that the commands of `kedge plan` share, and texts of them as values."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import attrs
import click

from controller.cli.audit.engines import AUTO, REMOTE_TIMEOUT_S, WHERE_SPARK_IS, Engine, checked
from controller.cli.printing import fail, of_system, one_line
from pipeline.errors import PipelineError
from pipeline.tables.location import FORMATS, PARQUET, Location

_T = TypeVar("_T", bound=Callable[..., Any])


class Brokers(click.ParamType[tuple[int, ...]]):
    """Broker ids with commas between them."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r:.80} is no list of broker ids, as 1,2,3 is", param, ctx)
        if any(broker < 0 for broker in found) or len(set(found)) != len(found):
            self.fail(f"{value!r:.80} names a broker below 0, or one twice", param, ctx)
        return found


class NewBrokers(click.ParamType[tuple[tuple[int, str | None], ...]]):
    """Brokers with commas between them, each ID or ID:RACK."""

    name = "id[:rack]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, str | None], ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.partition(":") for part in str(value).split(",")]
        ids = Brokers().convert(",".join(part[0] for part in parts), param, ctx)
        return tuple((broker, part[2] or None) for broker, part in zip(ids, parts, strict=True))


@attrs.frozen
class Common:
    """What every command that reads a snapshot is told."""

    tables: Location
    cluster: str | None
    snapshot: str | None
    as_json: bool
    dry_run: bool
    plain: bool
    engine: Engine = Engine("local", None, None)  # noqa: RUF009 - a tuple
    all_clusters: bool = False
    all_snapshots: bool = False
    since: str | None = None
    until: str | None = None

    @property
    def several(self) -> bool:
        """Whether more than one snapshot may be named."""
        return self.all_clusters or self.all_snapshots


def engined(command: _T) -> _T:
    """TABLES, which clusters and snapshots of it, --json, --dry-run, --plain, the engine, as one argument `common`."""
    return _taking(command, (*WHERE_SPARK_IS, _EVERY_CLUSTER, _ENGINE))


def alone(command: _T) -> _T:
    """The engine as one argument `engine`, for a command that takes nothing else of these."""

    def taking(
        *,
        engine: str,
        master: str | None,
        remote: str | None,
        remote_timeout: float,
        conf: tuple[tuple[str, str], ...],
        packages: str | None,
        **options: Any,
    ) -> Any:
        return command(engine=checked(Engine(engine, master, remote, remote_timeout, conf, packages)), **options)

    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    wrapped: Any = taking
    for decorate in reversed((_ENGINE, *WHERE_SPARK_IS)):
        wrapped = decorate(wrapped)
    found: _T = wrapped
    return found


def replayed(command: _T) -> _T:
    """The same, and with --all-snapshots."""
    more = (*WHERE_SPARK_IS, _EVERY_CLUSTER, _EVERY_SNAPSHOT, since, until, _ENGINE)
    return _taking(command, more)


def since(command: _T) -> _T:
    """The first of every snapshot."""
    return click.option("--since", metavar="ID", help="Of every snapshot the first, by name; default: the first.")(
        command
    )


def until(command: _T) -> _T:
    """The last of them."""
    return click.option("--until", metavar="ID", help="And the last; default: the last.")(command)


def formatted(command: _T) -> _T:
    """TABLES and its format as one argument `tables`, a Location."""

    def taking(tables: str, *, format: str, **options: Any) -> Any:  # noqa: A002 - as the option is called
        try:
            given = Location(tables, format)
        except PipelineError as error:
            fail(one_line(error))
        return command(tables=given, **options)

    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    wrapped: Any = taking
    for decorate in (
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            default=PARQUET,
            show_default=True,
            help="Of TABLES; delta and iceberg need a session of Spark that has them.",
        ),
        click.argument("tables", metavar="TABLES", type=click.Path(file_okay=False)),
    ):
        wrapped = decorate(wrapped)
    found: _T = wrapped
    return found


_EVERY_CLUSTER: Final = click.option(
    "--all-clusters", is_flag=True, help="Of every cluster of TABLES, one by one in one run."
)
_EVERY_SNAPSHOT: Final = click.option(
    "--all-snapshots", is_flag=True, help="Of every snapshot: the past once more, with these settings."
)


_ENGINE: Final = click.option(
    "--engine",
    type=click.Choice([AUTO, "local", "spark"]),
    default=AUTO,
    envvar="KEDGE_ENGINE",
    show_default=True,
    show_envvar=True,
    help="Both say the same. auto: spark for several clusters, or where TABLES is no folder of this machine.",
)


def _taking(command: _T, more: tuple[Callable[[Any], Any], ...]) -> _T:
    def taking(
        tables: Location,
        *,
        cluster: str | None,
        snapshot: str | None,
        as_json: bool,
        dry_run: bool,
        plain: bool,
        engine: str,
        master: str | None = None,
        remote: str | None = None,
        remote_timeout: float = REMOTE_TIMEOUT_S,
        conf: tuple[tuple[str, str], ...] = (),
        packages: str | None = None,
        all_clusters: bool = False,
        all_snapshots: bool = False,
        since: str | None = None,
        until: str | None = None,
        **options: Any,
    ) -> Any:
        chosen = checked(Engine(engine, master, remote, remote_timeout, conf, packages))
        if all_clusters and cluster is not None:
            fail("either --cluster or --all-clusters, not both")
        if all_snapshots and snapshot is not None:
            fail("either --snapshot or --all-snapshots, not both")
        if not all_snapshots and (since is not None or until is not None):
            fail("--since and --until need --all-snapshots")
        every = (all_clusters, all_snapshots, since, until)
        given = Common(tables, cluster, snapshot, as_json, dry_run, plain, chosen, *every)
        return command(given, **options)

    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    wrapped: Any = taking
    for decorate in reversed(
        (
            formatted,
            click.option("--cluster", metavar="ID", help="Of the tables; needed where there are several."),
            click.option("--snapshot", metavar="ID", help="Of the tables; default: the last by name."),
            *more,
            click.option("--json", "as_json", is_flag=True, help="One JSON object."),
            click.option("--dry-run", is_flag=True, help="Say what would come of it, and write nothing."),
            click.option("--plain", is_flag=True, help="No progress bar; so it is, too, where stderr is no terminal."),
        )
    ):
        wrapped = decorate(wrapped)
    found: _T = wrapped
    return found


@contextmanager
def failing() -> Iterator[None]:
    """What cannot be used is one line on stderr and exit code 2; meanwhile no garbage is looked for, of which there is
    little among millions of values that stay."""
    gc.disable()
    try:
        yield
    except PipelineError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))
    finally:
        gc.enable()
