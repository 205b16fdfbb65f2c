"""The timestamps of new records, by the configs `message.timestamp.*` of their topic or of all brokers.

Rules (KIP-937)
* With `message.timestamp.type=LogAppendTime` all records of a batch get the time at which it is appended.
* Otherwise a timestamp may be `before.max.ms` behind the broker's clock, and `after.max.ms` ahead of it. Where one of
  them is not limited, the older `difference.max.ms` holds. A batch with another timestamp is refused as a whole, and
  the answer names its records. The producer may leave a timestamp out (-1).
* Kafka's brokers 4.x limit `after.max.ms` to an hour by default. Here nothing is limited by default, as in 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..model.logs import NO_TIME, Appended, Batch, BatchCodec, LogError

_UNLIMITED: Final = 2**63 - 1
_NAMED_MAX: Final = 1_000  # records that an answer names
_REFUSED: Final = "one or more records have a timestamp that the topic does not allow"

Setting = Callable[[str, str], str | None]
"""The value of a config of the topic, or of its fallback of all brokers; None if neither is set."""


def timed(batch: Batch, codec: BatchCodec, setting: Setting, now_ms: int) -> Batch | Appended:
    """The batch as the topic keeps it, or the answer that refuses it. Raises ValueError for a config that cannot be
    read."""
    if is_stamped(setting):
        return codec.stamped(batch, now_ms)
    limits = [
        _limit(setting, "message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"),
        _limit(setting, "message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"),
    ]
    if _UNLIMITED in limits:
        either = _limit(setting, "message.timestamp.difference.max.ms", "log.message.timestamp.difference.max.ms")
        limits = [either if limit == _UNLIMITED else limit for limit in limits]
    if limits == [_UNLIMITED, _UNLIMITED]:
        return batch
    first_ms, last_ms = now_ms - limits[0], now_ms + limits[1]
    wrong = [(n, ms) for n, ms in enumerate(batch.times) if ms != NO_TIME and not first_ms <= ms <= last_ms]
    if not wrong:
        return batch
    errors = [(n, f"timestamp {ms} is not within {first_ms}..{last_ms}") for n, ms in wrong[:_NAMED_MAX]]
    named = tuple(errors) if len(batch.times) == batch.records else ()
    return Appended(LogError.INVALID_TIMESTAMP, message=_REFUSED, record_errors=named)


def is_stamped(setting: Setting) -> bool:
    """Whether the records of the topic have the time of appending."""
    return setting("message.timestamp.type", "log.message.timestamp.type") == "LogAppendTime"


def _limit(setting: Setting, name: str, broker_name: str) -> int:
    value = setting(name, broker_name)
    return _UNLIMITED if value is None else int(value)
