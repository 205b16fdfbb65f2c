"""What records may publish; the runtime implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..model.values import Broker, DeleteIntent, Partition
from ..state import ClusterState


class Publication(Protocol):
    """Takes what is published of a commit, record by record. `state`: with the whole commit."""

    state: ClusterState

    # --- brokers

    def partition(self, number: int, *, must_obey: bool) -> None:
        """All brokers get the metadata of the partition. `must_obey`: its replicas get a LeaderAndIsr request."""

    def created(self, number: int, members: Sequence[int]) -> None:
        """A partition got its first leader: `members` have no log of it yet."""

    def purged(self, number: int, partition: Partition) -> None:
        """A reduction removed the partition."""

    def purged_before(self, topic: str, partition: int) -> None:
        """A former controller purged the partition, perhaps without notifying the host."""

    def readable(self, topic: str) -> None:
        """A key of the topic, or of one of its partitions, can be read again or is gone."""

    def everything_readable(self) -> None:
        """No key is unreadable any more."""

    def intended(self, intent: DeleteIntent) -> None:
        """A broker has to delete a replica."""

    def deletion_started(self, topic: str, topic_id: str) -> None:
        """The deletion of a topic began."""

    def registered(self, broker: Broker) -> None:
        """The broker is live."""

    def left(self, broker_id: int) -> None:
        """The broker is not live any more."""

    def ask_again(self, broker_id: int) -> None:
        """The broker has to be sent all its partitions again."""

    def forgotten(self, broker_id: int) -> None:
        """The broker will never return."""

    # --- the host, timers and reports

    def configs(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        """A topic or broker has these configs now."""

    def moving(self, partition: Partition) -> None:
        """The partition has a new move, which may have a deadline."""

    def throttled(self) -> None:
        """Throttles were marked or changed."""

    def forget_reports(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """The replicas do not exist any more: drop the reports of their logs."""

    # --- what is read again, and what people have to know

    def read_key(self, key: str) -> None:
        """The key may have changed."""

    def read_requests(self) -> None:
        """A topic was found or became readable: requests may have waited for it."""

    def read_registrations(self) -> None:
        """A newer registration may have been seen before this decision."""

    def notification_worked_off(self, key: str, notes: Sequence[str], problem: str | None) -> None:
        """The key of a notification was deleted."""

    def finding(self, key: str, problem: str | None) -> None:
        """What is wrong with a key; None: nothing any more."""

    def warn(self, text: str) -> None:
        """Log a warning."""
