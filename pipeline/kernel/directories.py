"""Chooses the directory of a replica that comes to a broker with several: the one that is filled least, by bytes.

* A directory is filled by its bytes over what it may hold, or by its bytes if that is unknown of one of the broker's.
  Equal ones: the first. Each choice counts for the next one; replicas that leave still count.
* A broker can take a replica only if one of its directories has room for it, however much is free in all together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from .cluster import NO_LIMIT, Directories, Ints


class Rooms:
    """The directories of brokers while a plan is made. Brokers that are not in `several` have one directory."""

    def __init__(self, several: Mapping[int, Directories]) -> None:
        self.held = {broker: list(found.held) for broker, found in several.items()}
        self.added: dict[int, list[tuple[int, int]]] = {broker: [] for broker in several}
        """By broker: bytes and directory of each replica that came, in their order."""
        self._most = {broker: found.most for broker, found in several.items()}

    def fits(self, broker: int, size: int) -> bool:
        return broker not in self.held or self.find(broker, size) is not None

    def most(self, broker: int) -> int:
        """The bytes of the largest replica that one of the directories of `broker` can take."""
        return max((limit - held for limit, held in zip(self._most[broker], self.held[broker], strict=True)), default=0)

    def find(self, broker: int, size: int) -> int | None:
        """The directory of `broker` for that many bytes; None if none has room."""
        held, most = self.held[broker], self._most[broker]
        fits = [i for i, limit in enumerate(most) if held[i] + size <= limit]
        weights = [1 if NO_LIMIT in most else max(1, limit) for limit in most]
        return min(fits, key=lambda i: (held[i] / weights[i], i), default=None)

    def add(self, broker: int, size: int) -> None:
        """The broker gets a replica of that many bytes. A size that is a guess needs no room."""
        if broker in self.held:
            found = next(i for i in (self.find(broker, size), self.find(broker, 0)) if i is not None)
            self.held[broker][found] += size
            self.added[broker].append((size, found))

    def drop(self, broker: int) -> None:
        """The broker does not get the last replica that was added. What it held before stays."""
        if self.added.get(broker):
            size, directory = self.added[broker].pop()
            self.held[broker][directory] -= size


def named(
    before: Ints, after: Ints, sizes: Ints, added: Mapping[int, list[tuple[int, int]]]
) -> Iterator[tuple[int, int, int]]:
    """Partition, broker and directory of each new replica on one of the brokers in `added` (as in `Rooms`). `sizes`: of
    partitions, as they were added. Replicas of one size on one broker are alike, so the first gets the first place."""
    for broker, chosen in sorted(added.items()):
        new = np.nonzero((after == broker).any(axis=1) & (before != broker).all(axis=1))[0]
        order = new[np.lexsort((new, -sizes[new]))].tolist()
        largest = sorted(chosen, key=lambda one: -one[0])
        yield from ((partition, broker, found) for partition, (_, found) in zip(order, largest, strict=True))
