"""Fetches: how they are answered, and what wakes those that wait for records.

Rules
* A fetch is answered when there are `bytes_min`, when there is an error, or when its time is over.
* It waits at places: each of its partitions, as the broker and the leader epoch that the client named have it. It is
  looked at again only when a place has changed. An append reports its partition at once (`changed`). Changes by the
  controller or by followers are found by steps: each looks at some of the partitions. So the cost of an append or a
  step does not depend on how many fetches wait for how many other partitions.
* Partitions are read in slices, and clients take turns (`kedge.controller.runtime.turns`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final, TypeAlias

import attrs

from ..model.logs import Fetched, FetchFrom, LogError
from ..model.values import TopicPartition
from ..runtime.turns import Turns, Work
from .futures import complete, fail
from .reading import BATCHES_MAX

_LOOKED_AT: Final = 1_000  # partitions in a step
_SLICE: Final = 32  # partitions that are read between two yields

Place: TypeAlias = tuple[int | None, TopicPartition, int]
"""Broker, partition and leader epoch, as the client named them."""


@attrs.define(eq=False)
class Fetch:
    """A fetch until it is answered. `is_due`: all of it is to be read; `changed`: partitions that changed since it was;
    `sizes`: bytes that there were. `is_looked_at`: it has or gets its turn."""

    client: str
    broker_id: int | None
    wanted: Mapping[TopicPartition, FetchFrom]
    bytes_max: int
    bytes_min: int
    deadline_s: float
    future: Future[dict[TopicPartition, Fetched]] = attrs.field(factory=Future)
    is_due: bool = True
    changed: dict[TopicPartition, None] = attrs.field(factory=dict)
    sizes: dict[TopicPartition, int] = attrs.field(factory=dict)
    is_looked_at: bool = False

    def place(self, tp: TopicPartition) -> Place:
        return self.broker_id, tp, self.wanted[tp].leader_epoch


@attrs.define(eq=False)
class _Waited:
    """A place, as it was when it was last looked at, and the fetches that wait there, in their order."""

    state: object
    fetches: dict[Fetch, None] = attrs.field(factory=dict)


@attrs.define(eq=False)
class Fetches:
    """All fetches that are not answered yet. `state`: what decides whether a place has changed; `read`: reads from it
    what fits into the bytes that are left of so many in all, and at least one batch if that is the first one."""

    turns: Turns
    clock: Callable[[], float]
    state: Callable[[Place], object]
    read: Callable[[Place, FetchFrom, int, int], Fetched]
    _open: dict[Fetch, None] = attrs.field(factory=dict)
    _waited: OrderedDict[TopicPartition, dict[Place, _Waited]] = attrs.field(factory=OrderedDict)

    def begin(self, one: Fetch) -> None:
        """Answer it when its turn comes, or as soon as there is enough."""
        self._open[one] = None
        self._wake(one)

    def changed(self, tp: TopicPartition) -> None:
        """The partition may have changed: wake the fetches that wait for that."""
        for place, waited in list(self._waited.get(tp, {}).items()):
            state = self.state(place)
            if state != waited.state:
                waited.state = state
                for one in waited.fetches:
                    one.changed[tp] = None
                    self._wake(one)

    def step(self) -> None:
        """Wake fetches whose time is over or whose future is cancelled, and look for changes of some partitions."""
        now_s = self.clock()
        for one in self._open:
            if now_s >= one.deadline_s or one.future.done():
                one.is_due = True
                self._wake(one)
        for _ in range(min(len(self._waited), _LOOKED_AT)):
            tp = next(iter(self._waited))
            self._waited.move_to_end(tp)
            self.changed(tp)

    def close(self) -> None:
        """All get an error upon which clients retry."""
        for one in self._open:
            complete(one.future, {tp: Fetched(LogError.NOT_LEADER_OR_FOLLOWER) for tp in one.wanted})
        self._open, self._waited = {}, OrderedDict()

    # --- the work

    def _wake(self, one: Fetch) -> None:
        if not one.is_looked_at:
            one.is_looked_at = True
            self.turns.add(one.client, self._looked_at(one))

    def _looked_at(self, one: Fetch) -> Work[None]:
        try:
            while (one.is_due or self._may_be_enough(one)) and not one.future.done():
                one.is_due = False
                one.changed.clear()  # a change while it is read comes after this
                yield from self._read(one)
        except Exception as error:  # noqa: BLE001 - it goes to the caller
            fail(one.future, error)
        one.is_looked_at = one.future.done()
        if one.future.done():
            del self._open[one]
            for number, tp in enumerate(one.wanted):
                if number % _SLICE == _SLICE - 1:
                    yield
                self._leave(one.place(tp), one)

    def _may_be_enough(self, one: Fetch) -> bool:
        """Whether the partitions that changed are a reason to read all of them."""
        for tp in one.changed:
            since = one.wanted[tp]
            read = self.read(one.place(tp), since, one.bytes_max, one.bytes_max)
            one.sizes[tp] = read.size_bytes
            if _is_reason(read):
                return True
        one.changed.clear()
        return sum(one.sizes.values()) >= one.bytes_min

    def _read(self, one: Fetch) -> Work[None]:
        found, left = {}, one.bytes_max
        one.sizes.clear()
        is_enough = is_over = self.clock() >= one.deadline_s
        for number, (tp, since) in enumerate(one.wanted.items()):
            if number % _SLICE == _SLICE - 1:
                yield
            place = one.place(tp)
            if not is_over:
                self._wait(place, one)
            read = found[tp] = self.read(place, since, left, one.bytes_max)
            is_enough = is_enough or _is_reason(read)
            if read.batches:
                one.sizes[tp] = read.size_bytes
                left -= read.size_bytes
        if is_enough or one.bytes_max - left >= one.bytes_min:
            complete(one.future, found)

    def _wait(self, place: Place, one: Fetch) -> None:
        there = self._waited.setdefault(place[1], {})
        if place not in there:
            there[place] = _Waited(self.state(place))
        there[place].fetches[one] = None

    def _leave(self, place: Place, one: Fetch) -> None:
        there = self._waited.get(place[1], {})
        waited = there.get(place)
        if waited is not None:
            waited.fetches.pop(one, None)
            if not waited.fetches:
                del there[place]
                if not there:
                    del self._waited[place[1]]


def _is_reason(read: Fetched) -> bool:
    """Whether the fetch is answered at once: for an error, or if the answer has as many batches as it may."""
    return bool(read.error) or len(read.batches) >= BATCHES_MAX
