"""The legacy key: `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}`.

The rules judge each entry alone; only types are checked here. A value with other types is no plan at all, because its
meaning is unknown. Unknown fields of the plan and of every entry are kept, and so is the `version`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..model.legacy import LegacyEntry, LegacyKey
from ..model.values import Extra, Replicas
from .text import bad, dump, dump_extra, dump_ids, fields, number, parse, text, unknown_fields

BYTES_MAX: Final = 950_000  # of any key, because ZooKeeper takes 1 MB; some 14,000 entries
_KNOWN: Final = frozenset({"version", "partitions"})
_ENTRY_KNOWN: Final = frozenset({"topic", "partition", "replicas"})
_ESCAPED: Final = 6  # bytes of a character outside ASCII, written as \uXXXX
_ID_BYTES_MAX: Final = 21


def decode(value: bytes) -> LegacyKey:
    """The key with `value`. Raises BadValue where it is no plan, or too large to be written again."""
    if len(value) > BYTES_MAX:
        bad("the value", f"at most {BYTES_MAX} bytes", len(value))
    found = fields(parse(value), "plan")
    format_ = number(found.get("version", 1), "version", 1, 1000)
    raw = found.get("partitions")
    if type(raw) is not list:
        bad("partitions", "a list", raw)
    entries = tuple(_entry(fields(one, "partitions")) for one in raw)
    key = LegacyKey(entries, unknown_fields(found, _KNOWN), format_)
    may_grow = len(value) * _ESCAPED > BYTES_MAX and (not value.isascii() or _has_extra(key))
    if may_grow and (size := len(encode(entries, key.extra, format_))) > BYTES_MAX:
        bad("the value", f"at most {BYTES_MAX} bytes when it is written again", size)
    return key


def _has_extra(key: LegacyKey) -> bool:
    return key.extra is not None or any(entry.extra is not None for entry in key.entries)


def _entry(found: dict[str, object]) -> LegacyEntry:
    topic, partition = text(found.get("topic"), "topic"), _integer(found.get("partition"), "partition")
    replicas = _integers(found.get("replicas"))
    extra = unknown_fields(found, _ENTRY_KNOWN) if len(found) > len(_ENTRY_KNOWN) else None
    return LegacyEntry(topic, partition, replicas, extra)


def _integer(raw: object, where: str) -> int:
    return number(raw, where, -(2**63), 2**63 - 1)


def _integers(raw: object) -> Replicas:
    if type(raw) is not list:
        bad("replicas", "a list of broker ids", raw)
    return tuple(_integer(broker, "replicas") for broker in raw)


def encode(entries: Iterable[LegacyEntry], extra: Extra | None = None, format_: int = 1) -> bytes:
    partitions = ",".join(
        f'{{"topic":{dump(e.topic)},"partition":{e.partition},"replicas":{dump_ids(e.target)}{dump_extra(e.extra)}}}'
        for e in entries
    )
    return f'{{"version":{format_},"partitions":[{partitions}]{dump_extra(extra)}}}'.encode()


def bytes_max(entries: Iterable[LegacyEntry], extra: Extra | None = None) -> int:
    """An upper bound on the size of `encode` for the entries of a key that was read, or for some of them."""
    size = 60 + len(dump_extra(extra))
    for e in entries:
        size += 64 + len(e.topic) * _ESCAPED * 2 + _ID_BYTES_MAX * len(e.target) + len(dump_extra(e.extra))
    return min(size, BYTES_MAX)
