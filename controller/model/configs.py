"""Configs of topics and brokers under Kafka's names: where each may be set, its type, default and check.

Rules
* One row per config. A name that is not in the table is refused, so that a misspelt one is not stored unnoticed;
  `refused_configs` has the names of Kafka that are refused. Unknown names that other programs wrote are kept, shown,
  and may be deleted.
* `ENFORCED` names the configs that have an effect. The others are stored and shown, for tools that set them.
* A topic's config falls back to a config of the brokers, mostly under another name (`broker_name`), then to the
  default.
* Values are strings, parsed as Kafka's brokers do, which ignore white space around them. A check returns what was
  expected instead of a value that brokers would refuse.
* A config has `Scope.BROKER` alone if a default for all brokers would make no sense (KIP-542's rates).
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from .throttle_configs import (
    LIST_SEPARATOR,
    LISTS,
    LONG_MAX,
    RATES,
    list_elements,
    parse_throttled_replicas,
    rate_setting,
    replicas_setting,
    trimmed,
    whole_number,
)

_INT_MAX: Final = 2**31 - 1
_CLASS: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", re.ASCII)
_LIMIT: Final = re.compile(r"[^\s,]+:[0-9]{1,9}")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_UNLIMITED: Final = str(LONG_MAX)
_WEEK_MS: Final = "604800000"

Check = Callable[[str], str | None]
"""What is expected instead of a value; None if the value is valid."""


class ConfigKind(enum.Enum):
    """The types of configs, in Kafka's words."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    PASSWORD = "password"  # noqa: S105 - the name of a type


class Scope(enum.Flag):
    TOPIC = enum.auto()
    BROKER = enum.auto()
    ALL_BROKERS = enum.auto()


_BROKERS: Final = Scope.BROKER | Scope.ALL_BROKERS


@attrs.frozen
class Definition:
    """One config. `broker_name`: the brokers' config that a topic's falls back to. `has_default`: Kafka's brokers have
    a default under that name; some have it under another name, such as one in hours."""

    name: str
    scope: Scope
    kind: ConfigKind
    default: str
    check: Check
    documentation: str
    broker_name: str | None = None
    has_default: bool = True


@attrs.frozen
class Whole:
    """A check: a whole number within bounds."""

    low: int
    high: int

    def __call__(self, value: str) -> str | None:
        number = whole_number(trimmed(value))
        is_within = number is not None and self.low <= number <= self.high
        return None if is_within else f"a whole number within {self.low}..{self.high}"


@attrs.frozen
class OneOf:
    """A check: one word of a set."""

    choices: tuple[str, ...]

    def __call__(self, value: str) -> str | None:
        return None if trimmed(value) in self.choices else "one of " + ", ".join(self.choices)


@attrs.frozen
class AnyOf:
    """A check: words of a set, separated by commas."""

    choices: tuple[str, ...]

    def __call__(self, value: str) -> str | None:
        if all(trimmed(part) in self.choices for part in value.split(LIST_SEPARATOR)):
            return None
        return "some of " + ", ".join(self.choices)


def _ratio(value: str) -> str | None:
    return None if _number(value) is None and 0 <= float(trimmed(value)) <= 1 else "a number within 0..1"


def _gzip_level(value: str) -> str | None:
    return None if whole_number(trimmed(value)) in {-1, *range(1, 10)} else "a whole number within 1..9, or -1"


def _number(value: str) -> str | None:
    return None if _DECIMAL.fullmatch(trimmed(value)) else "a number"


def _positive(value: str) -> str | None:
    return None if _number(value) is None and 0 < float(trimmed(value)) < math.inf else "a number above 0"


def _classes(value: str) -> str | None:
    return None if all(map(_CLASS.fullmatch, list_elements(value))) else "names of Java classes"


def _limits(value: str) -> str | None:
    return None if all(map(_LIMIT.fullmatch, list_elements(value))) else "host:number pairs"


def _flag(value: str) -> str | None:
    return None if trimmed(value).lower() in {"true", "false"} else "true or false"


def _throttled(value: str) -> str | None:
    try:
        parse_throttled_replicas(value)
    except ValueError:
        is_read = False
    else:  # brokers ignore empty list elements; in a request they are mistakes
        is_read = not value.strip() or len(list_elements(value)) == value.count(LIST_SEPARATOR) + 1
    return None if is_read else "partition:broker pairs, or *"


