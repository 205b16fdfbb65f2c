"""Files of plans: parsed, checked and written here and nowhere else, with the words of Kafka's tool.

    {"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3],"log_dirs":["any","/d1","any"]}]}

`version` and `log_dirs` may be missing. What is wrong is said before anything is request of a cluster.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import attrs
import click

from ....pipeline.cautions import of_spread
from ...codec.printed import CURRENT, PROPOSED, printed_assignments
from ...model.values import Replicas, TopicPartition
from ...rules.placement import assign_replicas
from ..kafka.errors import Failed, dumped
from ..kafka.options import (
    VERSION,
    integer,
    items,
    no_duplicates,
    parse_object,
    partition_of,
    read_bytes,
    repeated,
    shown,
    string,
)
from ..kafka.values import Broker, TopicState
from ..printing import ids, note, say


class View(Protocol):
    """`kedge.controller.cli.kafka.cluster.Cluster`, or the store of a controller."""

    def brokers(self) -> dict[int, Broker]: ...

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicState]: ...


def replicas_of(topics: Iterable[TopicState]) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition(topic.name, p.index): p.replicas for topic in topics for p in topic.partitions}


def known_topics(view: View, names: Collection[str]) -> dict[str, TopicState]:
    found = view.topics(names)
    for name in sorted(names):
        if name not in found:
            raise Failed(f"Topic {name} not found.")
    return found


def check_brokers(wanted: Iterable[int], brokers: Mapping[int, Broker]) -> None:
    for broker in wanted:
        if broker not in brokers:
            raise Failed(f"Unknown broker id {broker}")


def current_replicas(view: View, plan: Plan) -> dict[TopicPartition, tuple[int, ...]]:
    """Where the partitions of a plan are. Raises Failed where the plan names what is not there."""
    check_brokers(plan.brokers, view.brokers())
    everywhere = replicas_of(known_topics(view, plan.topics).values())
    missing = [tp for tp in plan.entries if tp not in everywhere]
    if missing:
        raise Failed(f"Unable to find partition: {', '.join(map(str, missing))}")
    return {tp: everywhere[tp] for tp in plan.entries}


def reassignments(partitions: Collection[TopicPartition]) -> str:
    """Their number is in the word, as Kafka's tool has it."""
    return f"partition reassignment{'' if len(partitions) == 1 else 's'}"


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
        return {tp: entry.replicas for tp, entry in self.entries.items()}

    @property
    def topics(self) -> list[str]:
        return sorted({tp.topic for tp in self.entries})

    @property
    def brokers(self) -> list[int]:
        return sorted({broker for entry in self.entries.values() for broker in entry.replicas})

    @property
    def dirs(self) -> dict[tuple[TopicPartition, int], str]:
        return {
            (tp, broker): path
            for tp, entry in self.entries.items()
            for broker, path in zip(entry.replicas, entry.log_dirs, strict=True)
            if path != ANY_DIR
        }


def read_plan(path: Path) -> Plan:
    """The plan in a file, which may be the saved output of --generate or --execute. Raises Failed."""
    data = read_bytes(path)
    try:
        printed = printed_assignments(data)
    except ValueError as error:
        raise Failed(f"{path}: {error}") from None
    if not printed:
        return parse_plan(data, path)
    heading = PROPOSED if PROPOSED in printed else CURRENT
    note(f"{path}: of the saved output the assignment below {heading!r} is taken as the plan")
    return parse_plan(printed[heading], path)


def parse_plan(data: str | bytes, source: object = "the text") -> Plan:
    found = [_entry(raw) for raw in items(parse_object(data, source), "partitions")]
    if not found:
        raise Failed("Partition reassignment list cannot be empty")
    no_duplicates([tp for tp, _ in found], "Partition reassignment contains duplicate topic partitions: ")
    if any(not entry.replicas for _, entry in found):
        raise Failed("Partition replica list cannot be empty")
    twice = [(tp, several) for tp, entry in found if (several := repeated(entry.replicas))]
    if twice:
        problems = ". ".join(f"{tp} contains multiple entries for {ids(several)}" for tp, several in twice)
        raise Failed(f"Partition replica lists may not contain duplicate entries: {problems}")
    return Plan(dict(sorted(found, key=lambda item: item[0])))


def read_topics(path: Path) -> list[str]:
    """The topics of a `--topics-to-move-json-file`: {"topics":[{"topic":"foo"}],"version":1}. Raises Failed."""
    names = [string(raw.get("topic"), "topic") for raw in items(parse_object(read_bytes(path), path), "topics")]
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


@attrs.frozen
class Wanted:
    """`topics` over `brokers`. `seed`: the same seed gives the same proposal."""

    topics: Sequence[str]
    brokers: Sequence[int]
    is_rack_aware: bool
    seed: int | None


def generate(view: View, wanted: Wanted, *, as_json: bool) -> None:
    live = view.brokers()
    check_brokers(wanted.brokers, live)
    racks = {broker: live[broker].rack if wanted.is_rack_aware else None for broker in wanted.brokers}
    if None in racks.values() and any(racks.values()):
        raise Failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    topics = known_topics(view, wanted.topics)
    chance = random.Random(wanted.seed)  # noqa: S311 - where a rotation begins is no secret
    proposed: dict[TopicPartition, Replicas] = {}
    for name, topic in topics.items():
        factor = len(topic.partitions[0].replicas)
        if factor > len(racks):
            raise Failed(f"Replication factor: {factor} larger than available brokers: {len(racks)}.")
        start, shift = chance.randrange(len(racks)), chance.randrange(len(racks))
        placed = assign_replicas(racks, len(topic.partitions), factor, start=start, shift=shift)
        proposed |= {TopicPartition(name, p.index): r for p, r in zip(topic.partitions, placed, strict=True)}
    for text in of_spread(racks, Counter(broker for replicas in proposed.values() for broker in replicas)):
        say(f"warning: {text}")
    current = document(replicas_of(topics.values()))
    if as_json:
        click.echo(dumped({"current": current, "proposed": document(proposed)}))
        return
    click.echo(f"{CURRENT}\n{dumped(current)}\n")
    click.echo(f"{PROPOSED}\n{dumped(document(proposed))}")
