"""Tables as the kernel's arrays: keys as numbers, lists as matrices, and a whole cluster.

A topic is given by its index among the sorted names, a broker by its index among the sorted ids. A look-up is one
`searchsorted` per column: with a million rows a dictionary of tuples takes ten times as long.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..arguments import checked
from ..errors import BadInput
from ..kernel.cluster import MOVABLE, MOVING, NO_LIMIT, NOBODY, NOT_ONLINE, Bools, Cluster, Floats, Ints
from ..tables.arrow import Arrow
from ..tables.declared import DEAD

IGNORE_RACKS: Final = "--ignore-racks"
SHARE_STEPS: Final = 2**32  # per 1, so that sums are exact up to two million shares
_SHIFT: Final = 32  # a key is (topic << 32) + partition


@attrs.frozen(field_transformer=checked)
class Limits:
    """The share of a broker's capacity that a plan may fill."""

    disk_share: float = 0.85
    network_share: float = 0.8

    def __attrs_post_init__(self) -> None:
        for name, value in (("disk share", self.disk_share), ("network share", self.network_share)):
            if not 0 < value <= 1:
                raise BadInput(f"{name}: expected above 0, at most 1, got {value}")


def numbers(column: Any, default: int = 0) -> Ints:
    """A column of whole numbers, with `default` for null."""
    return np.asarray(pc.fill_null(column, default).to_numpy(), np.int64)


def amounts(column: Any, default: float = 0.0) -> Floats:
    return np.asarray(pc.fill_null(column, default).to_numpy(), np.float64)


def known(column: Any) -> Bools:
    """Whether each value is not null."""
    return np.asarray(pc.is_valid(column).to_numpy(), np.bool_)


def flat(column: Any) -> tuple[Ints, Ints]:
    """The numbers of a column of lists one after the other, NOBODY for a null among them, and the length of each row; a
    null row has none."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lengths = numbers(pc.list_value_length(whole))
    return numbers(whole.flatten(), NOBODY), lengths


def matrix(values: Ints, lengths: Ints) -> Ints:
    """One row per list, padded with NOBODY."""
    width = max(1, int(lengths.max(initial=0)))
    found = np.full((len(lengths), width), NOBODY, np.int64)
    found[np.arange(width) < lengths[:, None]] = values
    return found


def indexed(values: Ints, among: Ints) -> Ints:
    """The index of each value among sorted ones, NOBODY if it is absent."""
    if not len(among):
        return np.full(values.shape, NOBODY, np.int64)
    at = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.where(among[at] == values, at, NOBODY)


def topic_codes(column: Any, topics: Any) -> Ints:
    """The index of each topic among `topics` (an Arrow array of names), NOBODY if it is absent."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = numbers(pc.index_in(encoded.dictionary, value_set=topics), NOBODY)
    return codes[numbers(encoded.indices)] if len(codes) else np.empty(0, np.int64)


def keys_of(topic: Ints, number: Ints) -> Ints:
    """One number per (topic, partition), in their order. Unknown topics give negative ones."""
    return np.where(topic >= 0, (topic << _SHIFT) + number, NOBODY)


def sorted_topics(partition: Arrow) -> Any:
    return pc.unique(partition.column("topic")).sort()


def to_cluster(
    broker: Arrow, partition: Arrow, load: Arrow | None, *, limits: Limits, ignore_racks: bool = False
) -> Cluster:
    """The cluster of validated tables; without loads all sizes are 0 and unknown.

    Raises BadInput if some live brokers have a rack and others none, unless racks are ignored.
    """
    brokers = numbers(broker.column("broker_id"))
    order = np.argsort(brokers, kind="stable")
    broker, brokers = broker.take(order), brokers[order]
    topics = sorted_topics(partition)
    topic = topic_codes(partition.column("topic"), topics)
    number = numbers(partition.column("partition"))
    keys = keys_of(topic, number)
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        partition, topic, number, keys = partition.take(order), topic[order], number[order], keys[order]
    (size, write_bps, read_bps), (sized, rated) = _loads(load, topics, keys)
    replicas = _places(*flat(partition.column("replicas")), brokers)
    _check_sound(number, keys, replicas, (size, write_bps, read_bps))
    alive = np.asarray(pc.not_equal(broker.column("state"), DEAD).to_numpy(), np.bool_)
    rack, racks = _racks(broker, ignore_racks=ignore_racks)
    status = numbers(partition.column("status_code"))
    moving = known(partition.column("target_replicas"))
    return Cluster(
        topics=tuple(topics.to_pylist()),
        topic=topic,
        number=number,
        replicas=replicas,
        leader=indexed(numbers(partition.column("leader")), brokers),
        size=size,
        write_bps=write_bps,
        read_bps=read_bps,
        held=np.where(status != 0, NOT_ONLINE, np.where(moving, MOVING, MOVABLE)),
        brokers=brokers,
        rack=rack,
        racks=racks,
        alive=alive,
        disk_max=_disk_max(broker, limits),
        in_max=amounts(broker.column("nw_in_capacity_bps"), np.inf) * limits.network_share,
        out_max=amounts(broker.column("nw_out_capacity_bps"), np.inf) * limits.network_share,
        sized=sized,
        rated=rated,
        takes=np.ones(len(brokers), np.bool_),
        keeps=np.zeros(len(brokers), np.bool_),
    )


