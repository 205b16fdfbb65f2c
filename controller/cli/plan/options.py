"""Options that the commands of `kedge plan` share, and the values that their texts become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import attrs
import click

from ....pipeline.errors import PipelineError
from ....pipeline.stages.choice import RACK
from ....pipeline.tables.location import FORMATS, PARQUET, Location
from ...model import numerals
from ..engines import LOCAL, Engine, engine_option, renamed
from ..options import ENGINE, OUTPUT, Amount, T, json_option, option, plain_option, quiet_option
from ..printing import fail, of_system, one_line
from ..store.opening import uncollected


class Brokers(click.ParamType[tuple[int, ...]]):
    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found = numerals.ids(str(value))
        if found is None:
            self.fail(f"{value!r:.80} is not a list of broker ids such as 1,2,3", param, ctx)
        if len(set(found)) != len(found):
            self.fail(f"{value!r:.80} names a broker twice", param, ctx)
        return tuple(found)


class NewBrokers(click.ParamType[tuple[tuple[int, str | None], ...]]):
    name = "id[:rack]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, str | None], ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.partition(":") for part in numerals.items(str(value))]
        ids = Brokers().convert(",".join(part[0] for part in parts), param, ctx)
        return tuple((broker, part[2] or None) for broker, part in zip(ids, parts, strict=True))


class Topics(click.ParamType[tuple[str, ...]]):
    name = "globs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        globs = value if isinstance(value, tuple) else tuple(numerals.items(str(value)))
        if "" in globs:
            self.fail(f"{value!r:.80} is not a list of topics such as orders,logs-*", param, ctx)
        return globs


class Receivers(click.ParamType[tuple[int | str, ...]]):
    name = "ids, rack:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | str, ...]:
        if isinstance(value, tuple):
            return value
        parts = numerals.items(str(value))
        ids = [numerals.whole(part, 0, numerals.INT_MAX) for part in parts]
        named = [part if id_ is None and part.startswith(RACK) else id_ for part, id_ in zip(parts, ids, strict=True)]
        if None in named or RACK in named:
            self.fail(f"{value!r:.80} is not a list of broker ids and racks such as 1,2,rack:a", param, ctx)
        return tuple(each for each in named if each is not None)


min_racks: Final = partial(
    option, "--min-racks", type=click.IntRange(1), none="as many as there are", help="Count of racks a partition needs."
)
_CHOICE: Final = "Topics, brokers and racks"
_choosing: Final = partial(option, group=_CHOICE)
TOPIC_OPTIONS: Final = (
    _choosing("--topics", type=Topics(), default=(), none="all", help="Topics to change."),
    _choosing("--exclude-topics", type=Topics(), default=(), none="none", help="Topics to leave as they are."),
)
BROKER_OPTIONS: Final = (
    _choosing("--min-size", type=Amount(), none="no limit", help="Bytes of a replica to change, at least."),
    _choosing("--max-size", type=Amount(), none="no limit", help="Bytes of a replica to change, at most."),
    _choosing("--exclude-brokers", type=Brokers(), default=(), none="none", help="Brokers that neither give nor take."),
    _choosing("--to-brokers", type=Receivers(), default=(), none="all", help="Brokers and racks that may take."),
)
RACK_OPTIONS: Final = (
    min_racks(group=_CHOICE),
    _choosing("--prefer-rack-local", is_flag=True, help="Keep a replica in its rack where a broker has room."),
)


@attrs.frozen
class Common:
    tables: Location
    cluster: str | None
    snapshot: str | None
    as_json: bool
    dry_run: bool
    plain: bool
    engine: Engine = LOCAL
    all_clusters: bool = False
    all_snapshots: bool = False
    since: str | None = None
    until: str | None = None

    def checked(self) -> Common:
        if self.all_clusters and self.cluster is not None:
            fail("--cluster and --all-clusters exclude each other")
        if self.all_snapshots and self.snapshot is not None:
            fail("--snapshot and --all-snapshots exclude each other")
        if not self.all_snapshots and (self.since is not None or self.until is not None):
            fail("--since and --until need --all-snapshots")
        return self

    @property
    def several(self) -> bool:
        return self.all_clusters or self.all_snapshots


CHOOSE: Final = "Clusters and snapshots"
alone: Final = engine_option("for several clusters or tables that are not local")
cluster_option: Final = option(
    "--cluster", metavar="ID", group=CHOOSE, none="the only one in TABLES", help="Cluster to work on."
)
since: Final = option("--since", metavar="ID", group=CHOOSE, none="the first", help="First snapshot, by name.")
until: Final = option("--until", metavar="ID", group=CHOOSE, none="the last", help="Last snapshot, by name.")
dry_run_option: Final = option("--dry-run", is_flag=True, group=OUTPUT, help="Print the result, and write nothing.")
_SNAPSHOT: Final = option("--snapshot", metavar="ID", group=CHOOSE, none="the newest", help="Snapshot to work on.")
_EVERY_CLUSTER: Final = option("--all-clusters", is_flag=True, group=CHOOSE, help="Every cluster of TABLES in one run.")
_EVERY_SNAPSHOT: Final = option(
    "--all-snapshots", is_flag=True, group=CHOOSE, help="Every snapshot of the cluster, with today's options."
)


def engined(command: T) -> T:
    """Adds TABLES, the options that choose clusters, output and engine, as one argument `common`."""
    return _common(command, _EVERY_CLUSTER)


def replayed(command: T) -> T:
    """As `engined`, with --all-snapshots, --since and --until."""
    return _common(command, _EVERY_CLUSTER, _EVERY_SNAPSHOT, since, until)


def output_options(command: T) -> T:
    return dry_run_option(json_option()(plain_option(quiet_option(command))))


def formatted(command: T) -> T:
    """Adds TABLES and --format, as one argument `tables`, a Location."""

    def taking(tables: str, *, format: str, **options: Any) -> Any:  # noqa: A002 - as the option is called
        try:
            given = Location(tables, format)
        except PipelineError as error:
            fail(one_line(error))
        return command(tables=given, **options)

    kind, said = click.Choice(FORMATS), "Format of TABLES. delta and iceberg need Spark."
    wrapped = option("--format", type=kind, default=PARQUET, group=ENGINE, help=said)(renamed(taking, command))
    found: T = click.argument("tables", metavar="TABLES", type=click.Path(file_okay=False))(wrapped)
    return found


def _common(command: T, *more: Callable[[Any], Any]) -> T:
    fields = {field.name for field in attrs.fields(Common)}

    def taking(tables: Location, *, engine: Engine, **options: Any) -> Any:
        given = {name: options.pop(name) for name in fields & options.keys()}
        return command(Common(tables, engine=engine, **given).checked(), **options)

    wrapped = output_options(alone(renamed(taking, command)))
    for add in reversed((formatted, cluster_option, _SNAPSHOT, *more)):
        wrapped = add(wrapped)
    found: T = wrapped
    return found


@contextmanager
def failing() -> Iterator[None]:
    """Ends with one line on stderr and exit code 2 where the input cannot be used."""
    try:
        with uncollected():
            yield
    except PipelineError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))
