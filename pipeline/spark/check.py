"""The violation report in native functions of Spark: the rows of the local engine, to the byte.

* Racks, factors, dead brokers, members in sync and leaders are seen in a partition's own row: the brokers of a cluster
  come to it by broadcast, as arrays with a place per broker, and nothing is shuffled. What a topic's largest factor is,
  and what lies on a broker, is summed up in one pass each.
* A broker's place is its id modulo a number that tells the ids of its cluster apart: looking it up costs the same in a
  cluster of three and of a thousand; in Spark's maps it is a search through all.
* Sums are of bytes and of rates in steps of 1/1024 (`arrays.stepped`), so they are exact in any order.
* The local check refuses tables that nobody validated. Here the same is a row of kind UNSOUND, as far as it shows
  without a shuffle (a partition that stands twice does not); `violations` makes the same error of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as f

from pipeline.errors import BadInput, PipelineError
from pipeline.kernel.cluster import NO_LIMIT, NOBODY
from pipeline.spark.packed import CLUSTERS, KEY, LINE, Frames, Key, at_the_edge, by_cluster, unpacked
from pipeline.stages.arrays import RATE_STEPS, Limits, to_cluster
from pipeline.stages.check import NOW, POTENTIAL
from pipeline.stages.validate import DUPLICATE_REPLICAS
from pipeline.tables.arrow import Arrow, conform, empty, from_rows, in_order
from pipeline.tables.declared import BROKER, PARTITION, QUARANTINE, REPLICA_LOAD, VIOLATION
from pipeline.tables.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNSOUND: Final = ""  # sorts before every kind
_WHERE: Final = ("topic", "partition")
_BRIEF: Final = Table(
    "brief",  # of the brokers of a cluster, by their places
    (
        ("error", "string", True),
        ("modulus", "int", False),
        ("ids", "array<int>", False),  # null where there is none
        ("racks", "array<int>", False),  # one that is not known is a rack of its own, below 0
        ("dead", "array<int>", False),  # ids
        ("rack_count", "int", False),
        ("rack_count_alive", "int", False),
        ("disk_max", "array<long>", False),
        ("in_max", "array<double>", False),
        ("out_max", "array<double>", False),
    ),
)


def check(
    frames: Frames, *, limits: Limits | None = None, factor: int | None = None, ignore_racks: bool = False
) -> DataFrame:
    """Violations: cluster, snapshot, the columns of VIOLATION, and the line of the quarantine where they come of it.
    As `pipeline.stages.check.check`, in no order."""
    brief = brief_of(frames, limits or Limits(), ignore_racks=ignore_racks)
    sound = f.broadcast(brief.where(f.col("error").isNull()).drop("error"))
    rows = frames[PARTITION.name].join(sound, list(KEY))
    found = [
        _listed(brief, _where(f.col("error").isNotNull(), _finding(UNSOUND, f.lit(-1), f.lit(0), f.col("error")))),
        _by_partition(rows, frames[PARTITION.name], factor),
    ]
    if REPLICA_LOAD.name in frames:
        found.append(_capacity(rows, frames[REPLICA_LOAD.name], sound))
    if QUARANTINE.name in frames:
        found.append(_duplicates(frames[QUARANTINE.name]))
    whole = found[0]
    for more in found[1:]:
        whole = whole.union(more)
    return whole


def violations(found: DataFrame) -> dict[Key, Arrow | PipelineError]:
    """The edge: the table violation of each cluster that has some, in order, or why its tables cannot be judged."""
    rows = at_the_edge(found)
    keys = sorted(set(zip(*(rows.column(name).to_pylist() for name in KEY), strict=True)))
    return {key: _table(_of(rows, key)) for key in keys}


def _of(rows: Arrow, key: Key) -> Arrow:
    for name, value in zip(KEY, key, strict=True):
        rows = rows.filter(pa.compute.equal(rows.column(name), value))
    return rows


def _table(rows: Arrow) -> Arrow | PipelineError:
    wrong = rows.filter(pa.compute.equal(rows.column("kind"), UNSOUND)).sort_by(
        [(name, "ascending") for name in ("observed", *_WHERE)]
    )
    if wrong.num_rows:
        return BadInput(wrong.column("unit")[0].as_py())
    return in_order(VIOLATION, conform(VIOLATION, rows.sort_by(LINE), VIOLATION.name))


def brief_of(frames: Frames, limits: Limits, *, ignore_racks: bool) -> DataFrame:
    """A row per cluster: its brokers by their places, and what they may hold and carry; or why there is none."""

    def work(_: Key, tables: Mapping[str, Arrow]) -> dict[str, Arrow]:
        given = tables.get(BROKER.name, empty(BROKER))
        return {_BRIEF.name: from_rows(_BRIEF, [_brief(given, limits, ignore_racks=ignore_racks)])}

    chosen = {name: frames[name] for name in (BROKER.name, CLUSTERS) if name in frames}
    return unpacked(by_cluster(chosen, [BROKER], work), _BRIEF)


def _brief(broker: Arrow, limits: Limits, *, ignore_racks: bool) -> tuple[Any, ...]:
    try:
        cluster = to_cluster(broker, empty(PARTITION), None, limits=limits, ignore_racks=ignore_racks)
    except BadInput as error:
        return (str(error), 1, [], [], [], 0, 0, [], [], [])
    modulus = modulus_of(cluster.brokers)
    at = cluster.brokers % modulus

    def placed(values: Any) -> list[Any]:
        found = [None] * modulus
        for place, value in zip(at.tolist(), values, strict=True):
            found[place] = value
        return found

    own = -1 - np.arange(len(cluster.brokers))
    racks = np.where(cluster.rack == NOBODY, own, cluster.rack)
    return (
        None,
        modulus,
        placed(cluster.brokers.tolist()),
        placed(racks.tolist()),
        cluster.brokers[~cluster.alive].tolist(),
        len(cluster.racks),
        max(1, len(np.unique(cluster.rack[cluster.alive]))),
        *(placed(values.tolist()) for values in (cluster.disk_max, cluster.in_max, cluster.out_max)),
    )


def modulus_of(ids: Any) -> int:
    """A number that leaves a remainder of its own for each of `ids`; ids in a row have their count."""
    modulus = max(1, len(ids))
    while len(np.unique(ids % modulus)) < len(ids):
        modulus += 1 + modulus // 50
    return modulus


def at(array: str, broker: Column) -> Column:
    """What stands in an array of the brief for a broker; null for one that is not there."""
    place = f.pmod(broker, f.col("modulus"))
    return f.when(f.get("ids", place) == broker, f.get(array, place))


def stepped(value: Column) -> Column:
    """As `arrays.stepped`."""
    return f.rint(value * f.lit(float(RATE_STEPS))) / f.lit(float(RATE_STEPS))


def potential_out() -> Column:
    """As `kernel.cluster.potential_out`, of rows with rates."""
    followers = f.greatest(f.size("replicas") - 1, f.lit(0)).cast("double")
    return f.col("read_bps") + f.col("write_bps") * followers


def sums_per_broker(rows: DataFrame, **values: Column) -> DataFrame:
    """Rows with `replicas` and `leader` -> per cluster and broker the sums of `values`, which may look at `broker_id`,
    `holds` (whether it is a replica) and `leads`. A leader that is no replica gets its part, too."""
    leader = f.col("leader")
    brokers = f.when(f.array_contains("replicas", leader), f.col("replicas")).otherwise(
        f.concat("replicas", f.array(leader))
    )
    spread = rows.withColumn("broker_id", f.explode(brokers))
    spread = spread.withColumn("leads", f.col("broker_id") == leader)
    spread = spread.withColumn("holds", f.array_contains("replicas", f.col("broker_id")))
    return spread.groupBy(*KEY, "broker_id").agg(*(value.alias(name) for name, value in values.items()))


_FINDING: Final = ("kind", "broker_id", "observed", "limit", "unit", "when")
_LIST: Final = (
    "array<struct<kind:string,broker_id:int,observed:double,limit:double,unit:string,when:string>>"  # of _FINDING
)


def _finding(kind: str, observed: Column, limit: Column, unit: Column, *, broker: Column | None = None,
             when: str = NOW) -> Column:  # fmt: skip
    at_broker = f.lit(None) if broker is None else broker
    values = (f.lit(kind), at_broker.cast("int"), observed.cast("double"), limit.cast("double"), unit, f.lit(when))
    return f.struct(*(value.alias(name) for name, value in zip(_FINDING, values, strict=True)))


def _where(condition: Column, finding: Column) -> Column:
    """A list of the finding, or of nothing."""
    return f.when(condition, f.array(finding)).otherwise(f.array().cast(_LIST))


def _listed(rows: DataFrame, findings: Column, *, partitions: bool = False) -> DataFrame:
    """A row per finding, of the partition in whose row it stands, if it is of one."""
    places = (("topic", "string"), ("partition", "int"))
    where = [f.col(name) if partitions else f.lit(None).cast(kind).alias(name) for name, kind in places]
    found = rows.select(*KEY, *where, f.inline(findings))
    line = f.lit(0).cast("long").alias(LINE)
    return found.select(*KEY, "kind", *_WHERE, *_FINDING[1:], line)


def _by_partition(rows: DataFrame, partition: DataFrame, factor: int | None) -> DataFrame:
    """What a partition's row shows: one pass over the rows, all findings of a row as one list."""
    size, moving = f.size("replicas"), f.col("target_replicas").isNotNull()
    lasting = f.when(moving, f.least(size, f.size("target_replicas"))).otherwise(size)
    if factor is None:
        largest = partition.groupBy(*KEY, "topic").agg(f.max(lasting).alias("aim"))
        rows = rows.join(f.broadcast(largest), [*KEY, "topic"])
    else:
        rows = rows.withColumn("aim", f.lit(factor))
    rows = rows.withColumn("racks_of", f.transform("replicas", lambda broker: at("racks", broker)))
    distinct, wanted = f.size(f.array_distinct("racks_of")), f.least(lasting, f.col("rack_count_alive"))
    members = f.concat("replicas", f.coalesce("target_replicas", f.array().cast("array<int>")))
    outside = f.size(f.array_except("isr", members)) > 0
    leader, first = f.col("leader"), f.get("replicas", f.lit(0))
    led = f.coalesce(at("ids", leader).isNotNull(), f.lit(False))  # noqa: FBT003 - a value
    place = f.greatest(f.array_position("replicas", leader) - 1, f.lit(0))
    in_sync = f.size("isr")
    behind = (in_sync < size) & ~moving
    findings = f.concat(
        _unsound(),
        _where((f.col("rack_count") > 1) & (distinct < wanted), _finding("RACK", distinct, wanted, f.lit("racks"))),
        _where(lasting < f.col("aim"), _finding("RF", lasting, f.col("aim"), f.lit("replicas"))),
        f.transform(f.array_intersect("replicas", "dead"), _dead),
        _where(behind | outside, _finding("ISR", in_sync, size, f.lit("replicas in sync"))),
        _where(led & (leader != first), _finding("LEADER_ORDER", place, f.lit(0), f.lit("place of the leader"))),
    )
    return _listed(rows, findings, partitions=True)


