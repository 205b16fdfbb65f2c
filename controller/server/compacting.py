"""Which batches of a partition may be compacted, when that is worth it, and what remains of them.

Rules (Kafka's, with a part of the log in place of its active segment)
* The active part is not touched: the batches with a record younger than `segment.ms`, as long as they are among the
  newest `segment.bytes`; and the newest batch in any case. Nor is a batch with a record younger than
  `min.compaction.lag.ms`, or above the last stable offset.
* The rest is compacted when the bytes that were not compacted before are more than `min.cleanable.dirty.ratio` of it,
  or older than `max.compaction.lag.ms`.
* Of each key in it the newest record stays. A tombstone stays for `delete.retention.ms` after its first compaction;
  then it is removed, whatever the ratio is. Records without a key, from before the topic was compacted, are removed.
* Records of aborted transactions are removed. The end of a transaction stays for as long as there are others of it,
  and then as long as a tombstone.
* Where there are more than a million keys, the newer batches stay as they are.
* A batch that cannot be read stays whole, and then no tombstone of its partition is removed: it might delete a record
  of that batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, Self

import attrs

from ..model.logs import Aborted, BatchCodec, RecordKey, UnreadableBatch
from ..runtime.turns import Work
from ..simulated.log import Log
from .record_store import RecordStore
from .rows import Row

_NEVER: Final = 2**63 - 1
_KEYS_MAX: Final = 1_000_000  # that are compared at a time: some 200 bytes each
_SLICE: Final = 1_000  # keys that are let go between two yields
_LOOKED_AT: Final = 10_000  # batches of a partition that are looked at in a second


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

    def may_go(self, row: Row, shelf: RecordStore, now_ms: int) -> bool:
        """Whether the batch is outside of the active part."""
        age_ms = now_ms - row.stored.batch.max_timestamp_ms
        is_passed = age_ms >= self.hold_ms or shelf.written_bytes - row.written_bytes >= self.segment_bytes
        return is_passed and (not self.lag_ms or age_ms >= self.lag_ms)


@attrs.define
class Progress:
    """How far a partition is compacted, and may be. `clean_bytes`: written up to the end of what is compacted;
    `ready_bytes`, `ready_id`, `ready_offset`: up to the end of what may be. `oldest_ms`: the time of the oldest batch
    between the two. `horizon_ms`: when the next tombstones may go."""

    clean_bytes: int = 0
    ready_bytes: int = 0
    ready_id: int = 0
    ready_offset: int = 0
    oldest_ms: int = _NEVER
    horizon_ms: int = _NEVER

    def look(self, shelf: RecordStore, log: Log, rules: Rules, now_ms: int) -> None:
        """Move on over the batches that may be compacted by now."""
        stable_offset = shelf.producers.stable_offset(log)
        for row, _ in islice(pairwise(shelf.rows(log, self.ready_id, stable_offset)), _LOOKED_AT):
            if not rules.may_go(row, shelf, now_ms):
                return
            self.ready_bytes, self.ready_id = row.written_bytes, row.next_id
            self.ready_offset = row.stored.end_offset
            self.oldest_ms = min(self.oldest_ms, row.stored.batch.max_timestamp_ms)

    def is_worth_it(self, shelf: RecordStore, rules: Rules, now_ms: int) -> bool:
        dirty = self.ready_bytes - self.clean_bytes
        clean = max(0, shelf.size_bytes - (shelf.written_bytes - self.clean_bytes))
        is_overdue = self.oldest_ms <= now_ms - rules.lag_max_ms
        return (dirty > 0 and (is_overdue or dirty > rules.ratio * (dirty + clean))) or self.horizon_ms <= now_ms

    def done(self, rows: Sequence[Row]) -> None:
        """All up to `ready_id` is compacted; `rows` remain of it."""
        self.clean_bytes, self.oldest_ms = self.ready_bytes, _NEVER
        self.horizon_ms = min((row.horizon_ms for row in rows if row.horizon_ms is not None), default=_NEVER)


def compacted(
    rows: Sequence[Row], codec: BatchCodec, rules: Rules, now_ms: int, aborted: Iterable[Aborted] = ()
) -> Work[list[Row]]:
    """What remains of these rows. Batches are read again for each question, so that no list of records is kept.
    `aborted`: the transactions among them that were aborted."""
    newest: dict[bytes, int] = {}
    is_whole, count = True, 0
    gone = _gone(rows, aborted)
    while count < len(rows) and len(newest) <= _KEYS_MAX:
        row = rows[count]
        is_read = row.first_id in gone or _is_end(row) or (yield from _note(row, newest, codec))
        is_whole, count = is_whole and is_read, count + 1
    horizon_ms = now_ms + rules.tombstones_ms if is_whole else None
    remaining: list[Row] = []
    having: set[int] = set()  # producers whose transaction has records
    for row in rows[:count]:
        smaller: Row | None = None
        if _is_end(row):
            smaller = _end(row, horizon_ms, now_ms, has_records=_producer(row) in having)
            having.discard(_producer(row))
        elif row.first_id not in gone:
            try:
                smaller = yield from _smaller(row, newest, codec, horizon_ms, now_ms)
            except UnreadableBatch:
                smaller = row
        if smaller is not None:
            remaining.append(smaller)
            having |= {_producer(row)} if not _is_end(row) else set()
    while newest:  # a million of them take a while, too
        for _ in range(min(len(newest), _SLICE)):
            newest.popitem()
        yield
    rest = rows[count:]
    return [*remaining, *(row if row.horizon_ms is None else attrs.evolve(row, horizon_ms=None) for row in rest)]


def _is_end(row: Row) -> bool:
    return row.stored.batch.marker is not None


def _producer(row: Row) -> int:
    return row.stored.batch.producer_id


def _gone(rows: Iterable[Row], aborted: Iterable[Aborted]) -> set[int]:
    """The first ids of the rows that belong to aborted transactions."""
    begins = deque(sorted(aborted, key=lambda each: each.first_offset))
    gone: set[int] = set()
    open_now: set[int] = set()
    for row in rows:
        while begins and begins[0].first_offset <= row.stored.base_offset:
            open_now.add(begins.popleft().producer_id)
        if _is_end(row):
            open_now.discard(_producer(row))
        elif row.stored.batch.is_transactional and _producer(row) in open_now:
            gone.add(row.first_id)
    return gone


def _end(row: Row, horizon_ms: int | None, now_ms: int, *, has_records: bool) -> Row | None:
    """The end of a transaction; None: it goes."""
    if has_records or horizon_ms is None:
        return row
    if row.horizon_ms is not None and row.horizon_ms <= now_ms:
        return None
    return attrs.evolve(row, horizon_ms=horizon_ms if row.horizon_ms is None else row.horizon_ms)


def _note(row: Row, newest: dict[bytes, int], codec: BatchCodec) -> Work[bool]:
    """Add the keys of the row with their offsets; returns whether all of it could be read."""
    try:
        for each in codec.keys(row.stored):
            if each is None:
                yield
            elif each.key is not None:
                newest[each.key] = each.offset
    except UnreadableBatch:
        return False
    return True


def _smaller(
    row: Row, newest: Mapping[bytes, int], codec: BatchCodec, horizon_ms: int | None, now_ms: int
) -> Work[Row | None]:
    """What remains of the row; None: nothing."""
    is_over = horizon_ms is not None and row.horizon_ms is not None and row.horizon_ms <= now_ms
    stay: set[int] = set()
    count, has_deletion = 0, False
    for each in codec.keys(row.stored):
        if each is None:
            yield
            continue
        count += 1
        if _stays(each, newest, is_over=is_over):
            stay.add(each.offset)
            has_deletion = has_deletion or each.is_deletion
    if not stay:
        return None
    stored = row.stored
    if len(stay) < count:
        only = yield from codec.only(stored, stay)
        stored = attrs.evolve(stored, batch=only)
    if horizon_ms is not None and has_deletion:
        horizon_ms = horizon_ms if row.horizon_ms is None else row.horizon_ms
    return attrs.evolve(row, stored=stored, horizon_ms=horizon_ms if has_deletion else None)


def _stays(each: RecordKey, newest: Mapping[bytes, int], *, is_over: bool) -> bool:
    is_newest = each.key is not None and newest.get(each.key) == each.offset
    return is_newest and not (is_over and each.is_deletion)
