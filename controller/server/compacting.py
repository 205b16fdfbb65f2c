"""Which batches of a partition may be compacted, when that is worth it, and what remains of them.

Rules (Kafka's, with a part of the log in place of its active segment)
* The active part is not touched: the batches with a record younger than `segment.ms`, as long as they are among the
  newest `segment.bytes`; and the newest batch in any case. Nor is a batch with a record younger than
  `min.compaction.lag.ms`, or above the high watermark.
* The rest is compacted when the bytes that were not compacted before are more than `min.cleanable.dirty.ratio` of it,
  or older than `max.compaction.lag.ms`.
* Of each key in it the newest record stays. A tombstone stays for `delete.retention.ms` after its first compaction;
  then it is removed, whatever the ratio is. Records without a key, from before the topic was compacted, are removed.
* A batch that cannot be read stays whole, and then no tombstone of its partition is removed: it might delete a record
  of that batch.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Self

import attrs

from controller.model.logs import BatchCodec, RecordKey
from controller.server.shelf import Row, Shelf
from controller.simulated.log import Log

_NEVER: Final = 2**63 - 1


@attrs.frozen
class Rules:
    """The configs of a topic. `hold_ms`: how old a record has to be; `segment_bytes`: how many have to follow it so
    that it may be younger; `lag_ms`: how old it has to be in any case."""

    hold_ms: int
    segment_bytes: int
    lag_ms: int
    lag_max_ms: int
    ratio: float
    tombstones_ms: int

    @classmethod
    def of(cls, configs: Mapping[str, str], segment_bytes_max: int) -> Self:
        """Raises ValueError for a config that cannot be read."""
        lag_max_ms = int(configs.get("max.compaction.lag.ms", _NEVER))
        return cls(
            min(int(configs.get("segment.ms", 604_800_000)), lag_max_ms),
            min(int(configs.get("segment.bytes", segment_bytes_max)), segment_bytes_max),
            int(configs.get("min.compaction.lag.ms", 0)),
            lag_max_ms,
            float(configs.get("min.cleanable.dirty.ratio", 0.5)),
            int(configs.get("delete.retention.ms", 86_400_000)),
        )

    def may_go(self, row: Row, shelf: Shelf, now_ms: int) -> bool:
        """Whether the batch is outside of the active part."""
        age_ms = now_ms - row.stored.batch.max_timestamp_ms
        is_passed = age_ms >= self.hold_ms or shelf.written_bytes - row.written_bytes >= self.segment_bytes
        return is_passed and (not self.lag_ms or age_ms >= self.lag_ms)


@attrs.define
class Progress:
    """How far a partition is compacted, and may be. `clean_bytes`: written up to the end of what is compacted;
    `ready_bytes`, `ready_id`: up to the end of what may be. `oldest_ms`: the time of the oldest batch between the two.
    `horizon_ms`: when the next tombstones may go."""

    clean_bytes: int = 0
    ready_bytes: int = 0
    ready_id: int = 0
    oldest_ms: int = _NEVER
    horizon_ms: int = _NEVER

    def look(self, shelf: Shelf, log: Log, rules: Rules, now_ms: int) -> None:
        """Move on over the batches that may be compacted by now."""
        for row, _ in pairwise(shelf.rows(log, self.ready_id)):
            if not rules.may_go(row, shelf, now_ms):
                return
            self.ready_bytes, self.ready_id = row.written_bytes, row.next_id
            self.oldest_ms = min(self.oldest_ms, row.stored.batch.max_timestamp_ms)

    def is_worth_it(self, shelf: Shelf, rules: Rules, now_ms: int) -> bool:
        """Whether to compact now."""
        dirty = self.ready_bytes - self.clean_bytes
        clean = max(0, shelf.size_bytes - (shelf.written_bytes - self.clean_bytes))
        is_overdue = self.oldest_ms <= now_ms - rules.lag_max_ms
        return (dirty > 0 and (is_overdue or dirty > rules.ratio * (dirty + clean))) or self.horizon_ms <= now_ms

    def done(self, rows: Sequence[Row]) -> None:
        """All up to `ready_id` is compacted; `rows` remain of it."""
        self.clean_bytes, self.oldest_ms = self.ready_bytes, _NEVER
        self.horizon_ms = min((row.horizon_ms for row in rows if row.horizon_ms is not None), default=_NEVER)


def compacted(rows: Sequence[Row], codec: BatchCodec, rules: Rules, now_ms: int) -> Generator[None, None, list[Row]]:
    """What remains of these rows. It is a generator so that the work can be divided: each step handles one batch."""
    found: list[Sequence[RecordKey] | None] = []
    newest: dict[bytes | None, int] = {}
    for row in rows:
        keys = codec.keys(row.stored)
        newest.update((each.key, each.offset) for each in keys or ())
        found.append(keys)
        yield
    newest.pop(None, None)
    horizon_ms = None if None in found else now_ms + rules.tombstones_ms
    remaining = []
    for row, keys in zip(rows, found, strict=True):
        is_over = horizon_ms is not None and row.horizon_ms is not None and row.horizon_ms <= now_ms
        stay = [each for each in keys or () if _stays(each, newest, is_over=is_over)]
        if keys is None:
            remaining.append(row)
        elif stay:
            stored = row.stored
            if len(stay) < len(keys):
                stored = attrs.evolve(stored, batch=codec.only(stored, {each.offset for each in stay}))
            remaining.append(attrs.evolve(row, stored=stored, horizon_ms=_horizon_ms(row, stay, horizon_ms)))
        yield
    return remaining


def _stays(each: RecordKey, newest: Mapping[bytes | None, int], *, is_over: bool) -> bool:
    return newest.get(each.key) == each.offset and not (is_over and each.is_deletion)


def _horizon_ms(row: Row, stay: Sequence[RecordKey], new_ms: int | None) -> int | None:
    """When the tombstones among these records may go. `new_ms`: if that was not decided yet; None: never."""
    if new_ms is None or not any(each.is_deletion for each in stay):
        return None
    return new_ms if row.horizon_ms is None else row.horizon_ms
