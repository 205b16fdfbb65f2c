"""Leaders are elected (KIP-460)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from kafka.protocol.admin import ElectLeadersRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused
from controller.cli.kafka.grouping import by_topic
from controller.cli.kafka.values import TopicPartition


class ElectionType(IntEnum):
    """Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


class Elections:
    """The part of `Cluster` that is about leaders."""

    client: Client

    def elect_leaders(
        self, kind: ElectionType, of: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Refused | None]:
        """What became of each partition, sorted: None is elected. Of all partitions, where none are named, servers tell
        those alone where something was to be done. Raises Refused."""
        form = ElectLeadersRequest.TopicPartitions
        wanted = None if of is None else [form(topic=t, partitions=p) for t, p in by_topic(of).items()]
        request = ElectLeadersRequest(
            election_type=kind,
            topic_partitions=wanted,
            timeout_ms=round(self.client.deadline_s * 1000),
            min_version=1,  # before, there were preferred ones only, and no error of the whole
        )
        answer = self.client.ask_controller(request, lambda a: int(a.error_code))
        if answer.error_code:
            raise refused(answer.error_code)
        found = {
            TopicPartition(topic.topic, p.partition_id): refused(p.error_code, p.error_message)
            if p.error_code
            else None
            for topic in answer.replica_election_results
            for p in topic.partition_result
        }
        return {tp: found[tp] for tp in sorted(found)}
