"""The topics of groups and of transactions, which the controller creates before a broker does.

Brokers place a topic over all live brokers, and the controller is one of those (`host`). A broker that created an
internal topic would so put replicas on the controller, which holds none. So the controller creates these topics itself,
as soon as there are brokers enough, and until then brokers do not see it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import attrs

from ...admin import Results
from ...coordinators.partitions import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from ...host import Controller
from ...model.errors import NotController, TopicAlreadyExists
from ...model.requests import CreatedTopic, NewTopic
from ...model.view import ClusterView

_SEGMENT_BYTES: Final = str(100 * 1024 * 1024)
log = logging.getLogger(__name__)


@attrs.frozen
class InternalTopics:
    """How internal topics are created; Kafka's defaults. The number of partitions must be that of the brokers
    (`offsets.topic.num.partitions`, `transaction.state.log.num.partitions`): they compute with it."""

    offsets_partitions: int = 50
    transactions_partitions: int = 50
    replication_factor: int = 3
    transactions_min_isr: int = 2

    @property
    def topics(self) -> Mapping[str, NewTopic]:
        """Each topic by its name."""
        least = str(min(self.transactions_min_isr, self.replication_factor))
        return {
            OFFSETS_TOPIC: NewTopic(
                self.offsets_partitions,
                self.replication_factor,
                configs={
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    "segment.bytes": _SEGMENT_BYTES,
                },
            ),
            TRANSACTIONS_TOPIC: NewTopic(
                self.transactions_partitions,
                self.replication_factor,
                configs={
                    "cleanup.policy": "compact",
                    "compression.type": "uncompressed",
                    "min.insync.replicas": least,
                    "segment.bytes": _SEGMENT_BYTES,
                    "unclean.leader.election.enable": "false",
                },
            ),
        }


class InternalTopicsCreator:
    """Creates what is missing of `wanted`. From any thread of callbacks."""

    def __init__(self, wanted: InternalTopics) -> None:
        self._wanted: Final = wanted
        self._lock = threading.Lock()
        self._complete_in: int | None = None  # the controller epoch in which all of them were seen
        self._creating: Results[str, CreatedTopic] | None = None

    def are_complete(self, controller: Controller, controller_epoch: int, live: int, timeout_s: float) -> bool:
        """Whether all of them exist. Those that are missing are being created once `live` brokers are enough; this
        does not wait for it. Raises what the query raises."""
        with self._lock:
            if self._complete_in == controller_epoch:
                return True
            wanted = self._wanted.topics
            there = controller.query(partial(_existing, tuple(wanted))).result(timeout_s)
            if len(there) == len(wanted):
                self._complete_in = controller_epoch
                return True
            if live >= self._wanted.replication_factor and self._is_free():
                missing = {name: topic for name, topic in wanted.items() if name not in there}
                self._creating = controller.admin.create_topics(missing)
            return False

    def _is_free(self) -> bool:
        """Whether no creation is on its way. One that failed is made again."""
        if self._creating is None:
            return True
        if not self._creating.all().done():
            return False
        for name, future in self._creating.items():
            error = future.exception()
            if error is not None and not isinstance(error, TopicAlreadyExists | NotController):
                log.warning("topic %s is not created: %r", name, error)
        return True


def _existing(names: Iterable[str], view: ClusterView) -> tuple[str, ...]:
    return tuple(name for name in names if view.topic(name) is not None and not view.is_deleting(name))
