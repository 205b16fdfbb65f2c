"""Files of plans: parsed, checked and written here and nowhere else, with the words of Kafka's tool.

    {"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3],"log_dirs":["any","/d1","any"]}]}

`version` and `log_dirs` may be missing. What is wrong is said before anything is asked of a cluster.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.values import TopicPartition

ANY_DIR: Final = "any"
_VERSION: Final = 1
_INT32_MAX: Final = 2**31 - 1


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
    return parse_plan(_text(path))


def parse_plan(text: str) -> Plan:
    """As `read_plan`, of its text."""
    found = [_entry(raw) for raw in _items(_object(text), "partitions")]
    if not found:
        raise Failed("Partition reassignment list cannot be empty")
    _no_duplicates([tp for tp, _ in found], "Partition reassignment contains duplicate topic partitions: ")
    if any(not entry.replicas for _, entry in found):
        raise Failed("Partition replica list cannot be empty")
    twice = [(tp, several) for tp, entry in found if (several := _several(entry.replicas))]
    if twice:
        said = ". ".join(f"{tp} contains multiple entries for {_joined(several)}" for tp, several in twice)
        raise Failed(f"Partition replica lists may not contain duplicate entries: {said}")
    return Plan(dict(sorted(found, key=lambda item: item[0])))


def read_topics(path: Path) -> list[str]:
    """The topics of a `--topics-to-move-json-file`: {"topics":[{"topic":"foo"}],"version":1}. Raises Failed."""
    names = [_string(raw.get("topic"), "topic") for raw in _items(_object(_text(path)), "topics")]
    _no_duplicates(names, "List of topics to reassign contains duplicate entries: ")
    if not names:
        raise Failed(f"{path} names no topics")
    return sorted(names)


def parse_brokers(text: str) -> list[int]:
    """The ids of a `--broker-list`: 1,2,3. Raises Failed."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit() and int(word) <= _INT32_MAX):
            raise Failed(f"{word!r:.80} in the broker list is no broker id")
    brokers = [int(word) for word in words]
    if several := _several(brokers):
        raise Failed(f"Broker list contains duplicate entries: [{', '.join(map(str, several))}]")
    return brokers


def document(assignment: Mapping[TopicPartition, Sequence[int]]) -> dict[str, Any]:
    """What a plan's file holds, sorted, as Kafka's tool prints it."""
    return {
        "version": _VERSION,
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


def dumped(value: object) -> str:
    """JSON on one line, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """Partitions in answers to --json, sorted."""
    return [{"topic": tp.topic, "partition": tp.partition} for tp in sorted(partitions)]


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Failed(f"Unable to read file {path}") from None
    if not text.strip():
        raise Failed("The input string shouldn't be empty")
    return text


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failed(f"Failed to parse the JSON: {error}") from None
    if type(found) is not dict:
        raise Failed(f"Expected a JSON object, got {_shown(found)}")
    version = found.get("version", _VERSION)
    if type(version) is not int or version != _VERSION:
        raise Failed(f"Not supported version field value {_shown(version)}")
    return found


def _items(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list that may be missing."""
    items = found.get(name, [])
    if type(items) is not list:
        raise Failed(f"{name}: expected a list, got {_shown(items)}")
    for item in items:
        if type(item) is not dict:
            raise Failed(f"{name}: expected objects, got {_shown(item)}")
    return items


def _entry(raw: Mapping[str, Any]) -> tuple[TopicPartition, Entry]:
    tp = TopicPartition(_string(raw.get("topic"), "topic"), _integer(raw.get("partition"), "partition"))
    replicas = raw.get("replicas")
    if type(replicas) is not list:
        raise Failed(f"{tp}: replicas: expected a list of broker ids, got {_shown(replicas)}")
    brokers = tuple(_integer(broker, f"{tp}: replicas") for broker in replicas)
    dirs = raw.get("log_dirs")
    if dirs is None:
        return tp, Entry(brokers, (ANY_DIR,) * len(brokers))
    if type(dirs) is not list:
        raise Failed(f"{tp}: log_dirs: expected a list, got {_shown(dirs)}")
    paths = tuple(_string(path, f"{tp}: log_dirs") for path in dirs)
    if len(paths) != len(brokers):
        raise Failed(
            f"Size of replicas list [{', '.join(map(str, brokers))}] is different from "
            f"size of log dirs list [{', '.join(paths)}] for partition {tp}"
        )
    return tp, Entry(brokers, paths)


def _string(raw: object, where: str) -> str:
    if type(raw) is not str or not raw:
        raise Failed(f"{where}: expected a string, got {_shown(raw)}")
    return raw


def _integer(raw: object, where: str) -> int:
    if type(raw) is not int or not 0 <= raw <= _INT32_MAX:
        raise Failed(f"{where}: expected a number from 0 to {_INT32_MAX}, got {_shown(raw)}")
    return raw


def _shown(raw: object) -> str:
    return json.dumps(raw)[:80]


def _no_duplicates(names: Sequence[object], problem: str) -> None:
    if several := _several(names):
        raise Failed(f"{problem}{_joined(several)}")


def _several(items: Sequence[object]) -> list[object]:
    return [item for item, times in Counter(items).items() if times > 1]


def _joined(items: Iterable[object]) -> str:
    return ",".join(map(str, items))
