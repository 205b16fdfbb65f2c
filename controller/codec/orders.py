"""The keys in which something is ordered, below `/admin`, and the format of the tree. Notices: `notifications`.

Read strictly: one broken entry is a BadValue of its key, which names the entry. Whoever obeys an order may be milder,
and drop an entry where this refuses the key (`reassignment.md`).
"""

from __future__ import annotations

from typing import Final

import attrs

from controller.codec.names import broker_in, is_topic
from controller.codec.text import INT32_MAX, TIME_MS_MAX, bad, fields, number, parse, text
from controller.model.values import Replicas

DELETE_TOPICS: Final = "/admin/delete_topics"
DELETE_PARTITIONS: Final = "/admin/delete_topic_partitions"
REPLICAS_REMOVAL: Final = ("/admin/throttled_replicas_removal", "/admin/remove_throttled_replicas")
RATES_REMOVAL: Final = ("/admin/throttled_rates_removal", "/admin/remove_throttled_rates")  # the KIP has two names each
FORMAT_KEY: Final = "/kedge/format"
CONTROLLER_VERSION: Final = 1  # what `min_controller` in it is compared with


@attrs.frozen(weakref_slot=False)
class Retirement:
    """What a reduction wants of one partition: since when, and whether at once."""

    timestamp_ms: int
    immediate: bool


def decode_retirements(value: bytes) -> dict[int, Retirement]:
    """`{"version":1,"partitions":{"3":{"timestamp":ms,"immediate":false}}}` (KIP-694)."""
    raw = fields(fields(parse(value), "reduction").get("partitions"), "partitions")
    return {_number(name): _retirement(fields(one, f"partitions.{name}"), name) for name, one in raw.items()}


def _retirement(found: dict[str, object], name: str) -> Retirement:
    immediate = found.get("immediate", False)
    if type(immediate) is not bool:
        bad(f"partitions.{name}.immediate", "true or false", immediate)
    return Retirement(number(found.get("timestamp"), f"partitions.{name}.timestamp", 0, TIME_MS_MAX), immediate)


def _number(name: str) -> int:
    if not name.isdecimal() or not name.isascii() or len(name) > 7 or (name[0] == "0" and name != "0"):
        bad("partitions", "partition ids", name)
    return int(name)


def decode_throttled_topics(value: bytes) -> tuple[str, ...]:
    """`{"version":1,"topics":["a"],"previous":{..}}`: whose replica lists are to be taken back (KIP-179)."""
    found = fields(parse(value), "mark")
    topics = tuple(text(name, "topics") for name in _list(found.get("topics"), "topics"))
    for name in topics:
        if not is_topic(name):
            bad("topics", "names of topics", name)
    _previous(found)
    return topics


def decode_throttled_brokers(value: bytes) -> Replicas:
    """`{"version":1,"brokers":[1],"previous":{..}}`: whose rates are to be taken back (KIP-179)."""
    found = fields(parse(value), "mark")
    brokers = tuple(number(one, "brokers", 0, INT32_MAX) for one in _list(found.get("brokers"), "brokers"))
    for name in _previous(found):
        broker_in(name)
    return brokers


def _previous(found: dict[str, object]) -> dict[str, object]:
    """What is given back on removal: per owner and config the values that were set, and the one that was before."""
    previous = fields(found.get("previous") or {}, "previous")
    for owner, configs in previous.items():
        for config, raw in fields(configs, f"previous.{owner}").items():
            where = f"previous.{owner}.{config}"
            kept = fields(raw, where)
            for value in _list(kept.get("set"), f"{where}.set"):
                text(value, f"{where}.set")
            if kept.get("was") is not None:
                text(kept["was"], f"{where}.was")
    return previous


def _list(raw: object, where: str) -> list[object]:
    if type(raw) is not list:
        bad(where, "a list", raw)
    return raw


def decode_cluster_id(value: bytes) -> str:
    """`{"version":"1","id":"22 characters base64"}`"""
    return text(fields(parse(value), "cluster id").get("id"), "id")


def decode_format(value: bytes) -> int:
    """The version of the oldest controller that may lead over this tree."""
    return number(fields(parse(value), "format").get("min_controller"), "min_controller", 0, INT32_MAX)
