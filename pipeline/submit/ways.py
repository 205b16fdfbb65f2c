"""The two ways by which a wave reaches the controller of a readable store.

* The admin API of an embedded controller (`Admin`, the needed part of it): with throttles, which the controller removes
  by itself, and with cancelling. The wave begins under the lowest of its rates; once its moves are committed each
  broker gets its own. So copies never exceed the plan's rates, also after a crash in between.
* The legacy key of its store: without throttles or cancelling. A plan larger than a key is submitted in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, Protocol, TypeVar

import attrs

from ...controller.codec import keys, legacy
from ...controller.model.errors import (
    ApiError,
    NoReassignmentInProgress,
    NotController,
    ReassignmentInProgress,
    RequestTimedOut,
)
from ...controller.model.legacy import LegacyEntry
from ...controller.model.throttle_configs import UNLIMITED
from ...controller.model.throttles import ReassignPartitionsOptions, ThrottledRate
from ...controller.model.values import TopicPartition
from ...stores import ABSENT, Conflict, MetadataStore, OutcomeUnknown, Put, SessionExpired, Unavailable
from .cluster import CALL_S, Look, Name, alive, has_marks, look, moving_in
from .exported import Move, Wave
from .way import OTHERS_MOVE, Sent, Time, Unsure, rates_of, sides

ANSWER_S: Final = 90.0
KEY_BYTES_MAX: Final = 900_000
T = TypeVar("T")


class Answers(Protocol):
    """The answers to a request for many things: a future for each."""

    def items(self) -> Iterable[tuple[Any, Future[Any]]]: ...

    def all(self) -> Future[Any]:
        """Done when all are, and also for an empty request."""


class Admin(Protocol):
    """The needed part of `controller.admin`."""

    def reassign_partitions(
        self, assignments: Mapping[TopicPartition, Sequence[int]], options: ReassignPartitionsOptions, /
    ) -> Answers: ...

    def alter_interbroker_throttled_rates(self, rates: Mapping[int, ThrottledRate], /) -> Answers: ...

    def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, None], /) -> Answers: ...

    def list_partition_reassignments(self) -> Future[Mapping[TopicPartition, Any]]: ...


_AGAIN: Final = (NotController, RequestTimedOut, ReassignmentInProgress)


@attrs.frozen
class _OfStore:
    """Reads the store. One look reads several keys while other processes write."""

    store: MetadataStore
    looks_again_s: tuple[float, ...] = attrs.field(default=(0.0,), init=False)

    def look(self, names: Iterable[Name]) -> Look:
        """As `kedge.pipeline.submit.cluster.look`."""
        return look(self.store, names)

    def alive(self) -> tuple[frozenset[int], bool]:
        """The registered brokers, and whether the leader's key exists."""
        return alive(self.store)

    def moving(self) -> frozenset[Name]:
        """From the keys of all topics."""
        return moving_in(self.store)


@attrs.frozen
class AdminWay(_OfStore):
    """Uses the admin API. `admin` returns that of the controller that leads now; it is called before each request."""

    admin: Callable[[], Admin]
    time: Time
    takes_throttles: bool = attrs.field(default=True, init=False)
    removal_s: float = attrs.field(default=5.0, init=False)

    def moving(self) -> frozenset[Name]:
        """From the controller; from the store if the controller cannot be reached."""
        try:
            found = self._answer(self._leader().list_partition_reassignments())
        except Unsure:
            return super().moving()
        return frozenset((tp.topic, tp.partition) for tp in found)

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """The same request, validated only."""
        return self._reassign(wave, moves, validate_only=True)

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """All moves in one request, which is exclusive."""
        refused = self._reassign(wave, moves, validate_only=False)
        return Sent(len(moves) - len(refused), refused)

    def _reassign(self, wave: Wave, moves: Sequence[Move], *, validate_only: bool) -> dict[Name, str]:
        lowest = min(sides(wave), default=None)
        targets = {TopicPartition(*move.name): move.after for move in moves}
        options = ReassignPartitionsOptions(throttle=lowest, validate_only=validate_only)
        return self._refused(lambda admin: admin.reassign_partitions(targets, options))

    def set_rates(self, wave: Wave) -> None:
        """All rates at once."""
        if len(set(sides(wave))) < 2:
            return  # the first request has set it
        given = {
            broker: ThrottledRate(
                UNLIMITED if rate.leader is None else rate.leader,
                UNLIMITED if rate.follower is None else rate.follower,
            )
            for broker, rate in rates_of(wave).items()
        }
        refused = self._refused(lambda admin: admin.alter_interbroker_throttled_rates(given))
        if refused:
            raise Unsure(f"the controller refused the rates: {next(iter(refused.values()))}")

    def is_marked(self, wave: Wave | None) -> bool:
        """For a wave with rates: whether the store has marks, whichever process set them."""
        return wave is not None and bool(wave.rates) and has_marks(self.store)

    def give_back(self) -> str:
        """An empty request replaces all throttles."""
        if self.moving():
            return OTHERS_MOVE
        try:
            self._answer(self._leader().alter_interbroker_throttled_rates({}).all())
        except ApiError as error:
            raise Unsure(_words(error)) from None
        return ""

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """A move that has ended meanwhile needs no cancelling."""
        targets = {TopicPartition(*move.name): None for move in moves}
        return self._refused(lambda admin: admin.alter_partition_reassignments(targets), (NoReassignmentInProgress,))

    def _refused(self, ask: Callable[[Admin], Answers], good: tuple[type[ApiError], ...] = ()) -> dict[Any, str]:
        """The reasons of those with an error of their own, by topic and partition, or by broker."""
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
            raise Unsure(f"the controller did not answer within {ANSWER_S:.0f} s") from None


def _words(error: ApiError) -> str:
    return f"{error.code.name} ({int(error.code)}): {error}"


@attrs.frozen
class LegacyWay(_OfStore):
    """Uses `/admin/reassign_partitions`, which a client may write while it is absent."""

    takes_throttles: bool = attrs.field(default=False, init=False)
    removal_s: float = attrs.field(default=0.0, init=False)

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:  # noqa: ARG002 - the key cannot be validated
        """Nothing can be checked beforehand."""
        return {}

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:  # noqa: ARG002 - a key has no rates
        """As many moves as a key holds; the rest follows when these are done."""
        entries = list(_fitting(moves))
        value = legacy.encode(entries)
        try:
            self.store.commit([Put(keys.REASSIGN_PARTITIONS, value, ABSENT)], timeout_s=CALL_S)
        except Conflict:
            raise Unsure(f"another process has written {keys.REASSIGN_PARTITIONS}") from None
        except (OutcomeUnknown, Unavailable, SessionExpired) as error:
            raise Unsure(str(error)) from None
        return Sent(len(entries), {})

    def set_rates(self, wave: Wave) -> None:
        """The key has no rates."""

    def is_marked(self, wave: Wave | None) -> bool:  # noqa: ARG002 - as above
        """Never."""
        return False

    def give_back(self) -> str:
        """There is nothing to remove."""
        return ""

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """The key cannot cancel any."""
        return dict.fromkeys((move.name for move in moves), "the legacy key cannot cancel reassignments")


def _fitting(moves: Sequence[Move]) -> Iterator[LegacyEntry]:
    size = 0
    for move in moves:
        entry = LegacyEntry(move.topic, move.partition, move.after)
        size += legacy.bytes_max([entry])
        if size > KEY_BYTES_MAX and move is not moves[0]:
            return
        yield entry
