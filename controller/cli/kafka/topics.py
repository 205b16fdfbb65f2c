"""Requests about topics: create, delete, add partitions, and where their logs end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.consumer import ListOffsetsRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import UNSUPPORTED, Refused
from controller.model.values import TopicPartition


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Topic -> ids, both sorted."""
    found: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        found.setdefault(tp.topic, []).append(tp.partition)
    return found


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


_TIMEOUT_MS: Final = 30_000


class Topics:
    """The part of `Cluster` that changes topics."""

    client: Client

    def create_topic(
        self,
        name: str,
        partitions: int | None,
        replication_factor: int | None,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Makes it; None: the server's own number. Raises Refused."""
        topic_of = CreateTopicsRequest.CreatableTopic
        request = CreateTopicsRequest(
            topics=[
                topic_of(
                    name=name,
                    num_partitions=-1 if partitions is None else partitions,
                    replication_factor=-1 if replication_factor is None else replication_factor,
                    assignments=[
                        topic_of.CreatableReplicaAssignment(partition_index=i, broker_ids=list(replicas))
                        for i, replicas in sorted((assignments or {}).items())
                    ],
                    configs=[topic_of.CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
                )
            ],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )
        (answer,) = self.client.ask_controller(request, lambda a: int(a.topics[0].error_code)).topics
        if answer.error_code:
            raise refused(answer.error_code, answer.error_message)

    def delete_topics(self, names: Iterable[str]) -> dict[str, Refused]:
        """Deletes them. Gives back those that were refused."""
        form = DeleteTopicsRequest.DeleteTopicState
        wanted = sorted(names)
        request = DeleteTopicsRequest(
            topics=[form(name=name) for name in wanted], topic_names=wanted, timeout_ms=_TIMEOUT_MS
        )
        answer = self.client.ask_controller(request, lambda a: next((int(r.error_code) for r in a.responses), 0))
        return {r.name: refused(r.error_code, r.error_message) for r in answer.responses if r.error_code}

    def create_partitions(self, name: str, count: int, new: Sequence[Sequence[int]] | None = None) -> None:
        """The topic has `count` partitions afterwards; `new`: replicas of those that are added. Raises Refused."""
        topic_of = CreatePartitionsRequest.CreatePartitionsTopic
        assignments = (
            None
            if new is None
            else [topic_of.CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in new]
        )
        request = CreatePartitionsRequest(
            topics=[topic_of(name=name, count=count, assignments=assignments)],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )
        (answer,) = self.client.ask_controller(request, lambda a: int(a.results[0].error_code)).results
        if answer.error_code:
            raise refused(answer.error_code, answer.error_message)