def defaulted(broker: Arrow, default: Arrow | None) -> Arrow:
    """The brokers, with the capacities of the table `broker_default` where one has none."""
    for row in [] if default is None else default.to_pylist():
        for name, value in row.items():
            if value is not None:
                filled = pc.fill_null(broker.column(name), value)
                broker = broker.set_column(broker.schema.get_field_index(name), name, filled)
    return broker


def leaving(broker: Arrow, ids: Ints) -> Bools:
    """Which brokers of `ids` (ascending) have the state draining."""
    at = indexed(numbers(broker.column("broker_id")), ids)
    found = np.zeros(len(ids), np.bool_)
    found[at] = np.asarray(pc.equal(broker.column("state"), "draining").to_numpy(), np.bool_)
    return found


def lagging(cluster: Cluster, partition: Arrow) -> dict[int, frozenset[int]]:
    """For each partition that has some: the brokers, by index, whose replica is not in sync."""
    topic = topic_codes(partition.column("topic"), sorted_topics(partition))
    order = np.argsort(keys_of(topic, numbers(partition.column("partition"))), kind="stable")
    values, lengths = flat(partition.column("isr").take(pa.array(order)))
    in_sync = matrix(indexed(values, cluster.brokers), lengths)
    behind = cluster.replicas != NOBODY
    for column in in_sync.T:
        behind &= cluster.replicas != column[:, None]
    rows = np.nonzero(behind.any(axis=1))[0]
    return {int(p): frozenset(cluster.replicas[p][behind[p]].tolist()) for p in rows}


def _check_sound(number: Ints, keys: Ints, replicas: Ints, loads: tuple[Any, ...]) -> None:
    """Raises BadInput for tables that were not validated, since a plan from them would be wrong."""
    ordered = np.sort(replicas, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOBODY)).any()
    if (number < 0).any() or (keys[1:] == keys[:-1]).any() or (replicas[:, 0] == NOBODY).any() or twice:
        raise BadInput("table partition: a partition or replica occurs twice, has a negative id, or has no replicas")
    if any(((load < 0) | ~np.isfinite(load)).any() for load in loads):
        raise BadInput("table replica_load: a size or a rate is negative or not a number")


def _places(values: Ints, lengths: Ints, brokers: Ints) -> Ints:
    at = indexed(values, brokers)
    if (at == NOBODY).any():
        raise BadInput(f"broker {values[at == NOBODY][0]} holds replicas and is not in table broker")
    return matrix(at, lengths)


def _loads(load: Arrow | None, topics: Any, keys: Ints) -> tuple[tuple[Ints, Floats, Floats], tuple[Bools, Bools]]:
    """Sizes and rates, 0 if unknown; and which sizes and which write rates are known."""
    if load is None:
        nothing = np.zeros(len(keys), np.bool_)
        return (np.zeros(len(keys), np.int64), np.zeros(len(keys)), np.zeros(len(keys))), (nothing, nothing)
    found = keys_of(topic_codes(load.column("topic"), topics), numbers(load.column("partition")))
    at = indexed(found, keys)
    columns = (numbers(load.column("size_bytes")), amounts(load.column("write_bps")), amounts(load.column("read_bps")))
    flags = (
        known(load.column("size_bytes")),
        known(load.column("write_bps")) & (amounts(load.column("completeness")) > 0),
    )
    if len(at) == len(keys) and (at == np.arange(len(keys))).all():
        return columns, flags  # in the order of the partitions, as `load` writes them
    there = at != NOBODY

    def placed(given: Any) -> Any:
        whole = np.zeros(len(keys), given.dtype)
        whole[at[there]] = given[there]
        return whole

    size, write_bps, read_bps = map(placed, columns)
    sized, rated = map(placed, flags)
    return (size, write_bps, read_bps), (sized, rated)


def _racks(broker: Arrow, *, ignore_racks: bool) -> tuple[Ints, tuple[str, ...]]:
    """The rack of each broker; NOBODY for a dead broker without a rack."""
    names, states = broker.column("rack").to_pylist(), broker.column("state").to_pylist()
    living = {name for name, state in zip(names, states, strict=True) if state != DEAD}
    if ignore_racks or living <= {None}:
        return np.zeros(len(names), np.int64), ("",)
    if None in living:
        without = [
            b for b, n, s in zip(broker.column("broker_id").to_pylist(), names, states, strict=True)
            if n is None and s != DEAD
        ]  # fmt: skip
        raise BadInput(f"brokers {without[:20]} have no rack and others have one; {IGNORE_RACKS} plans without racks")
    racks = sorted({name for name in names if name is not None})
    place = {name: i for i, name in enumerate(racks)}
    return np.array([NOBODY if name is None else place[name] for name in names], np.int64), tuple(racks)


def _disk_max(broker: Arrow, limits: Limits) -> Ints:
    column = broker.column("disk_capacity_bytes")
    share = np.minimum(amounts(column) * limits.disk_share, float(NO_LIMIT)).astype(np.int64)
    return np.where(known(column), share, NO_LIMIT)
