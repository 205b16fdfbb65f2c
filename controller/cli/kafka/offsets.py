"""Where the log of each replica ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka.protocol.consumer import ListOffsetsRequest

from controller.cli.kafka.client import Client
from controller.cli.kafka.errors import UNSUPPORTED, Refused
from controller.cli.kafka.grouping import by_topic
from controller.cli.kafka.values import TopicPartition

_ANY_REPLICA: Final = -2  # who asks is neither consumer nor replica: a follower answers, too, and with its own end
_LATEST: Final = -1
_WHOLE: Final = 0  # not only what transactions have committed


class Offsets:
    """The part of `Cluster` that is about logs."""

    client: Client

    def end_offsets(self, broker: int, of: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of the broker's own log of each partition. Those for which the broker reports no end are left out;
        that is all of them where the server does not offer ListOffsets."""
        form = ListOffsetsRequest.ListOffsetsTopic
        request = ListOffsetsRequest(
            replica_id=_ANY_REPLICA,
            isolation_level=_WHOLE,
            topics=[
                form(
                    name=topic,
                    partitions=[form.ListOffsetsPartition(partition_index=p, timestamp=_LATEST) for p in partitions],
                )
                for topic, partitions in by_topic(of).items()
            ],
            timeout_ms=round(self.client.deadline_s * 1000),
            min_version=1,
        )
        try:
            answer = self.client.ask(request, broker)
        except Refused as error:
            if error.code == UNSUPPORTED:
                return {}
            raise
        return {
            TopicPartition(topic.name, p.partition_index): p.offset
            for topic in answer.topics
            for p in topic.partitions
            if not p.error_code and p.offset >= 0
        }
