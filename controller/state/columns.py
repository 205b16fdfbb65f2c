"""Partitions packed as columns by dense number, with the interface of a list of rows.

Rows are added one by one or per topic, and returned as new `Partition` objects. Nearly every partition is at rest: it
does not move, is online, has at most `WIDTH` replicas, and its ISR is a subset of them. Such a partition is one number
in each of six columns, some 40 bytes; an object with its tuples takes 350. All others are kept whole.

A change reads its row several times and writes another: rows that were read or written recently are kept as objects
beside the columns, which always hold the same, until there are too many. A pass over all rows (`read_uncached`,
`__iter__`) keeps none.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations
from struct import Struct
from typing import Final, NamedTuple

from ..model.values import Partition, Replicas

WIDTH: Final = 4  # the number of replicas in the column
LATELY_MAX: Final = 16_384  # some 3 MB; with a quarter of it, moves are a tenth slower

Picks = tuple[int, ...]
_RESTING: Final[list[tuple[int, Picks]]] = [
    (size, picks)
    for size in range(1, WIDTH + 1)
    for length in range(size + 1)
    for picks in permutations(range(size), length)
]
"""What a code means: the number of replicas, and which of them, by position, are in sync, in order."""
_CODES: Final = {one: code for code, one in enumerate(_RESTING)}
_SAME: Final = {size: _CODES[size, tuple(range(size))] for size in range(1, WIDTH + 1)}  # ISR = R, by the size of R
_WHOLE: Final = 254
_GONE: Final = 255
assert len(_RESTING) <= _WHOLE

_ROOM: Final = Struct(f"={WIDTH}i")
_BYTES: Final = _ROOM.size
_UNPACK: Final = [Struct(f"={size}i").unpack_from for size in range(WIDTH + 1)]
_READ: Final = [(_UNPACK[size], None if _SAME[size] == code else picks) for code, (size, picks) in enumerate(_RESTING)]
"""By code: how to read the replicas, and the positions of the ISR; None: the ISR equals the replicas."""
_FILL: Final = [(0,) * (WIDTH - size) for size in range(WIDTH + 1)]


def _code_of(replicas: Replicas, isr: Replicas) -> int:
    """The code of R and the ISR, _WHOLE if there is none."""
    if isr is replicas or isr == replicas:
        return _SAME.get(len(replicas), _WHOLE)
    try:
        return _CODES.get((len(replicas), tuple([replicas.index(broker) for broker in isr])), _WHOLE)
    except ValueError:  # a member of the ISR outside R
        return _WHOLE


def says_more(row: Partition) -> bool:
    """Whether the partition has more than R, ISR, leader and leader epoch."""
    return bool(row.move is not None or row.status_code or row.leader_recovery_state or row.extra is not None)


class PartitionColumns(NamedTuple):
    """Partitions of a topic, by id. `whole`: those with more values, by id."""

    replicas: Sequence[Replicas]
    isrs: Sequence[Replicas]
    leaders: Sequence[int]
    leader_epochs: Sequence[int]
    whole: Mapping[int, Partition]

    @classmethod
    def of(cls, rows: Sequence[Partition]) -> PartitionColumns:
        """The columns of partitions with consecutive ids."""
        more = {row.partition: row for row in rows if says_more(row)}
        return cls(
            [row.replicas for row in rows],
            [row.isr for row in rows],
            [row.leader for row in rows],
            [row.leader_epoch for row in rows],
            more,
        )


class Rows(Sequence[Partition | None]):
    """The row of each number, None if the partition is gone."""

    __slots__ = ("_codes", "_epochs", "_lately", "_leaders", "_places", "_replicas", "_topics", "_whole")

    def __init__(self) -> None:
        self._codes = bytearray()
        self._topics: list[str] = []
        self._places = array("I")
        self._leaders = array("i")
        self._epochs = array("i")
        self._replicas = array("i")  # WIDTH per partition
        self._whole: dict[int, Partition] = {}
        self._lately: dict[int, Partition] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, number: int) -> Partition | None:  # type: ignore[override] # no slices
        row = self._lately.get(number) or self._whole.get(number)
        if row is None and self._codes[number] != _GONE:
            row = self._made(number)
            self._remember(number, row)
        return row

    def read_uncached(self, number: int) -> Partition | None:
        """As `[number]`, from the columns alone: for callers that visit many rows once each, and for checks of both."""
        return self._made(number) if self._codes[number] < _WHOLE else self._whole.get(number)

    def __iter__(self) -> Iterator[Partition | None]:
        return map(self.read_uncached, range(len(self._codes)))

    def _made(self, number: int) -> Partition:
        unpack, picks = _READ[self._codes[number]]
        replicas: Replicas = unpack(self._replicas, _BYTES * number)
        return Partition(
            self._topics[number],
            self._places[number],
            replicas,
            replicas if picks is None else tuple([replicas[place] for place in picks]),
            self._leaders[number],
            self._epochs[number],
        )

    def names(self, number: int, broker: int) -> bool:
        """Whether the row has `broker` in R, the ISR or T."""
        code = self._codes[number]
        if code < _WHOLE:
            return broker in _READ[code][0](self._replicas, _BYTES * number)
        row = self.read_uncached(number)
        if row is None:
            return False
        return broker in row.replicas or broker in row.isr or (row.move is not None and broker in row.move.target)

    def replicas(self, numbers: Iterable[int]) -> list[Replicas]:
        """R of each of these that is there. Makes no rows, since the key of a topic is written with all of them."""
        codes, columns = self._codes, self._replicas
        found = []
        for number in numbers:
            code = codes[number]
            if code < _WHOLE:
                found.append(_READ[code][0](columns, _BYTES * number))
            elif code != _GONE:
                found.append(self._whole[number].replicas)
        return found

    def grouped(self) -> Iterator[tuple[Partition, int]]:
        """One row of each kind, with their number: rows at rest are of one kind if they have the same leader, preferred
        leader and code."""
        some = dict(zip(self._kinds(), range(len(self)), strict=True))
        for kind, count in Counter(self._kinds()).items():
            if kind[-1] < _WHOLE:
                yield self._made(some[kind]), count
        yield from ((row, 1) for row in self._whole.values())

    def _kinds(self) -> Iterator[tuple[int, int, int]]:
        return zip(self._leaders, self._replicas[::WIDTH], self._codes, strict=True)

    # --- changing

    def __setitem__(self, number: int, row: Partition | None) -> None:
        self._whole.pop(number, None)
        self._lately.pop(number, None)
        if row is None:
            self._codes[number] = _GONE
            return
        code = self._codes[number] = _WHOLE if says_more(row) else _code_of(row.replicas, row.isr)
        if code == _WHOLE:
            self._whole[number] = row
        else:
            self._leaders[number], self._epochs[number] = row.leader, row.leader_epoch
            _ROOM.pack_into(self._replicas, _BYTES * number, *row.replicas, *_FILL[len(row.replicas)])
            self._remember(number, row)

    def _remember(self, number: int, row: Partition) -> None:
        if len(self._lately) >= LATELY_MAX:
            self._lately.clear()
        self._lately[number] = row

    def append(self, row: Partition) -> None:
        """Add the row of the next number."""
        self.load(row.topic, row.partition, PartitionColumns.of((row,)))

    def load(self, topic: str, place: int, rows: PartitionColumns) -> dict[int, Partition]:
        """Add partitions of a topic, from `place` on, under the next numbers. Returns the rows that are kept whole."""
        first, end = len(self._codes), place + len(rows.replicas)
        pairs = zip(rows.replicas, rows.isrs, strict=True)
        codes = bytearray([_SAME.get(len(r), _WHOLE) if r == isr else _code_of(r, isr) for r, isr in pairs])
        for partition in rows.whole:
            codes[partition - place] = _WHOLE
        self._codes += codes
        self._topics += [topic] * len(codes)
        self._places.extend(range(place, end))
        self._leaders.extend(rows.leaders)
        self._epochs.extend(rows.leader_epochs)
        self._replicas.extend(
            chain.from_iterable([r + _FILL[len(r)] if len(r) < WIDTH else r[:WIDTH] for r in rows.replicas])
        )
        whole: dict[int, Partition] = {}
        if _WHOLE in codes:
            for at, partition in enumerate(range(place, end)):
                if codes[at] == _WHOLE:
                    said = topic, partition, rows.replicas[at], rows.isrs[at], rows.leaders[at], rows.leader_epochs[at]
                    whole[first + at] = rows.whole.get(partition) or Partition(*said)
            self._whole |= whole
        return whole

    def pop(self) -> Partition | None:
        number = len(self._codes) - 1
        row = self[number]
        self[number] = None
        for column in (self._codes, self._topics, self._places, self._leaders, self._epochs):
            del column[number]
        del self._replicas[WIDTH * number :]
        return row
