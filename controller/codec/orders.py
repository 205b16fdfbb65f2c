"""The keys below `/admin` that order something, and the format of the tree. Notifications are in `notifications`.

Reading is strict: one broken entry is a BadValue of its key, which names the entry. The controller may be milder and
drop only the entry (KIP-455).
"""

from __future__ import annotations

from typing import Final

from ..model.reductions import Retirement, Retirements, entries_bytes_max
from ..model.values import Extra, Replicas
from . import keys, throttles
from .text import (
    INT32_MAX,
    TIME_MS_MAX,
    bad,
    dump,
    dump_extra,
    fields,
    number,
    parse,
    text,
    unknown_fields,
)

DELETE_TOPICS: Final = "/admin/delete_topics"
DELETE_PARTITIONS: Final = keys.DELETE_PARTITIONS
REPLICAS_REMOVAL: Final = (keys.REPLICAS_REMOVAL, keys.OLD_REPLICAS_REMOVAL)
RATES_REMOVAL: Final = (keys.RATES_REMOVAL, keys.OLD_RATES_REMOVAL)
FORMAT_KEY: Final = "/kedge/format"
CONTROLLER_VERSION: Final = 1  # compared with the tree's `min_controller`


_KNOWN: Final = frozenset({"version", "partitions"})
_BOOL: Final = ("false", "true")  # a table, because there may be thousands of entries
_ENTRY_KNOWN: Final = frozenset({"timestamp", "immediate"})


def decode_reduction(value: bytes) -> tuple[dict[int, Retirement], Extra | None]:
    """The result of `decode_retirements`, and the unknown fields."""
    return decode_retirements(value), unknown_fields(fields(parse(value), "reduction"), _KNOWN)


def encode_reduction(entries: Retirements, extra: Extra | None = None) -> bytes:
    """The inverse of `decode_reduction`."""
    partitions = ",".join(
        f'"{p}":{{"timestamp":{one.timestamp_ms},"immediate":{_BOOL[one.immediate]}{dump_extra(one.extra)}}}'
        for p, one in sorted(entries.items())
    )
    return f'{{"version":1,"partitions":{{{partitions}}}{dump_extra(extra)}}}'.encode()


def reduction_bytes_max(entries: Retirements, extra: Extra | None = None) -> int:
    """An upper bound on the size of `encode_reduction`."""
    known = 64 + len(dump_extra(extra)) + entries_bytes_max(entries)
    return known + sum(len(dump_extra(one.extra)) for one in entries.values() if one.extra)


def decode_retirements(value: bytes) -> dict[int, Retirement]:
    """`{"version":1,"partitions":{"3":{"timestamp":ms,"immediate":false}}}` by partition (KIP-694). Raises BadValue."""
    raw = fields(fields(parse(value), "reduction").get("partitions"), "partitions")
    return {_number(name): _retirement(fields(one, f"partitions.{name}"), name) for name, one in raw.items()}


def _retirement(found: dict[str, object], name: str) -> Retirement:
    immediate = found.get("immediate", False)
    if type(immediate) is not bool:
        bad(f"partitions.{name}.immediate", "true or false", immediate)
    since = number(found.get("timestamp"), f"partitions.{name}.timestamp", 0, TIME_MS_MAX)
    return Retirement(since, immediate, unknown_fields(found, _ENTRY_KNOWN))


def _number(name: str) -> int:
    if not name.isdecimal() or not name.isascii() or len(name) > 7 or (name[0] == "0" and name != "0"):
        bad("partitions", "partition ids", name)
    return int(name)


def decode_throttled_topics(value: bytes) -> tuple[str, ...]:
    """The topics whose throttled replicas are to be removed (KIP-179)."""
    return tuple(throttles.decode("topics", value)[0])


def decode_throttled_brokers(value: bytes) -> Replicas:
    """The brokers whose throttle rates are to be removed (KIP-179)."""
    return tuple(int(owner) for owner in throttles.decode("brokers", value)[0])


def decode_cluster_id(value: bytes) -> str:
    """`{"version":"1","id":"22 characters base64"}`"""
    return text(fields(parse(value), "cluster id").get("id"), "id")


def encode_cluster_id(cluster_id: str) -> bytes:
    """The inverse of `decode_cluster_id`; the version is a string there."""
    return dump({"version": "1", "id": cluster_id}).encode()


def decode_format(value: bytes) -> int:
    """The version of the oldest controller that may lead over this tree."""
    return number(fields(parse(value), "format").get("min_controller"), "min_controller", 0, INT32_MAX)
