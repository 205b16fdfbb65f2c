"""The way by which a wave reaches an embedded controller: its admin API (`Admin`, the needed part of it).

The controller removes the throttles by itself. The wave begins under the lowest of its rates; once its moves are
committed each broker gets its own. So copies never exceed the plan's rates, also after a crash in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import attrs

from ...controller.model.errors import (
    ApiError,
    NoReassignmentInProgress,
    NotController,
    ReassignmentInProgress,
    RequestTimedOut,
)
from ...controller.model.requests import ReplicaLogDirInfo, TopicPartitionReplica
from ...controller.model.throttle_configs import UNLIMITED
from ...controller.model.throttles import ReassignPartitionsOptions, ThrottledRate
from ...controller.model.values import TopicPartition
from ...stores import MetadataStore
from .cluster import Look, Name, Replica, alive, has_marks, look, moving_in, under_replicated
from .exported import Move, Rate, Wave
from .route import OTHERS_MOVE, Sent, Time, Unsure, rates_of, sides

ANSWER_S: Final = 90.0
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
    ) -> Answers:
        """As `kedge.Admin`."""

    def alter_interbroker_throttled_rates(self, rates: Mapping[int, ThrottledRate], /) -> Answers:
        """As `kedge.Admin`."""

    def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, None], /) -> Answers:
        """As `kedge.Admin`."""

    def list_partition_reassignments(self) -> Future[Mapping[TopicPartition, Any]]:
        """As `kedge.Admin`."""

    def describe_replica_log_dirs(self, replicas: Iterable[TopicPartitionReplica], /) -> Answers:
        """As `kedge.Admin`."""


_AGAIN: Final = (NotController, RequestTimedOut, ReassignmentInProgress)


@attrs.define
class AdminRoute:
    """Uses the admin API of a store's controller, and reads the store. One look reads several keys while other
    processes write. `admin` returns the API of the controller that leads now; it is called before each request."""

    store: MetadataStore
    admin: Callable[[], Admin]
    time: Time
    looks_again_s: tuple[float, ...] = attrs.field(default=(0.0,), init=False)
    removal_s: float = attrs.field(default=5.0, init=False)
    _rates: Mapping[int, Rate] = attrs.field(factory=dict, init=False)  # that this process has set

    def look(self, names: Iterable[Name]) -> Look:
        """As `kedge.pipeline.submit.cluster.look`."""
        return look(self.store, names)

    def alive(self) -> tuple[frozenset[int], bool]:
        """The registered brokers, and whether the leader's key exists."""
        return alive(self.store)

    def moving(self) -> frozenset[Name]:
        """From the controller; from the store if the controller cannot be reached."""
        try:
            found = self._answer(self._leader().list_partition_reassignments())
        except Unsure:
            return moving_in(self.store)
        return frozenset((tp.topic, tp.partition) for tp in found)

    def under_replicated(self) -> Mapping[Name, frozenset[int]]:
        """From the store."""
        return under_replicated(self.store)

    def sizes(self, wanted: Mapping[int, Collection[Name]]) -> Iterator[Mapping[Replica, int]]:
        """As the brokers reported them to the controller: one answer for all."""
        replicas = [TopicPartitionReplica(*name, broker) for broker, names in wanted.items() for name in names]
        found: dict[Replica, int] = {}
        with suppress(Unsure):
            for replica, future in self._leader().describe_replica_log_dirs(replicas).items():
                with suppress(ApiError):  # not reported yet, or a failed disk
                    info: ReplicaLogDirInfo = self._answer(future)
                    if info.size_bytes is not None:
                        found[(replica.topic, replica.partition), replica.broker_id] = info.size_bytes
        yield found

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """The same request, validated only."""
        return self._reassign(wave, moves, validate_only=True)

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """All moves in one request, which is exclusive."""
        refused = self._reassign(wave, moves, validate_only=False)
        self._rates = wave.rates if len(set(sides(wave))) < 2 else {}
        return Sent(len(moves) - len(refused), refused)

    def _reassign(self, wave: Wave, moves: Sequence[Move], *, validate_only: bool) -> dict[Name, str]:
        lowest = min(sides(wave), default=None)
        targets = {TopicPartition(*move.name): move.after for move in moves}
        options = ReassignPartitionsOptions(throttle=lowest, validate_only=validate_only)
        return self._refused(lambda admin: admin.reassign_partitions(targets, options))

    def set_rates(self, wave: Wave) -> None:
        """All rates at once."""
        if wave.rates == self._rates:
            return  # the first request has set them
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
        self._rates = wave.rates

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