def _dead(broker: Column) -> Column:
    return _finding("DEAD", f.lit(1), f.lit(0), f.lit("replicas"), broker=broker)


def _unsound() -> Column:
    """What `to_cluster` refuses: a broker that is not there; no replica, one twice, a negative id."""
    unknown = f.get(f.array_except("replicas", "ids"), f.lit(0)).cast("string")
    of_broker = f.concat(f.lit("broker "), unknown, f.lit(" holds replicas and is not in table broker"))
    of_row = f.lit("table partition: a partition or a replica stands twice, has a negative id, or there is none")
    twice = (f.size(f.array_distinct("replicas")) < f.size("replicas")) | (f.size("replicas") == 0)
    strange = f.array_contains(f.transform("racks_of", lambda rack: rack.isNull()), True)  # noqa: FBT003 - a value
    return (
        f.when(strange, f.array(_finding(UNSOUND, f.lit(0), f.lit(0), of_broker)))
        .when(twice | (f.col("partition") < 0), f.array(_finding(UNSOUND, f.lit(1), f.lit(0), of_row)))
        .otherwise(f.array().cast(_LIST))
    )


def _capacity(rows: DataFrame, load: DataFrame, brief: DataFrame) -> DataFrame:
    known_or_0 = [f.coalesce(name, f.lit(0)).alias(name) for name in ("size_bytes", "write_bps", "read_bps")]
    carried = load.select(*KEY, *_WHERE, *known_or_0)
    known = rows.select(*KEY, *_WHERE, "replicas", "leader").join(carried, [*KEY, *_WHERE])
    wrong = f.col("size_bytes") < 0
    for name in ("write_bps", "read_bps"):
        wrong = wrong | (f.col(name) < 0) | f.isnan(name) | (f.col(name) == float("inf"))
    sends = stepped(potential_out())
    sums = sums_per_broker(
        known,
        size=f.sum(f.when(f.col("holds"), f.col("size_bytes")).otherwise(0)),
        writes=f.sum(f.when(f.col("holds"), stepped(f.col("write_bps"))).otherwise(0.0)),
        sends=f.sum(f.when(f.col("leads"), sends).otherwise(0.0)),
        potential=f.sum(f.when(f.col("holds"), sends).otherwise(0.0)),
        wrong=f.max(wrong),
    )
    text = f.lit("table replica_load: a size or a rate is negative or no number")
    findings = f.concat(
        _where(f.col("wrong"), _finding(UNSOUND, f.lit(2), f.lit(0), text)),
        _over("CAP_DISK", "size", "disk_max", "bytes"),
        _over("CAP_IN", "writes", "in_max", "bytes/s"),
        _over("CAP_OUT", "sends", "out_max", "bytes/s"),
        _over("CAP_OUT", "potential", "out_max", "bytes/s", when=POTENTIAL),
    )
    return _listed(sums.join(f.broadcast(brief), list(KEY)), findings)


def _over(kind: str, load: str, limit: str, unit: str, *, when: str = NOW) -> Column:
    broker, most = f.col("broker_id"), at(limit, f.col("broker_id"))
    finding = _finding(kind, f.col(load), most, f.lit(unit), broker=broker, when=when)
    return _where((f.col(load) > most) & (most < NO_LIMIT), finding)


def _duplicates(quarantine: DataFrame) -> DataFrame:
    """Rows that validating took out. The text is cut where it is long: then it is no JSON, and is passed over."""
    parsed = f.from_json("raw", "topic string, partition int, replicas array<int>")
    rows = quarantine.where((f.col("reason") == DUPLICATE_REPLICAS) & f.col("raw").endswith("}"))
    line = f.col(LINE) if LINE in quarantine.columns else f.lit(0).cast("long")
    rows = rows.select(*KEY, line.alias("at"), parsed.alias("parsed")).select(*KEY, "at", "parsed.*")
    finding = _finding("DUP", f.size("replicas"), f.size(f.array_distinct("replicas")), f.lit("replicas"))
    found = rows.select(*KEY, *_WHERE, f.inline(f.array(finding)), "at")
    return found.select(*KEY, "kind", *_WHERE, *_FINDING[1:], f.col("at").alias(LINE))
