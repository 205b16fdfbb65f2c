"""Directories of brokers: what lies where and how far behind it is, and moves between directories of one broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.admin import AlterReplicaLogDirsRequest, DescribeLogDirsRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused
from controller.cli.kafka.grouping import by_topic
from controller.cli.kafka.values import Description, LogDir, TopicPartition


class LogDirs:
    """The part of `Cluster` that is about directories."""

    client: Client

    def log_dirs(self, broker: int, of: Iterable[TopicPartition] | None = None) -> Description:
        """What the broker holds of these partitions, or of all. Raises Refused."""
        form = DescribeLogDirsRequest.DescribableLogDirTopic
        wanted = None if of is None else [form(topic=t, partitions=p) for t, p in by_topic(of).items()]
        answer = self.client.ask(DescribeLogDirsRequest(topics=wanted), broker)
        if answer.error_code:
            raise refused(answer.error_code)
        replicas: dict[TopicPartition, tuple[LogDir, ...]] = {}
        for each in answer.results:
            for topic in each.topics:
                for p in topic.partitions:
                    tp = TopicPartition(topic.name, p.partition_index)
                    found = LogDir(each.log_dir, p.partition_size, p.offset_lag, p.is_future_key)
                    replicas[tp] = (*replicas.get(tp, ()), found)
        return Description({each.log_dir: each.error_code for each in answer.results}, replicas)

    def alter_log_dirs(self, broker: int, paths: Mapping[TopicPartition, str]) -> dict[TopicPartition, Refused]:
        """The broker begins to move its replicas there. Gives back those that were refused."""
        dir_of = AlterReplicaLogDirsRequest.AlterReplicaLogDir
        by_path: dict[str, list[TopicPartition]] = {}
        for tp, path in sorted(paths.items()):
            by_path.setdefault(path, []).append(tp)
        request = AlterReplicaLogDirsRequest(
            dirs=[
                dir_of(
                    path=path,
                    topics=[
                        dir_of.AlterReplicaLogDirTopic(name=topic, partitions=indexes)
                        for topic, indexes in by_topic(partitions).items()
                    ],
                )
                for path, partitions in by_path.items()
            ]
        )
        answer: Any = self.client.ask(request, broker, repeatable=False)
        return {
            TopicPartition(topic.topic_name, p.partition_index): refused(p.error_code)
            for topic in answer.results
            for p in topic.partitions
            if p.error_code
        }
