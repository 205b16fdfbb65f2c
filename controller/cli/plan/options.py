"""Options that the commands of `kedge plan` share, and the values that their texts become."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
import click

from controller.cli.audit.engines import REMOTE_TIMEOUT_S, Engine, checked, engine_option, spark_options
from controller.cli.options import ENGINE, OUTPUT, T, json_option, option, plain_option, quiet_option
from controller.cli.printing import fail, of_system, one_line
from pipeline.errors import PipelineError
from pipeline.tables.location import FORMATS, PARQUET, Location


class Brokers(click.ParamType[tuple[int, ...]]):
    """Broker ids with commas between them."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r:.80} is not a list of broker ids such as 1,2,3", param, ctx)
        if any(broker < 0 for broker in found) or len(set(found)) != len(found):
            self.fail(f"{value!r:.80} names a broker below 0, or a broker twice", param, ctx)
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
    """The options that every command has that reads a snapshot."""

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


def engined(command: T) -> T:
    """Adds TABLES, the options that choose clusters, output and engine, as one argument `common`."""
    return _taking(command, (_EVERY_CLUSTER,))


def alone(command: T) -> T:
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

    return _renamed(taking, command, (_ENGINE, spark_options))


def replayed(command: T) -> T:
    """As `engined`, with --all-snapshots, --since and --until."""
    return _taking(command, (_EVERY_CLUSTER, _EVERY_SNAPSHOT, since, until))


def since(command: T) -> T:
    """Adds --since."""
    return option("--since", metavar="ID", group=CHOOSE, none="the first", help="First snapshot, by name.")(command)


def until(command: T) -> T:
    """Adds --until."""
    return option("--until", metavar="ID", group=CHOOSE, none="the last", help="Last snapshot, by name.")(command)


def output_options(command: T) -> T:
    """Adds --dry-run, --json, --plain and --quiet."""
    return dry_run_option(json_option()(plain_option(quiet_option(command))))


def formatted(command: T) -> T:
    """TABLES and its format as one argument `tables`, a Location."""

    def taking(tables: str, *, format: str, **options: Any) -> Any:  # noqa: A002 - as the option is called
        try:
            given = Location(tables, format)
        except PipelineError as error:
            fail(one_line(error))
        return command(tables=given, **options)

    format_ = option(
        "--format",
        type=click.Choice(FORMATS),
        default=PARQUET,
        group=ENGINE,
        help="Format of TABLES. delta and iceberg need Spark.",
    )
    place = click.argument("tables", metavar="TABLES", type=click.Path(file_okay=False))
    return _renamed(taking, command, (place, format_))


def _renamed(taking: Callable[..., Any], command: T, more: tuple[Callable[[Any], Any], ...]) -> T:
    """`taking` in the place of `command`: its name, its options, and `more`, which come first."""
    taking.__doc__, taking.__name__ = command.__doc__, command.__name__
    taking.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    wrapped: Any = taking
    for decorate in reversed(more):
        wrapped = decorate(wrapped)
    found: T = wrapped
    return found


CHOOSE: Final = "Clusters and snapshots"
cluster_option: Final = option(
    "--cluster", metavar="ID", group=CHOOSE, none="the only one in TABLES", help="Cluster to work on."
)
snapshot_option: Final = option(
    "--snapshot", metavar="ID", group=CHOOSE, none="the last by name", help="Snapshot to work on."
)
dry_run_option: Final = option("--dry-run", is_flag=True, group=OUTPUT, help="Print the result, and write nothing.")
_EVERY_CLUSTER: Final = option("--all-clusters", is_flag=True, group=CHOOSE, help="Every cluster of TABLES in one run.")
_EVERY_SNAPSHOT: Final = option(
    "--all-snapshots", is_flag=True, group=CHOOSE, help="Every snapshot of the cluster, with today's options."
)
_ENGINE: Final = engine_option("for several clusters or tables that are not local")


def _taking(command: T, more: tuple[Callable[[Any], Any], ...]) -> T:
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
            fail("--cluster and --all-clusters exclude each other")
        if all_snapshots and snapshot is not None:
            fail("--snapshot and --all-snapshots exclude each other")
        if not all_snapshots and (since is not None or until is not None):
            fail("--since and --until need --all-snapshots")
        every = (all_clusters, all_snapshots, since, until)
        given = Common(tables, cluster, snapshot, as_json, dry_run, plain, chosen, *every)
        return command(given, **options)

    choosing = (formatted, cluster_option, snapshot_option, *more)
    return _renamed(taking, command, (*choosing, output_options, _ENGINE, spark_options))


@contextmanager
def failing() -> Iterator[None]:
    """Ends with one line on stderr and exit code 2 where the input cannot be used. Garbage is not collected meanwhile:
    there is little among millions of values that stay."""
    gc.disable()
    try:
        yield
    except PipelineError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))
    finally:
        gc.enable()
