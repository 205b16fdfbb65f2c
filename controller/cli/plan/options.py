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
        if self.since is not None or self.until is not None:
            if self.snapshot is not None:
                fail("--snapshot and --since or --until exclude each other")
            if not self.all_snapshots:
                fail("--since and --until need --all-snapshots")
        return self

    @property
    def several(self) -> bool:
        return self.all_clusters or self.all_snapshots


CHOOSE: Final = "Clusters and snapshots"
alone: Final = engine_option("for several clusters or tables that are not local")
dry_run_option: Final = option("--dry-run", is_flag=True, group=OUTPUT, help="Print the result, and write nothing.")
_chosen: Final = partial(option, group=CHOOSE)
snapshot_option: Final = partial(_chosen, "--snapshot", metavar="ID", help="Snapshot to work on.")
CLUSTER: Final = _chosen("--cluster", metavar="ID", none="the only one in TABLES", help="Cluster to work on.")
SNAPSHOT: Final = snapshot_option(none="the newest")
SINCE: Final = _chosen("--since", metavar="ID", none="the first", help="First snapshot, by name.")
UNTIL: Final = _chosen("--until", metavar="ID", none="the last", help="Last snapshot, by name.")
EVERY_CLUSTER: Final = _chosen("--all-clusters", is_flag=True, help="Every cluster of TABLES.")
_EVERY_SNAPSHOT: Final = _chosen(
    "--all-snapshots", is_flag=True, help="Every snapshot of the cluster, with today's options."
)


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


def choosing(*options: Callable[[Any], Any], writes: bool = False, is_of_all: bool = False) -> Callable[[T], T]:
    """Adds TABLES, these options, and those of output and engine, as one argument `common`. `writes`: --dry-run is one
    of them; `is_of_all`: without --snapshot it is about every snapshot."""
    fields = {field.name for field in attrs.fields(Common)}
    output: Any = output_options if writes else lambda command: json_option()(quiet_option(command))

    def added(command: T) -> T:
        def taking(tables: Location, *, engine: Engine, **given: Any) -> Any:
            chosen: dict[str, Any] = {"cluster": None, "snapshot": None, "dry_run": not writes, "plain": not writes}
            chosen |= {name: given.pop(name) for name in fields & given.keys()}
            if is_of_all:
                chosen["all_snapshots"] = chosen["snapshot"] is None
            return command(Common(tables, engine=engine, **chosen).checked(), **given)

        wrapped = output(alone(renamed(taking, command)))
        for add in reversed((formatted, *options)):
            wrapped = add(wrapped)
        found: T = wrapped
        return found

    return added


engined: Final = choosing(CLUSTER, SNAPSHOT, EVERY_CLUSTER, writes=True)
replayed: Final = choosing(CLUSTER, SNAPSHOT, EVERY_CLUSTER, _EVERY_SNAPSHOT, SINCE, UNTIL, writes=True)


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
