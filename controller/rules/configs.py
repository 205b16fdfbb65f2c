"""Which settings a topic may have, and of what kind: Kafka's names. An unknown name or a value of another kind is
refused (INVALID_CONFIG), so that a misspelt setting is not kept in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_LONG_MAX: Final = 2**63 - 1
_INT_MAX: Final = 2**31 - 1
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_THROTTLED: Final = re.compile(r"\*|(?:[0-9]+:[0-9]+(?:,[0-9]+:[0-9]+)*)?")

Check = Callable[[str], str | None]


def _whole(low: int, high: int) -> Check:
    def check(value: str) -> str | None:
        # Not int() alone: it takes 1_000, and digits of every script, which no broker reads.
        number = int(value) if _WHOLE.fullmatch(value) else low - 1
        return None if low <= number <= high else f"a whole number within {low}..{high}"

    return check


def _ratio(value: str) -> str | None:
    try:
        return None if 0 <= float(value) <= 1 else "a number within 0..1"
    except ValueError:
        return "a number within 0..1"


def _one_of(*choices: str) -> Check:
    def check(value: str) -> str | None:
        return None if value in choices else "one of " + ", ".join(choices)

    return check


def _any_of(*choices: str) -> Check:
    def check(value: str) -> str | None:
        return None if all(part.strip() in choices for part in value.split(",")) else "some of " + ", ".join(choices)

    return check


def _flag(value: str) -> str | None:
    return None if value.strip().lower() in ("true", "false") else "true or false"


def _throttled(value: str) -> str | None:
    return None if _THROTTLED.fullmatch(value.replace(" ", "")) else "partition:broker pairs, or *"


_TOPIC: Final[Mapping[str, Check]] = {
    "cleanup.policy": _any_of("delete", "compact"),
    "compression.gzip.level": _whole(-1, 9),
    "compression.lz4.level": _whole(1, 17),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": _whole(-131072, 22),
    "delete.retention.ms": _whole(0, _LONG_MAX),
    "file.delete.delay.ms": _whole(0, _LONG_MAX),
    "flush.messages": _whole(1, _LONG_MAX),
    "flush.ms": _whole(0, _LONG_MAX),
    "follower.replication.throttled.replicas": _throttled,
    "index.interval.bytes": _whole(0, _INT_MAX),
    "leader.replication.throttled.replicas": _throttled,
    "local.retention.bytes": _whole(-2, _LONG_MAX),
    "local.retention.ms": _whole(-2, _LONG_MAX),
    "max.compaction.lag.ms": _whole(1, _LONG_MAX),
    "max.message.bytes": _whole(0, _INT_MAX),
    "message.downconversion.enable": _flag,
    "message.timestamp.after.max.ms": _whole(0, _LONG_MAX),
    "message.timestamp.before.max.ms": _whole(0, _LONG_MAX),
    "message.timestamp.difference.max.ms": _whole(0, _LONG_MAX),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _ratio,
    "min.compaction.lag.ms": _whole(0, _LONG_MAX),
    "min.insync.replicas": _whole(1, _INT_MAX),
    "preallocate": _flag,
    "remote.storage.enable": _flag,
    "retention.bytes": _whole(-1, _LONG_MAX),
    "retention.ms": _whole(-1, _LONG_MAX),
    "segment.bytes": _whole(14, _INT_MAX),
    "segment.index.bytes": _whole(4, _INT_MAX),
    "segment.jitter.ms": _whole(0, _LONG_MAX),
    "segment.ms": _whole(1, _LONG_MAX),
    "unclean.leader.election.enable": _flag,
}


def check_topic_configs(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the settings of a topic; None if nothing is."""
    for name, value in configs.items():
        check = _TOPIC.get(name)
        if check is None:
            return f"there is no topic setting {name!r:.120}"
        if expected := check(value):
            return f"{name} must be {expected}, not {value!r:.120}"
    return None
