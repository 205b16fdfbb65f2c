"""Files of plans: parsed, checked and written here and nowhere else, with the words of Kafka's tool.

    {"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3],"log_dirs":["any","/d1","any"]}]}

`version` and `log_dirs` may be missing. What is wrong is said before anything is asked of a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.json_files import (
    VERSION,
    integer,
    items,
    joined,
    no_duplicates,
    parse_object,
    partition_of,
    read_bytes,
    repeated,
    shown,
    string,
)
from controller.cli.kafka.values import TopicPartition

ANY_DIR: Final = "any"


@attrs.frozen
class Entry:
    """Where one partition shall be. `log_dirs`: a directory for each replica, or ANY_DIR."""

    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]


@attrs.frozen
class Plan:
    """Partitions in their order: by topic, then by id."""

    entries: dict[TopicPartition, Entry]

    @property
    def targets(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Partition -> replicas."""
        return {tp: entry.replicas for tp, entry in self.entries.items()}

    @property
    def topics(self) -> list[str]:
        """Their names, sorted."""
        return sorted({tp.topic for tp in self.entries})

    @property
    def brokers(self) -> list[int]:
        """All that the plan names, sorted."""
        return sorted({broker for entry in self.entries.values() for broker in entry.replicas})

    @property
    def dirs(self) -> dict[tuple[TopicPartition, int], str]:
        """Partition and broker -> the directory that the plan asks for."""
        return {
            (tp, broker): path
            for tp, entry in self.entries.items()
            for broker, path in zip(entry.replicas, entry.log_dirs, strict=True)
            if path != ANY_DIR
        }


def read_plan(path: Path) -> Plan:
    """The plan in a file. Raises Failed."""
    return parse_plan(read_bytes(path))


def parse_plan(data: str | bytes) -> Plan:
    """As `read_plan`, of its text."""
    found = [_entry(raw) for raw in items(parse_object(data), "partitions")]
    if not found:
        raise Failed("Partition reassignment list cannot be empty")
    no_duplicates([tp for tp, _ in found], "Partition reassignment contains duplicate topic partitions: ")
    if any(not entry.replicas for _, entry in found):
        raise Failed("Partition replica list cannot be empty")
    twice = [(tp, several) for tp, entry in found if (several := repeated(entry.replicas))]
    if twice:
        said = ". ".join(f"{tp} contains multiple entries for {joined(several)}" for tp, several in twice)
        raise Failed(f"Partition replica lists may not contain duplicate entries: {said}")
    return Plan(dict(sorted(found, key=lambda item: item[0])))


def read_topics(path: Path) -> list[str]:
    """The topics of a `--topics-to-move-json-file`: {"topics":[{"topic":"foo"}],"version":1}. Raises Failed."""
    names = [string(raw.get("topic"), "topic") for raw in items(parse_object(read_bytes(path)), "topics")]
    no_duplicates(names, "List of topics to reassign contains duplicate entries: ")
    if not names:
        raise Failed(f"{path} names no topics")
    return sorted(names)


def document(assignment: Mapping[TopicPartition, Sequence[int]]) -> dict[str, Any]:
    """What a plan's file holds, sorted, as Kafka's tool prints it."""
    return {
        "version": VERSION,
        "partitions": [
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "replicas": [*replicas],
                "log_dirs": [ANY_DIR] * len(replicas),
            }
            for tp, replicas in sorted(assignment.items())
        ],
    }


def _entry(raw: Mapping[str, Any]) -> tuple[TopicPartition, Entry]:
    tp = partition_of(raw)
    replicas = raw.get("replicas")
    if type(replicas) is not list:
        raise Failed(f"{tp}: replicas: expected a list of broker ids, got {shown(replicas)}")
    brokers = tuple(integer(broker, f"{tp}: replicas") for broker in replicas)
    dirs = raw.get("log_dirs")
    if dirs is None:
        return tp, Entry(brokers, (ANY_DIR,) * len(brokers))
    if type(dirs) is not list:
        raise Failed(f"{tp}: log_dirs: expected a list, got {shown(dirs)}")
    paths = tuple(string(path, f"{tp}: log_dirs") for path in dirs)
    if len(paths) != len(brokers):
        raise Failed(
            f"Size of replicas list [{', '.join(map(str, brokers))}] is different from "
            f"size of log dirs list [{', '.join(paths)}] for partition {tp}"
        )
    return tp, Entry(brokers, paths)