_BOOL: Final = (ConfigKind.BOOLEAN, _flag)
_SHARE: Final = (ConfigKind.DOUBLE, _ratio)
_NUMBER: Final = (ConfigKind.DOUBLE, _number)
_GZIP: Final = (ConfigKind.INT, _gzip_level)
_REPLICAS: Final = (ConfigKind.LIST, _throttled)
_POLICY: Final = (ConfigKind.LIST, AnyOf(("compact", "delete")))
_CODECS: Final = (ConfigKind.STRING, OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")))
_STAMPS: Final = (ConfigKind.STRING, OneOf(("CreateTime", "LogAppendTime")))


def _long(low: int) -> tuple[ConfigKind, Check]:
    return ConfigKind.LONG, Whole(low, LONG_MAX)


def _int(low: int, high: int = _INT_MAX) -> tuple[ConfigKind, Check]:
    return ConfigKind.INT, Whole(low, high)


# Name of the topic's config, type and check, default, name of its fallback, documentation.
_TOPIC_ROWS: Final = (
    ("cleanup.policy", _POLICY, "delete", "log.cleanup.policy", "What becomes of old segments: delete, compact."),
    ("compression.gzip.level", _GZIP, "-1", "compression.gzip.level", "Level of gzip; -1: its own default."),
    ("compression.lz4.level", _int(1, 17), "9", "compression.lz4.level", "Level of lz4."),
    ("compression.type", _CODECS, "producer", "compression.type", "Codec of the log; producer: as it came."),
    ("compression.zstd.level", _int(-131072, 22), "3", "compression.zstd.level", "Level of zstd."),
    ("delete.retention.ms", _long(0), "86400000", "log.cleaner.delete.retention.ms", "How long tombstones are kept."),
    ("file.delete.delay.ms", _long(0), "60000", "log.segment.delete.delay.ms", "Wait before a file is deleted."),
    ("flush.messages", _long(1), _UNLIMITED, "log.flush.interval.messages", "Records between two flushes."),
    ("flush.ms", _long(0), _UNLIMITED, "log.flush.interval.ms", "Time between two flushes."),
    (replicas_setting("follower"), _REPLICAS, "", None,
     "Replicas throttled on the side that copies: partition:broker pairs, or * (KIP-73)."),
    ("index.interval.bytes", _int(0), "4096", "log.index.interval.bytes", "Bytes between two entries of the index."),
    (replicas_setting("leader"), _REPLICAS, "", None,
     "Replicas throttled on the side that is copied from: partition:broker pairs, or * (KIP-73)."),
    ("local.retention.bytes", _long(-2), "-2", "log.local.retention.bytes", "As retention.bytes, of the local log."),
    ("local.retention.ms", _long(-2), "-2", "log.local.retention.ms", "As retention.ms, of the local log."),
    ("max.compaction.lag.ms", _long(1), _UNLIMITED, "log.cleaner.max.compaction.lag.ms", "Latest compaction."),
    ("max.message.bytes", _int(0), "1048588", "message.max.bytes", "The largest batch of records."),
    ("message.downconversion.enable", _BOOL, "true", "log.message.downconversion.enable", "For old consumers."),
    ("message.timestamp.after.max.ms", _long(0), _UNLIMITED, "log.message.timestamp.after.max.ms",
     "How far a timestamp may be ahead of the broker's clock."),
    ("message.timestamp.before.max.ms", _long(0), _UNLIMITED, "log.message.timestamp.before.max.ms",
     "How far a timestamp may be behind the broker's clock."),
    ("message.timestamp.difference.max.ms", _long(0), _UNLIMITED, "log.message.timestamp.difference.max.ms",
     "How far a timestamp may be off the broker's clock."),
    ("message.timestamp.type", _STAMPS, "CreateTime", "log.message.timestamp.type", "Whose timestamp counts."),
    ("min.cleanable.dirty.ratio", _SHARE, "0.5", "log.cleaner.min.cleanable.ratio", "When compaction is worth it."),
    ("min.compaction.lag.ms", _long(0), "0", "log.cleaner.min.compaction.lag.ms", "Earliest compaction."),
    ("min.insync.replicas", _int(1), "1", "min.insync.replicas", "In-sync replicas that acks=all asks for."),
    ("preallocate", _BOOL, "false", "log.preallocate", "Whether segments get their size at once."),
    ("remote.log.copy.disable", _BOOL, "false", None, "Whether no more segments go to the remote store."),
    ("remote.log.delete.on.disable", _BOOL, "false", None,
     "Whether remote segments are deleted when the remote store is switched off."),
    ("remote.storage.enable", _BOOL, "false", None, "Whether segments go to a remote store."),
    ("retention.bytes", _long(-1), "-1", "log.retention.bytes", "Bytes of a partition that are kept; -1: all."),
    ("retention.ms", _long(-1), _WEEK_MS, "log.retention.ms", "How long records are kept; -1: for ever."),
    ("segment.bytes", _int(14), "1073741824", "log.segment.bytes", "Bytes of a segment."),
    ("segment.index.bytes", _int(4), "10485760", "log.index.size.max.bytes", "Bytes of an index."),
    ("segment.jitter.ms", _long(0), "0", "log.roll.jitter.ms", "By how much rolling is spread."),
    ("segment.ms", _long(1), _WEEK_MS, "log.roll.ms", "After how long a segment is rolled."),
    ("unclean.leader.election.enable", _BOOL, "false", "unclean.leader.election.enable",
     "Whether a replica that is not in sync may lead where no other is left, losing records."),
)  # fmt: skip

# Name of the broker's config, scope, type and check, default, documentation.
_BROKER_ROWS: Final = (
    ("background.threads", _BROKERS, _int(1), "10", "Threads for various work in the background."),
    ("delete.topic.partition.enable", Scope.ALL_BROKERS, _BOOL, "true", "Whether topics may shrink (KIP-694)."),
    ("delete.topic.partition.interval.delay.ms", Scope.ALL_BROKERS, _long(1), "300000",
     "How often it is looked whether partitions that are read-only may be deleted (KIP-694)."),
    ("follower.fetch.last.tiered.offset.enable", _BROKERS, _BOOL, "false",
     "Whether a new follower begins where the remote store ends."),
    (rate_setting("follower", "reassignment"), Scope.BROKER, _long(1), _UNLIMITED,
     "Bytes per second that a broker copies as a target of reassignments (KIP-542)."),
    (rate_setting("follower", "replication"), _BROKERS, _long(1), _UNLIMITED,
     "Bytes per second that a broker copies of the throttled replicas (KIP-73)."),
    ("group.consumer.assignment.interval.ms", _BROKERS, _int(0), "1000", "Pause between assignments of a group."),
    ("group.coordinator.cached.buffer.max.bytes", _BROKERS, _int(524_288), "1048588",
     "Bytes of a buffer that the coordinator of groups keeps."),
    ("group.share.assignment.interval.ms", _BROKERS, _int(0), "1000", "Pause between assignments of a share group."),
    ("group.streams.assignment.interval.ms", _BROKERS, _int(0), "1000", "Pause between assignments of Streams."),
    (rate_setting("leader", "reassignment"), Scope.BROKER, _long(1), _UNLIMITED,
     "Bytes per second that a broker sends to targets of reassignments (KIP-542)."),
    (rate_setting("leader", "replication"), _BROKERS, _long(1), _UNLIMITED,
     "Bytes per second that a broker sends to the throttled replicas (KIP-73)."),
    ("log.cleaner.backoff.ms", _BROKERS, _long(0), "15000", "Pause of the log cleaner when there is nothing to clean."),
    ("log.cleaner.dedupe.buffer.size", _BROKERS, _long(-LONG_MAX - 1), "134217728",
     "Bytes of memory for deduplication, of all cleaner threads."),
    ("log.cleaner.io.buffer.load.factor", _BROKERS, _NUMBER, "0.9", "How full the buffer of deduplication may get."),
    ("log.cleaner.io.buffer.size", _BROKERS, _int(0), "524288", "Bytes of I/O buffers, of all cleaner threads."),
    ("log.cleaner.io.max.bytes.per.second", _BROKERS, _NUMBER, "1.7976931348623157E308",
     "Bytes per second that the log cleaner reads and writes."),
    ("log.cleaner.threads", _BROKERS, _int(0), "1", "Threads of the log cleaner."),
    ("max.connection.creation.rate", _BROKERS, _int(0), str(_INT_MAX), "New connections per second."),
    ("max.connections", _BROKERS, _int(0), str(_INT_MAX), "Connections of a broker."),
    ("max.connections.per.ip", _BROKERS, _int(0), str(_INT_MAX), "Connections of one address."),
    ("max.connections.per.ip.overrides", _BROKERS, (ConfigKind.STRING, _limits), "",
     "Connections of single addresses: host:number, with commas between."),
    ("metric.reporters", _BROKERS, (ConfigKind.LIST, _classes), "", "Classes that report metrics."),
    ("num.io.threads", _BROKERS, _int(1), "8", "Threads that process requests."),
    ("num.network.threads", _BROKERS, _int(1), "3", "Threads that receive requests and send answers, per listener."),
    ("num.recovery.threads.per.data.dir", _BROKERS, _int(1), "1", "Threads per directory that recover logs."),
    ("num.replica.fetchers", _BROKERS, _int(1), "1", "Threads that copy from each other broker."),
    ("producer.id.expiration.ms", _BROKERS, _int(1), "86400000", "How long the id of an idle producer is kept."),
    ("remote.fetch.max.wait.ms", _BROKERS, _int(1), "500", "Wait for records from the remote store."),
    ("remote.list.offsets.request.timeout.ms", _BROKERS, _long(1), "30000", "Wait for offsets of the remote store."),
    ("remote.log.index.file.cache.total.size.bytes", _BROKERS, _long(1), "1073741824",
     "Bytes of index files of the remote store that are kept."),
    ("remote.log.manager.copier.thread.pool.size", _BROKERS, _int(1), "10", "Threads that copy to the remote store."),
    ("remote.log.manager.copy.max.bytes.per.second", _BROKERS, _long(1), _UNLIMITED,
     "Bytes per second to the remote store."),
    ("remote.log.manager.expiration.thread.pool.size", _BROKERS, _int(1), "10",
     "Threads that delete from the remote store."),
    ("remote.log.manager.fetch.max.bytes.per.second", _BROKERS, _long(1), _UNLIMITED,
     "Bytes per second from the remote store."),
    ("remote.log.manager.follower.thread.pool.size", _BROKERS, _int(1), "2",
     "Threads that followers use for the remote store."),
    ("remote.log.reader.threads", _BROKERS, _int(1), "10", "Threads that read from the remote store."),
    ("replica.alter.log.dirs.io.max.bytes.per.second", _BROKERS, _long(1), _UNLIMITED,
     "Bytes per second that a broker copies between directories of its own (KIP-113)."),
    ("share.coordinator.cached.buffer.max.bytes", _BROKERS, _int(524_288), "1048588",
     "Bytes of a buffer that the coordinator of share groups keeps."),
    ("transaction.partition.verification.enable", _BROKERS, _BOOL, "true",
     "Whether it is checked that a partition belongs to the transaction that writes to it."),
)  # fmt: skip

# Kafka's brokers have no default under these names, but under one in hours or of another interval.
_UNSET: Final = {"log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms", None}

TOPIC_CONFIGS: Final[Mapping[str, Definition]] = {
    name: Definition(name, Scope.TOPIC, kind, default, check, said, broker_name, broker_name not in _UNSET)
    for name, (kind, check), default, broker_name, said in _TOPIC_ROWS
}
"""Configs of topics, by name."""

_OF_BROKERS: Final = [
    Definition(name, scope, kind, default, check, said) for name, scope, (kind, check), default, said in _BROKER_ROWS
]
_FALLBACKS: Final = [
    Definition(
        one.broker_name, _BROKERS, one.kind, one.default, one.check, one.documentation, has_default=one.has_default
    )
    for one in TOPIC_CONFIGS.values()
    if one.broker_name is not None
]

BROKER_CONFIGS: Final[Mapping[str, Definition]] = {
    one.name: one for one in sorted([*_OF_BROKERS, *_FALLBACKS], key=lambda one: one.name)
}
"""Configs of a broker, or of all, by name."""

CLIENT_QUOTAS: Final[Mapping[str, Definition]] = {
    name: Definition(name, _BROKERS, kind, "", check, "")
    for names, (kind, check) in (
        (("consumer_byte_rate", "producer_byte_rate"), _long(1)),
        (("controller_mutation_rate", "request_percentage"), (ConfigKind.DOUBLE, _positive)),
    )
    for name in names
}
"""Quotas of users and client ids, by name."""

_BY_THE_CONTROLLER: Final = (
    "delete.topic.partition.enable",
    "delete.topic.partition.interval.delay.ms",
    "log.retention.ms",  # of read-only partitions alone
    "unclean.leader.election.enable",
)
_BY_BROKERS: Final = (
    "cleanup.policy",
    "delete.retention.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.difference.max.ms",
    "log.message.timestamp.type",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.max.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
    *LISTS,
    *RATES["reassignment"],
    *RATES["replication"],
)

ENFORCED: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BY_THE_CONTROLLER, "the controller"),
    **dict.fromkeys(_BY_BROKERS, "the brokers of `kedge serve`"),
}
"""The configs that have an effect, and what heeds them. All others of the tables are stored without effect."""
