"""Keys by which other programs notify the controller about partitions, brokers or settings. The controller's own
notifications of config changes are here as well."""

from __future__ import annotations

from typing import Final

from ..model.values import TopicPartition
from .text import INT32_MAX, bad, dump, fields, number, parse, text

CHANGES_MAX: Final = 1_000
"""Notifications of config changes: more than 15 minutes leave in a busy cluster."""
_LOG_DIR_FAILURE: Final = 1


def decode_partitions(value: bytes) -> tuple[TopicPartition, ...]:
    """`{"version":1,"partitions":[{"topic":"t","partition":0}]}`: of a preferred election or an isr change. Raises
    BadValue."""
    raw = fields(parse(value), "key").get("partitions")
    if type(raw) is not list:
        bad("partitions", "a list", raw)
    return tuple(_partition(one, f"partitions[{i}]") for i, one in enumerate(raw))


def _partition(raw: object, where: str) -> TopicPartition:
    found = fields(raw, where)
    topic = text(found.get("topic"), f"{where}.topic")
    return TopicPartition(topic, number(found.get("partition"), f"{where}.partition", 0, INT32_MAX))


def decode_log_dir_event(value: bytes) -> int:
    """`{"version":1,"broker":1,"event":1}`: the broker with a failed log directory. Raises BadValue."""
    found = fields(parse(value), "log dir event")
    number(found.get("event"), "event", _LOG_DIR_FAILURE, _LOG_DIR_FAILURE)
    return number(found.get("broker"), "broker", 0, INT32_MAX)


def decode_config_change(value: bytes) -> tuple[str, str]:
    """`{"version":2,"entity_path":"topics/foo"}`, or version 1 with entity_type and entity_name: the kind of the
    changed entity, and its name. Raises BadValue."""
    found = fields(parse(value), "config change")
    if "entity_path" not in found:
        return text(found.get("entity_type"), "entity_type"), text(found.get("entity_name"), "entity_name")
    kind, slash, name = text(found["entity_path"], "entity_path").partition("/")
    if not kind or not slash or not name:
        bad("entity_path", "kind/name", found["entity_path"])
    return kind, name


def encode_config_change(kind: str, name: str) -> bytes:
    """The inverse of `decode_config_change`, as Kafka writes it."""
    return dump({"version": 2, "entity_path": f"{kind}/{name}"}).encode()
