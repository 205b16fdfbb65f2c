"""The two ways by which a wave reaches a controller.

* The admin API of an embedded controller (`Admin`, the part of it that is needed): with throttles, which the controller
  takes back by itself, and with cancelling. The wave begins under the lowest of its rates; once its moves are
  committed each broker gets its own. So nothing is ever copied faster than the plan says, whoever dies in between.
* The legacy key of its store: neither throttles nor cancelling. A plan larger than a key goes in parts.

A way asks once. What is not known to have come of it (`Unsure`) is read from the cluster by who asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, Protocol, TypeVar

import attrs

from controller.codec import keys, legacy
from controller.model.errors import (
    ApiError,
    NoReassignmentInProgress,
    NotController,
    ReassignmentInProgress,
    RequestTimedOut,
)
from controller.model.legacy import LegacyEntry
from controller.model.throttle_settings import UNLIMITED
from controller.model.throttles import ReassignPartitionsOptions, ThrottledRate
from controller.model.values import TopicPartition
from pipeline.submit.cluster import CALL_S, Name
from pipeline.submit.exported import Move, Rate, Wave
from stores import ABSENT, Conflict, MetadataStore, OutcomeUnknown, Put, SessionExpired, Unavailable

ANSWER_S: Final = 90.0
KEY_BYTES_MAX: Final = 900_000
T = TypeVar("T")


class Unsure(Exception):
    """What came of a request is not known, or it came at a wrong moment: look, and ask again if need be."""


@attrs.frozen
class Sent:
    """`moves`: how many begin. `refused`: those that do not, with the reason."""

    moves: int
    refused: dict[Name, str]


class Answers(Protocol):
    """Of a request for many: a future for each, by what was asked for."""

    def items(self) -> Iterable[tuple[Any, Future[Any]]]: ...

    def all(self) -> Future[Any]:
        """Done when all are, and when a request that names nothing is."""


class Admin(Protocol):
    """What is needed of `controller.admin`."""

    def reassign_partitions(
        self, assignments: Mapping[TopicPartition, Sequence[int]], options: ReassignPartitionsOptions, /
    ) -> Answers: ...

    def alter_interbroker_throttled_rates(self, rates: Mapping[int, ThrottledRate], /) -> Answers: ...

    def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, None], /) -> Answers: ...

    def list_partition_reassignments(self) -> Future[Mapping[TopicPartition, Any]]: ...


class Time:
    """How a submitter waits; a simulation gives one of its own."""

    def now_s(self) -> float:
        """Seconds, which only rise."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """So long goes by."""
        time.sleep(seconds)

    def result(self, future: Future[T], timeout_s: float) -> T:
        """What the future gives. Raises what it raises, TimeoutError at the end of the time."""
        return future.result(timeout_s)


class Way(Protocol):
    """How a controller is reached."""

    @property
    def takes_throttles(self) -> bool:
        """Whether rates can be handed over; if so, moves can be cancelled, too."""

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """What `send` would refuse, with the reason, as far as that can be asked. Raises Unsure."""
        ...

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """These moves of a wave begin, or the first of them. Raises Unsure."""
        ...

    def set_rates(self, wave: Wave) -> None:
        """Each broker has its rate while the wave runs. Raises Unsure."""
        ...

    def give_back(self) -> None:
        """No rates are marked any more. Raises Unsure."""
        ...

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """These moves do not run any more. Those that could not be cancelled, with the reason. Raises Unsure."""
        ...

    def running(self) -> frozenset[Name] | None:
        """What moves, by the controller; None where it cannot be asked. Raises Unsure."""
        ...


_AGAIN: Final = (NotController, RequestTimedOut, ReassignmentInProgress)


@attrs.frozen
class AdminWay:
    """By the admin API. `admin` gives that of the controller that leads now; it is asked before each request."""

    admin: Callable[[], Admin]
    time: Time
    takes_throttles: bool = True

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """The same request, which changes nothing."""
        return self._reassign(wave, moves, validate_only=True)

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """All in one request, which is exclusive."""
        refused = self._reassign(wave, moves, validate_only=False)
        return Sent(len(moves) - len(refused), refused)

    def _reassign(self, wave: Wave, moves: Sequence[Move], *, validate_only: bool) -> dict[Name, str]:
        lowest = min((rate for _, rate in _sides(wave.rates)), default=None)
        targets = {TopicPartition(*move.name): move.after for move in moves}
        options = ReassignPartitionsOptions(throttle=lowest, validate_only=validate_only)
        return self._refused(lambda admin: admin.reassign_partitions(targets, options))

    def set_rates(self, wave: Wave) -> None:
        """Brokers without a rate that hold a replica may come to lead: they get the highest."""
        rates = [rate for _, rate in _sides(wave.rates)]
        if len(set(rates)) < 2:
            return  # the request set it
        given = {
            broker: ThrottledRate(
                UNLIMITED if rate.leader is None else rate.leader,
                UNLIMITED if rate.follower is None else rate.follower,
            )
            for broker, rate in wave.rates.items()
        }
        holding = {broker for move in wave.moves for broker in (*move.before, *move.after)}
        others = {broker: ThrottledRate(max(rates), max(rates)) for broker in sorted(holding - given.keys())}
        refused = self._refused(lambda admin: admin.alter_interbroker_throttled_rates({**given, **others}))
        if refused:
            raise Unsure(f"rates were refused: {next(iter(refused.values()))}")

    def give_back(self) -> None:
        """An empty request replaces all."""
        try:
            self._answer(self._leader().alter_interbroker_throttled_rates({}).all())
        except ApiError as error:
            raise Unsure(_words(error)) from None

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """What ended meanwhile needs no cancelling."""
        targets = {TopicPartition(*move.name): None for move in moves}
        return self._refused(lambda admin: admin.alter_partition_reassignments(targets), (NoReassignmentInProgress,))

    def running(self) -> frozenset[Name]:
        """As listed."""
        found = self._answer(self._leader().list_partition_reassignments())
        return frozenset((tp.topic, tp.partition) for tp in found)

    def _refused(self, ask: Callable[[Admin], Answers], good: tuple[type[ApiError], ...] = ()) -> dict[Any, str]:
        """The reason of each that has an error of its own, by topic and partition, or by broker."""
        found: dict[Any, str] = {}
        unsure: Unsure | None = None
        for name, future in ask(self._leader()).items():
            try:
                self._answer(future)
            except Unsure as error:
                unsure = error
            except good:
                pass
            except ApiError as error:
                found[(name.topic, name.partition) if isinstance(name, TopicPartition) else name] = _words(error)
        if unsure is not None:
            raise unsure
        return found

    def _leader(self) -> Admin:
        try:
            return self.admin()
        except NotController as error:
            raise Unsure(_words(error)) from None

    def _answer(self, future: Future[T]) -> T:
        try:
            return self.time.result(future, ANSWER_S)
        except _AGAIN as error:
            raise Unsure(_words(error)) from None
        except (FutureTimeout, TimeoutError):
            raise Unsure(f"no answer within {ANSWER_S:.0f} s") from None


def _words(error: ApiError) -> str:
    return f"{error.code.name} ({int(error.code)}): {error}"


def _sides(rates: Mapping[int, Rate]) -> Iterator[tuple[int, int]]:
    """Every rate that is given, with its broker."""
    for broker, rate in rates.items():
        yield from ((broker, side) for side in (rate.leader, rate.follower) if side is not None)


@attrs.frozen
class LegacyWay:
    """By `/admin/reassign_partitions`, which a client may write when it is absent."""

    store: MetadataStore
    takes_throttles: bool = False

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:  # noqa: ARG002 - nobody can be asked
        """Nothing is known before."""
        return {}

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:  # noqa: ARG002 - a key has no rates
        """As many as a key takes; what is left is asked for when these are done."""
        entries = list(_fitting(moves))
        value = legacy.encode(entries)
        try:
            self.store.commit([Put(keys.REASSIGN_PARTITIONS, value, ABSENT)], timeout_s=CALL_S)
        except Conflict:
            raise Unsure(f"{keys.REASSIGN_PARTITIONS} was written by somebody else") from None
        except (OutcomeUnknown, Unavailable, SessionExpired) as error:
            raise Unsure(str(error)) from None
        return Sent(len(entries), {})

    def set_rates(self, wave: Wave) -> None:
        """There are none."""

    def give_back(self) -> None:
        """There is nothing."""

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """None: nothing can be cancelled through the key."""
        return dict.fromkeys((move.name for move in moves), "nothing can be cancelled through the legacy key")

    def running(self) -> None:
        """The store says it."""


def _fitting(moves: Sequence[Move]) -> Iterator[LegacyEntry]:
    size = 0
    for move in moves:
        entry = LegacyEntry(move.topic, move.partition, move.after)
        size += legacy.bytes_max([entry])
        if size > KEY_BYTES_MAX and move is not moves[0]:
            return
        yield entry
