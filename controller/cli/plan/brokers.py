"""A cluster over Kafka's protocol, for `kedge plan`: its snapshot, and the way by which waves are submitted.

* A snapshot comes from several requests (Metadata, ListPartitionReassignments, DescribeConfigs, DescribeLogDirs of each
  broker), so it is not atomic. A broker that does not answer, a directory or a topic's configs that cannot be read: a
  rejected row. If the cluster does not answer, Failed is raised.
* Waves run by the requests of KIP-455, on Kedge and on Kafka. Reassignments are listed first, replicas after that, so a
  move that ends in between is seen as running or as done. Brokers may hear of an end later than the controller, so
  what looks like another's change is read again for seconds.
* Rates are set before the moves start (rates.py). A permanent refusal (no rights, an API that is missing) ends the
  command; other errors are retried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

import attrs

from ....pipeline.collect.gathered import Gathered
from ....pipeline.errors import Refused
from ....pipeline.submit import Route, Sent, Unsure
from ....pipeline.submit.cluster import NOT_THERE, Look, Name, Seen
from ....pipeline.submit.exported import Move, Wave
from ....pipeline.submit.kept import Progress
from ....pipeline.tables.declared import ALIVE
from ...model import numerals
from ...model.values import TopicPartition
from ..kafka.errors import Failed
from ..kafka.errors import Refused as RefusedByServer
from ..kafka.values import Description, PartitionState, Resource, ResourceType, Setting, TopicState
from ..kafka.values import Move as Running
from .rates import AGAIN, Rates, rates_for

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


_RETENTION: Final = "retention.ms"
_CLEANUP: Final = "cleanup.policy"
_DELETE: Final = "delete"
_TOPICS_AT_ONCE: Final = 500


def from_cluster(cluster: Cluster, source: str, into: Gathered) -> None:
    brokers = cluster.brokers()
    into.knows_alive = True
    for broker in brokers.values():
        into.broker(broker.id, host=broker.host, rack=broker.rack, state=ALIVE)
    topics, moves = cluster.topics(), cluster.reassignments()
    retention = _retentions(cluster, topics, source, into)
    for topic in topics.values():
        into.partitions += _rows(topic, moves, retention.get(topic.name))
    for broker_id in brokers:
        _sizes(cluster, broker_id, source, into)


def _rows(
    topic: TopicState, moves: Mapping[TopicPartition, Running], retention_ms: int | None
) -> Iterator[tuple[object, ...]]:
    for partition in topic.partitions:
        move = moves.get(TopicPartition(topic.name, partition.index))
        yield (
            topic.name,
            partition.index,
            partition.replicas,
            partition.isr,
            -1 if partition.leader is None else partition.leader,
            partition.leader_epoch or 0,
            None if move is None else move.target,
            partition.status,
            retention_ms,
            None,
        )


def _retentions(cluster: Cluster, topics: Iterable[str], source: str, into: Gathered) -> dict[str, int]:
    """By topic, of those that delete what is old."""
    found: dict[str, int] = {}
    left = iter(sorted(topics))
    while some := [Resource(ResourceType.TOPIC, name) for name in islice(left, _TOPICS_AT_ONCE)]:
        for resource, answer in cluster.describe_configs(some).items():
            if isinstance(answer, RefusedByServer):
                into.rejects.add(source, None, {"topic": resource.name}, f"its configs cannot be read: {answer}")
            elif (retention_ms := _retention(answer)) is not None:
                found[resource.name] = retention_ms
    return found


def _retention(settings: Mapping[str, Setting]) -> int | None:
    """Milliseconds; None where they are unknown, or nothing is deleted by its age (compacted topics)."""
    retention, policy = settings.get(_RETENTION), settings.get(_CLEANUP)
    if retention is None or retention.value is None or (policy is not None and _DELETE not in (policy.value or "")):
        return None
    return numerals.whole(retention.value.strip(), low=None)


def _sizes(cluster: Cluster, broker_id: int, source: str, into: Gathered) -> None:
    try:
        found = cluster.log_dirs(broker_id)
    except Failed as error:
        into.rejects.add(source, None, {"broker": broker_id}, f"its log dirs cannot be read: {error}")
        return
    for path, disk in sorted(found.dirs.items()):
        if disk.error:
            into.rejects.add(source, None, {"broker": broker_id, "logDir": path}, f"cannot be read: error {disk.error}")
        else:
            into.log_dirs[broker_id, path] = (disk.total_bytes, disk.usable_bytes, disk.is_cordoned)
    into.logs += _logs(broker_id, found)


def _logs(broker_id: int, found: Description) -> Sequence[tuple[object, ...]]:
    """Of replicas of which the size is known: Kedge says -1 of what no broker reported."""
    return [
        (broker_id, each.path, tp.topic, tp.partition, each.size, None if each.lag < 0 else each.lag, each.is_future)
        for tp, places in sorted(found.replicas.items())
        for each in places
        if each.size >= 0
    ]


_NEEDED: Final = {45: "AlterPartitionReassignments", 46: "ListPartitionReassignments"}
_NOTHING_RUNS: Final = 85  # it ended by itself meanwhile
_NO_REPLICA: Final = 9
_OFFLINE: Final = 1
_AT_ONCE: Final = 5_000  # partitions of a request: a controller of KRaft takes 10,000 at most


def by_brokers(cluster: Cluster) -> Callable[[Progress], Route]:

    def made(progress: Progress) -> Route:
        lacks = [name for api, name in _NEEDED.items() if not cluster.offers(api)]
        if lacks:
            raise Refused(f"the brokers do not offer {' and '.join(lacks)}; expected Kafka 2.4 or later, or Kedge")
        return BrokersWay(cluster, rates_for(cluster, progress))

    return made


@attrs.frozen
class BrokersWay:
    cluster: Cluster
    rates: Rates
    looks_again_s: tuple[float, ...] = attrs.field(default=(0.1, 0.4, 1.0, 2.0), init=False)
    removal_s: float = attrs.field(default=0.0, init=False)

    def look(self, names: Iterable[Name]) -> Look:
        """What moves first, as the rules above say."""
        wanted = [TopicPartition(*name) for name in sorted(set(names))]
        if not wanted:
            return {}
        with _asking("to list reassignments"):
            moves = self.cluster.reassignments(wanted)
            topics = self.cluster.topics({tp.topic for tp in wanted})
        there = {TopicPartition(topic.name, p.index): p for topic in topics.values() for p in topic.partitions}
        return {(tp.topic, tp.partition): _seen(there.get(tp), moves.get(tp)) for tp in wanted}

    def alive(self) -> tuple[frozenset[int], bool]:
        """Those that the cluster names. A controller is active, or no request would have been answered before."""
        with _asking("to describe the cluster"):
            return frozenset(self.cluster.brokers()), True

    def moving(self) -> frozenset[Name]:
        with _asking("to list reassignments"):
            return frozenset((tp.topic, tp.partition) for tp in self.cluster.reassignments())

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:  # noqa: ARG002 - as below
        """Whether this user may set throttles and start moves: an empty request is refused to one that may not. Whether
        the server accepts the moves themselves cannot be asked."""
        with _asking("to alter throttles"):
            self.rates.check(wave)
        with _asking("to alter reassignments"):
            self.cluster.alter_reassignments({})
        return {}

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        self.set_rates(wave)
        refused = self._choose_log_dirs(moves)
        left = [move for move in moves if move.name not in refused]
        with _asking("to alter reassignments"):
            for first in range(0, len(left), _AT_ONCE):
                some = {TopicPartition(*move.name): move.after for move in left[first : first + _AT_ONCE]}
                refused |= _reasons(self.cluster.alter_reassignments(some))
        return Sent(len(moves) - len(refused), refused, has_rates=self.rates.stay_set)

    def _choose_log_dirs(self, moves: Sequence[Move]) -> dict[Name, str]:
        """A broker that has no such replica yet remembers where to create it, and answers that there is none."""
        wanted: dict[int, dict[TopicPartition, str]] = {}
        for move in moves:
            for broker, path in move.log_dirs:
                wanted.setdefault(broker, {})[TopicPartition(*move.name)] = path
        refused: dict[Name, str] = {}
        with _asking("to choose log directories"):
            for broker, paths in sorted(wanted.items()):
                answers = self.cluster.alter_log_dirs(broker, paths)
                refused |= _reasons({tp: error for tp, error in answers.items() if error.code != _NO_REPLICA})
        return refused

    def set_rates(self, wave: Wave) -> None:
        with _asking("to alter throttles"):
            self.rates.set(wave)

    def is_marked(self, wave: Wave | None) -> bool:
        return self.rates.stand(wave)

    def give_back(self) -> str:
        with _asking("to alter throttles"):
            return self.rates.give_back()

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """What ended meanwhile needs no cancelling."""
        with _asking("to alter reassignments"):
            answers = self.cluster.alter_reassignments({TopicPartition(*move.name): None for move in moves})
        return _reasons({tp: error for tp, error in answers.items() if error.code != _NOTHING_RUNS})


def _seen(partition: PartitionState | None, move: Running | None) -> Seen:
    if partition is None:
        return NOT_THERE
    if partition.status == _OFFLINE:
        return Seen(problem="the partition is offline")
    leader = -1 if partition.leader is None else partition.leader
    return Seen(partition.replicas, None if move is None else move.target, partition.isr, leader)


def _reasons(refused: Mapping[TopicPartition, RefusedByServer]) -> dict[Name, str]:
    """The server's words for each. Raises Unsure where they may be others the next time."""
    for error in refused.values():
        if error.code in AGAIN:
            raise Unsure(str(error))
    return {(tp.topic, tp.partition): f"{error} ({error.code})" for tp, error in refused.items()}


@contextmanager
def _asking(what: str) -> Iterator[None]:
    try:
        yield
    except RefusedByServer as error:
        if error.code in AGAIN:
            raise Unsure(str(error)) from None
        raise Refused(f"the cluster refuses {what}: {error}") from None
    except Failed as error:
        raise Unsure(str(error)) from None
