"""Act 5: a topic is reduced from twelve partitions to eight while it is in use (KIP-694), and grows again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...model.plural import counted
from ...model.requests import DeletePartitions, NewPartitions
from ...model.values import Settings, TopicPartition
from ...rig import Rig
from ...rig.clients import Group, Producer
from ...rig.server import RecordingServer
from .screen import Screen

TOPIC: Final = "clicks"
BEFORE, AFTER, AGAIN = 12, 8, 9
RETENTION_MS: Final = 2_000
CHECK_MS: Final = 500
RECORDS_PER_S: Final = 240
KEYS: Final = tuple(f"user-{i}" for i in range(24))
DEADLINE_MS: Final = 120_000


@attrs.define(eq=False)
class ReducedTopic:
    """The cluster of the act."""

    racks: Mapping[int, str | None]
    seed: int
    screen: Screen
    server: RecordingServer | None = None
    rig: Rig = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        settings = Settings(delete_topic_partition_interval_delay_ms=CHECK_MS)
        brokers = dict(self.racks)
        self.rig = Rig(self.seed, brokers=brokers, controllers=1, settings=settings, server=self.server)

    def run(self) -> dict[str, Any]:
        """Everything, in order; what came of it."""
        rig, say = self.rig, self.screen.say
        rig.create_topic(TOPIC, BEFORE, min(3, len(self.racks)), configs={"retention.ms": str(RETENTION_MS)})
        rig.wait.until_converged()
        producer, group = rig.clients.producer(), rig.clients.group("reports", [TOPIC], members=2)
        producer.stream(TOPIC, RECORDS_PER_S, KEYS)
        producer.stream(TOPIC, RECORDS_PER_S)
        rig.run(1_000)
        say(f"{TOPIC} has {BEFORE} partitions; keyed and keyless records are written, two consumers read them.")
        rig.result(rig.admin.delete_partitions({TOPIC: DeletePartitions(AFTER)}).all())
        rig.until(lambda: self._told() == BEFORE - AFTER, what="all brokers know")
        self.screen.event(f"reduced to {AFTER}: the last {BEFORE - AFTER} are read-only until their retention ends")
        at_request = dict(producer.sent_to)
        rig.run(1_000)
        self._show(producer, group, at_request)
        late = sum(producer.sent_to.get(tp, 0) - at_request.get(tp, 0) for tp in self._tail())
        self._until_purged(group)
        producer.stop()
        rig.until(lambda: not rig.producers.waiting and not producer.waiting, what="all is acknowledged")
        rig.until(lambda: sum(group.consumed.values()) == sum(producer.sent_to.values()), what="all is read")
        say(f"The partitions are deleted, with logs, keys and committed offsets; {len(KEYS)} keys continue in {AFTER}.")
        again = self._grow(group)
        rig.check_end()
        return {
            "partitions": [BEFORE, AFTER, AGAIN],
            "written_to_read_only": late,
            "refused": producer.refused,
            "written": sum(producer.sent_to.values()),
            "read": sum(group.consumed.values()) - again,
            "virtual_ms": rig.clock.elapsed_ms,
        }

    def _tail(self) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, partition) for partition in range(AFTER, BEFORE)]

    def _told(self) -> int:
        """Of how many partitions all brokers know that they take no records any more."""
        return sum(
            all(broker.metadata[tp].status_code != 0 for broker in self.rig.brokers.values()) for tp in self._tail()
        )

    def _show(self, producer: Producer, group: Group, before: Mapping[TopicPartition, int]) -> None:
        words = {0: "online", -1: "read-only", 1: "offline"}
        readers = {tp: f"consumer {i + 1}" for i, own in enumerate(group.assignment) for tp in own}
        rows = []
        for tp in [TopicPartition(TOPIC, 0), *self._tail()]:
            sent, status = producer.sent_to.get(tp, 0), words[self.rig.partition(tp).status_code]
            more = str(sent - before.get(tp, 0))
            rows.append((str(tp), status, str(before.get(tp, 0)), more, readers.get(tp, "-")))
        self.screen.table(("partition", "status", "written before", "since", "read by"), rows)

    def _until_purged(self, group: Group) -> None:
        rig = self.rig
        with self.screen.bar("waiting for the retention to end") as bar:
            for _ in range(DEADLINE_MS // 500):
                left = [tp for tp in self._tail() if tp in rig.committed.partitions]
                bar.at(len(self._tail()) - len(left), len(self._tail()), f"{counted(len(left), 'partition')} left")
                if not left:
                    break
                rig.run(500)
        rig.until(lambda: not any(tp in rig.committed.partitions for tp in self._tail()), what="they are purged")
        rig.until(lambda: not any(tp in own for own in group.assignment for tp in self._tail()), what="nobody reads")

    def _grow(self, group: Group) -> int:
        """One partition more: its id is one that was there before, its log begins at nothing."""
        rig, new = self.rig, TopicPartition(TOPIC, AFTER)
        rig.result(rig.admin.create_partitions({TOPIC: NewPartitions(AGAIN)}).all())
        rig.wait.until_converged()
        rig.fill([new], 10)
        rig.until(lambda: group.committed(new) == 10, what="it is read from its beginning")
        self.screen.event(
            f"{new} is created again: it begins at offset 0, with leader epoch {rig.partition(new).leader_epoch}"
        )
        return 10
