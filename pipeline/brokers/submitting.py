"""The way by which waves are submitted over Kafka's protocol.

* Waves run by the requests of KIP-455, on Kedge and on Kafka. Reassignments are listed first, replicas after that, so a
  move that ends in between is seen as running or as done. Brokers may hear of an end later than the controller, so
  what looks like another's change is read again for seconds.
* Rates are set before the moves start (rates.py). A permanent refusal (no rights, an API that is missing) ends the
  command; other errors are retried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs

from ...controller.cli.kafka.errors import Failed
from ...controller.cli.kafka.errors import Refused as RefusedByServer
from ...controller.cli.kafka.values import Description, PartitionState
from ...controller.cli.kafka.values import Move as Running
from ...controller.model.values import TopicPartition
from ..errors import Refused
from ..submit.cluster import IS_OFFLINE, NOT_THERE, OFFLINE, Look, Name, Replica, Seen, behind
from ..submit.exported import Move, Wave
from ..submit.kept import Progress
from ..submit.route import Route, Sent, Unsure
from .rates import AGAIN, KafkaRates, KedgeRates, rates_for

if TYPE_CHECKING:
    from ...controller.cli.kafka.cluster import Cluster

_NEEDED: Final = {45: "AlterPartitionReassignments", 46: "ListPartitionReassignments"}
_NOTHING_RUNS: Final = 85  # it ended by itself meanwhile
_NO_REPLICA: Final = 9
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
    rates: KedgeRates | KafkaRates
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

    def under_replicated(self) -> Mapping[Name, frozenset[int]]:
        """What moves first, as the rules above say."""
        with _asking("to list reassignments"):
            moves, topics = self.cluster.reassignments(), self.cluster.topics()
        tps = ((TopicPartition(topic.name, p.index), p) for topic in topics.values() for p in topic.partitions)
        return behind(((tp.topic, tp.partition), _seen(p, moves.get(tp))) for tp, p in tps)

    def sizes(self, wanted: Mapping[int, Collection[Name]]) -> Iterator[Mapping[Replica, int]]:
        """By DescribeLogDirs. Brokers that are down are not asked, since that would take until the deadline."""
        try:
            there = self.cluster.brokers()
        except Failed:
            return
        for broker in sorted(wanted.keys() & there.keys()):
            try:
                found = self.cluster.log_dirs(broker, [TopicPartition(*name) for name in wanted[broker]])
            except Failed:
                continue
            yield {(name, broker): size for name in wanted[broker] if (size := _size(found, name)) is not None}

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
    if partition.status == OFFLINE:
        return Seen(problem=IS_OFFLINE)
    leader = -1 if partition.leader is None else partition.leader
    return Seen(partition.replicas, None if move is None else move.target, partition.isr, leader)


def _size(found: Description, name: Name) -> int | None:
    """Bytes of the replica, 0 where the broker has none yet; None where a directory cannot be read, or the size is not
    known."""
    places = found.replicas.get(TopicPartition(*name), ())
    if not places:
        return None if any(disk.error for disk in found.dirs.values()) else 0
    size = next((each.size for each in places if not each.is_future), -1)
    return None if size < 0 else size


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
