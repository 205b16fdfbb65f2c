"""The replica that answers a client: the leader of the partition, on the broker that the client called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

import attrs

from ..model.logs import NO_EPOCH, LogError
from ..model.reductions import OFFLINE
from ..model.values import TopicPartition
from ..simulated.broker import Broker
from ..simulated.replica import Replica, Role
from .record_store import RecordStore
from .shelves import Shelves

T = TypeVar("T")


@attrs.frozen(eq=False)
class Leaders:
    """Finds the leaders among `brokers`; `shelves` have their records."""

    brokers: Mapping[int, Broker]
    shelves: Shelves

    def result(
        self,
        kind: Callable[[LogError], T],
        work: Callable[[Replica, RecordStore], T],
        broker_id: int | None,
        tp: TopicPartition,
        epoch: int = NO_EPOCH,
        *,
        is_debugging: bool = False,
    ) -> T:
        """The result of `work` for the leader; where there is none, or `work` raises, an answer of this `kind` with the
        error."""
        replica = self.find(broker_id, tp, epoch, is_debugging=is_debugging)
        if isinstance(replica, LogError):
            return kind(replica)
        with self.brokers[replica.broker].isolated(replica):
            return work(replica, self.shelves.of(replica))
        return kind(LogError.KAFKA_STORAGE_ERROR)

    def find(
        self, broker_id: int | None, tp: TopicPartition, epoch: int = NO_EPOCH, *, is_debugging: bool = False
    ) -> Replica | LogError:
        """The replica that answers: the leader, if the broker leads (None: of any broker); for a debugging client the
        broker's own. LogError where there is none, or the leader epoch differs."""
        if broker_id is None:
            found = [_leading(self._held(broker, tp)) for broker in self.brokers.values() if broker.is_up]
            leading = [replica for replica in found if isinstance(replica, Replica)]
            led = max(leading, key=lambda replica: replica.leader_epoch) if leading else _worst(found)
        else:
            broker = self.brokers.get(broker_id)
            held = None if broker is None else self._held(broker, tp)
            led = LogError.NOT_LEADER_OR_FOLLOWER if held is None else held if is_debugging else _leading(held)
        if isinstance(led, LogError) or epoch in {NO_EPOCH, led.leader_epoch}:
            return led
        return LogError.FENCED_LEADER_EPOCH if epoch < led.leader_epoch else LogError.UNKNOWN_LEADER_EPOCH

    def led_by(self, broker: Broker, tp: TopicPartition) -> Replica | None:
        """The replica of `tp` on this broker, if that leads it as far as it knows."""
        found = _leading(self._held(broker, tp))
        return found if isinstance(found, Replica) else None

    def _held(self, broker: Broker, tp: TopicPartition) -> Replica | LogError:
        if not broker.is_up:
            return LogError.NOT_LEADER_OR_FOLLOWER
        said = broker.metadata.get(tp)
        if said is None or said.status_code == OFFLINE:
            return LogError.UNKNOWN_TOPIC_OR_PARTITION
        return broker.replicas.get((said.topic_id, tp.partition), LogError.NOT_LEADER_OR_FOLLOWER)


def _leading(held: Replica | LogError) -> Replica | LogError:
    is_follower = isinstance(held, Replica) and held.role is not Role.LEADER
    return LogError.NOT_LEADER_OR_FOLLOWER if is_follower else held


def _worst(errors: Collection[object]) -> LogError:
    known = LogError.NOT_LEADER_OR_FOLLOWER
    return known if known in errors or not errors else LogError.UNKNOWN_TOPIC_OR_PARTITION
