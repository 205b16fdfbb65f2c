"""Topics: made, deleted, given more partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused

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
