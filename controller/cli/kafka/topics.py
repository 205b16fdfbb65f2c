"""Requests about topics and configs: create, delete, add partitions, describe and alter (KIP-339), and where logs end.

Requests about a broker's configs go to that broker, because no other answers them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from ...model.values import TopicPartition
from .client import Client, checked, refused
from .errors import UNSUPPORTED, Refused
from .values import Change, Op, Resource, ResourceType, Setting, Source, Synonym


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        found.setdefault(tp.topic, []).append(tp.partition)
    return found


def refusals(topics: Iterable[tuple[str, Iterable[Any]]]) -> dict[TopicPartition, Refused]:
    """The errors in the rows of partitions of an answer, by partition."""
    return {
        TopicPartition(topic, row.partition_index): refused(row.error_code, getattr(row, "error_message", None))
        for topic, rows in topics
        for row in rows
        if row.error_code
    }


_ANY_REPLICA: Final = -2  # who asks is neither consumer nor replica: a follower answers, too, and with its own end
_LATEST: Final = -1
_WHOLE: Final = 0  # not only what transactions have committed


class Offsets:
    """The part of `Cluster` that is about logs."""

    client: Client

    def end_offsets(self, broker: int, of: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of the broker's own log of each partition. Those for which the broker reports no end are left out;
        that is all of them where the server does not offer ListOffsets."""
        try:
            answer = self.client.ask(
                "ListOffsets",
                broker,
                lowest=1,
                replica_id=_ANY_REPLICA,
                isolation_level=_WHOLE,
                topics=[
                    {"name": name, "partitions": [{"partition_index": p, "timestamp": _LATEST} for p in partitions]}
                    for name, partitions in by_topic(of).items()
                ],
                timeout_ms=round(self.client.deadline_s * 1000),
            )
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


_OF_DEADLINE: Final = 0.9  # so that an answer at its end comes before the client gives up


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
        rows = sorted((assignments or {}).items())
        topic = {
            "name": name,
            "num_partitions": -1 if partitions is None else partitions,
            "replication_factor": -1 if replication_factor is None else replication_factor,
            "assignments": [{"partition_index": i, "broker_ids": list(replicas)} for i, replicas in rows],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        self._change("CreateTopics", "topics", topic)

    def delete_topics(self, names: Iterable[str]) -> dict[str, Refused]:
        """Deletes them. Gives back those that were refused, or whose deletion takes longer than a request may."""
        wanted = sorted(names)
        timeout_ms = round(self.client.deadline_s * 1000 * _OF_DEADLINE)
        answer = self.client.ask_controller(
            "DeleteTopics",
            lambda a: next((r.error_code for r in a.responses), 0),
            topics=[{"name": name} for name in wanted],
            topic_names=wanted,
            timeout_ms=timeout_ms,
        )
        return {r.name: refused(r.error_code, r.error_message) for r in answer.responses if r.error_code}

    def create_partitions(self, name: str, count: int, new: Sequence[Sequence[int]] | None = None) -> None:
        """The topic has `count` partitions afterwards; `new`: replicas of those that are added. Raises Refused."""
        assignments = None if new is None else [{"broker_ids": list(replicas)} for replicas in new]
        topic = {"name": name, "count": count, "assignments": assignments}
        self._change("CreatePartitions", "results", topic)

    def _change(self, api: str, rows: str, topic: Mapping[str, Any]) -> None:
        """A request of which the answer has one row. Raises Refused."""
        answer = self.client.ask_controller(api, lambda a: getattr(a, rows)[0].error_code, topics=[topic])
        checked(getattr(answer, rows)[0])


_KNOWN: Final = frozenset(Source)


class Configs:
    """The part of `Cluster` that is about settings."""

    client: Client

    def describe_configs(
        self, resources: Iterable[Resource], *, synonyms: bool = False, names: Collection[str] | None = None
    ) -> dict[Resource, dict[str, Setting] | Refused]:
        """Settings by name (only those of `names`), in the server's order; or what it said instead."""
        found: dict[Resource, dict[str, Setting] | Refused] = {}
        keys = None if names is None else list(names)
        for broker, group in _by_broker(resources).items():
            answer = self.client.ask(
                "DescribeConfigs",
                broker,
                resources=[{**_named(resource), "configuration_keys": keys} for resource in group],
                include_synonyms=synonyms,
                include_documentation=False,
            )
            for row in answer.results:
                found[Resource(ResourceType(row.resource_type), row.resource_name)] = (
                    refused(row.error_code, row.error_message)
                    if row.error_code
                    else {each.name: _setting(each) for each in row.configs}
                )
        return found

    def alter_configs(
        self, changes: Mapping[Resource, Iterable[Change]], *, validate_only: bool = False
    ) -> dict[Resource, Refused]:
        """Changes them, each resource wholly or not at all. Gives back those that were refused."""
        failed = {}
        for broker, group in _by_broker(changes).items():
            answer = self.client.ask(
                "IncrementalAlterConfigs",
                broker,
                repeatable=False,
                resources=[{**_named(at), "configs": list(map(_change, changes[at]))} for at in group],
                validate_only=validate_only,
            )
            for row in answer.responses:
                if row.error_code:
                    at = Resource(ResourceType(row.resource_type), row.resource_name)
                    failed[at] = refused(row.error_code, row.error_message)
        return failed


def _by_broker(resources: Iterable[Resource]) -> dict[int | None, list[Resource]]:
    found: dict[int | None, list[Resource]] = {}
    for resource in sorted(resources):
        found.setdefault(resource.at, []).append(resource)
    return found


def _named(resource: Resource) -> dict[str, Any]:
    return {"resource_type": resource.type, "resource_name": resource.name}


def _change(change: Change) -> dict[str, Any]:
    value = None if change.op is Op.DELETE else change.value
    return {"name": change.name, "config_operation": change.op, "value": value}


def _setting(row: Any) -> Setting:
    hides = row.is_sensitive  # servers send no value then; whatever they send is not printed
    synonyms = tuple(Synonym(s.name, None if hides else s.value, _source(s.source)) for s in row.synonyms or ())
    value = None if hides else row.value
    return Setting(row.name, value, _source(row.config_source), hides, row.read_only, synonyms)


def _source(number: int) -> Source:
    return Source(number) if number in _KNOWN else Source.UNKNOWN
