"""The parts of a rig, for the code that is in other modules."""

from __future__ import annotations

from ..model.values import Partition, TopicPartition
from ..simulated.agent import BrokerAgent
from ..simulated.broker import Broker
from ..simulated.copying import Copying
from .controllers import Controllers
from .operators import Operators
from .producers import Producers


class Parts(Controllers):
    """The parts of a `kedge.controller.rig.Rig`, and its present state. `asked_targets`: every requested target.
    `quiet_steps`: the number of steps in which nothing has happened. `has_old_versions`: some broker or controller
    knows no targets, or did not for a while. `broken_keys`: the undecodable value that another program wrote, and the
    value before it; `foreign_fields`: names of fields that another program added to a key, and that must stay.
    `operators`: the operators' throttles, and what else they asked for."""

    lag_max_ms: int
    record_bytes: int
    brokers: dict[int, Broker]
    duties: dict[int, BrokerAgent]
    copying: Copying
    producers: Producers
    asked_targets: dict[TopicPartition, set[tuple[int, ...]]]
    quiet_steps: int
    has_old_versions: bool
    broken_keys: dict[str, tuple[bytes, bytes]]
    foreign_fields: dict[str, set[str]]
    operators: Operators

    def partition(self, tp: TopicPartition) -> Partition:
        """The partition as it is committed. Raises KeyError where there is none."""
        return self.committed.partitions[tp]

    def leader(self, tp: TopicPartition) -> Broker | None:
        """The live broker that acts as the leader of `tp`, with the highest leader epoch."""
        found = [broker for broker in self.brokers.values() if broker.is_up and broker.leads(tp)]
        return max(found, key=lambda broker: broker.leader_epoch(tp), default=None)
