"""The admin API: the shape of Kafka's AdminClient, in Python spelling. A future per partition or topic; accepted means
committed, not finished.

Arguments of a wrong kind raise TypeError or ValueError at once, in the caller; whatever depends on the cluster is the
answer of the future: a value, or an `ApiError` with Kafka's number. Futures are `concurrent.futures.Future`, for
asyncio wrap them (`asyncio.wrap_future`). All calls are thread-safe.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, Final, Generic, TypeVar, cast

from controller.model.errors import ApiError, ClusterAuthorizationFailed, ElectionNotNeeded
from controller.model.events import AlterReassignment, CreatePartitions, CreateTopic, ElectLeader
from controller.model.requests import (
    AlterReassignmentsOptions,
    ElectionType,
    NewPartitionReassignment,
    NewPartitions,
    NewTopic,
    PartitionReassignment,
    ReassignmentAnswer,
    TopicDescription,
    as_replicas,
)
from controller.model.values import Replicas, TopicPartition
from controller.model.view import ClusterView
from controller.rules.reassignment import expand_cancel
from controller.runtime.clock import Chance
from controller.runtime.inbox import Job
from controller.runtime.listing import take_listing
from controller.runtime.submit import Submitter

K = TypeVar("K")
V = TypeVar("V")


class _All(enum.Enum):
    ALL = "all"


ALL: Final = _All.ALL
"""Everything, where a set is asked for. None is no set: TypeError."""

DEFAULT_TIMEOUT_MS: Final = 60_000


class Results(Generic[K, V]):
    """The answers to a request for many: `values` maps what was asked for to its future."""

    def __init__(self, values: Mapping[K, Future[V]], make_future: Callable[[], Future[Any]] = Future) -> None:
        self.values = values
        self._make_future = make_future

    def all(self) -> Future[dict[K, V]]:
        """Done when all are: with every value, or with the first error in the order of the request (CancelledError
        for a future that the caller cancelled)."""
        whole: Future[dict[K, V]] = self._make_future()
        lock, waiting = threading.Lock(), len(self.values)
        if not waiting:
            whole.set_result({})

        def one_done(_: Future[V]) -> None:
            nonlocal waiting
            with lock:
                waiting -= 1
                if waiting or not whole.set_running_or_notify_cancel():
                    return
            error = next((e for f in self.values.values() if (e := _error_of(f)) is not None), None)
            if error is not None:
                whole.set_exception(error)
            else:
                whole.set_result({key: future.result() for key, future in self.values.items()})

        for future in self.values.values():
            future.add_done_callback(one_done)
        return whole


def _error_of(future: Future[Any]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()


Target = NewPartitionReassignment | Sequence[int] | None
AlterPolicy = Callable[[TopicPartition, Replicas], str | None]
"""Says why a partition may not get these replicas; None where it may. Runs in the caller's thread."""
CreatePolicy = Callable[[str, NewTopic], str | None]
"""Says why a topic may not be created; None where it may."""
Authorizer = Callable[[str, str, str], bool]
"""Whether a principal may do an operation (ALTER, DESCRIBE, CREATE) on a resource (`CLUSTER`)."""


class Admin:
    """Requests of one principal. `controller.admin` is the host's own, which may do everything."""

    def __init__(
        self,
        submitter: Submitter,
        chance: Chance,
        *,
        principal: str | None = None,
        authorizer: Authorizer | None = None,
        alter_policy: AlterPolicy | None = None,
        create_policy: CreatePolicy | None = None,
    ) -> None:
        self._submitter = submitter
        self._chance = chance
        self._principal = principal
        self._authorizer = authorizer
        self._alter_policy = alter_policy
        self._create_policy = create_policy

    # --- moves, as KIP-455 has them

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Target],
        options: AlterReassignmentsOptions | None = None,
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        """Set the target replicas of partitions (KIP-455); None as target cancels. One bad partition never blocks
        another. A future is done when its partition's target is committed, not when the move is.

        Errors per partition: 41, 31, 7, 3, 85, 39, 44, 38, 83 (`docs/embedding.md` has the table).
        TypeError: no mapping from TopicPartition to broker ids.
        """
        _require(reassignments, Mapping, "reassignments")
        targets = {_tp(tp): None if t is None else _target(t) for tp, t in reassignments.items()}
        return self._alter(targets, _options(options), to_origin=False)

    def rollback_partition_reassignments(
        self, partitions: Iterable[TopicPartition], options: AlterReassignmentsOptions | None = None
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        """Running moves get the replicas that the partition had before them as target: what was added goes again. 85
        where nothing runs; a move that was cancelled is rolled back by altering to the `origin` of its answer."""
        targets = dict.fromkeys(_tps(partitions))
        return self._alter(targets, _options(options), to_origin=True)

    def _alter(
        self, targets: Mapping[TopicPartition, Replicas | None], options: AlterReassignmentsOptions, *, to_origin: bool
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        if error := self._refusal("ALTER"):
            return self._results({tp: self._submitter.failed(error()) for tp in targets})
        now_ms, request = self._submitter.now_ms(), self._chance.nonce()
        jobs = {}
        for tp, target in targets.items():
            event = AlterReassignment(
                now_ms,
                tp.topic,
                tp.partition,
                target,
                options.move_timeout_ms,
                options.allow_replication_factor_change,
                options.force,
                to_origin,
                None if target is None or self._alter_policy is None else self._alter_policy(tp, target),
            )
            jobs[tp] = self._submitter.job(event, options.timeout_ms, "alter_partition_reassignments", request)
        self._submitter.submit(list(jobs.values()))
        return self._results({tp: cast("Future[ReassignmentAnswer]", job.future) for tp, job in jobs.items()})

    def cancel_partition_reassignments(
        self, topic: str | _All = ALL, options: AlterReassignmentsOptions | None = None
    ) -> Future[dict[TopicPartition, ReassignmentAnswer | ApiError]]:
        """Cancel every move of a topic, or every move (ALL). What was cancelled, with its answer or its error; empty
        where nothing ran."""
        options = _options(options)
        if topic is not ALL and type(topic) is not str:
            raise TypeError(f"topic must be a str or ALL, not {topic!r:.80}")
        if error := self._refusal("ALTER"):
            return self._submitter.failed(error())
        now_ms, request = self._submitter.now_ms(), self._chance.nonce()
        of = None if topic is ALL else topic

        def cancel(view: ClusterView) -> dict[TopicPartition, Job]:
            events = expand_cancel(view, of, now_ms, force=options.force)
            return {
                TopicPartition(event.topic, event.partition): self._submitter.job(
                    event, options.timeout_ms, "alter_partition_reassignments", request
                )
                for event in events
            }

        return self._submitter.expand_all(cancel)

    def list_partition_reassignments(
        self,
        partitions: Iterable[TopicPartition] | _All = ALL,
        *,
        topics: Iterable[str] | _All = ALL,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> Future[Mapping[TopicPartition, PartitionReassignment]]:
        """The moves that run, of `partitions` or of `topics` or all (KIP-455); from the cache, no store is read. Idle
        and unknown partitions are absent. TypeError for None where a set is asked for. 41, 31, 7."""
        wanted = None if partitions is ALL else _tps(partitions)
        names = None if topics is ALL else frozenset(_names(topics))
        if wanted is not None and names is not None:
            raise ValueError("give partitions or topics, not both")
        if error := self._refusal("DESCRIBE"):
            return self._submitter.failed(error())
        return self._submitter.query(lambda view: take_listing(view, wanted, names), as_timeout(timeout_ms))

    # --- topics

    def create_topics(
        self, topics: Mapping[str, NewTopic], *, validate_only: bool = False, timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> Results[str, TopicDescription]:
        """Topics with these names exist, placed by rack (KIP-36) or as assigned; `validate_only`: would exist.
        Partitions get their leaders right after. Errors per topic: 41, 31, 7, 17, 36, 37, 38, 39, 40, 42, 44."""
        _require(topics, Mapping, "topics")
        for name, new in topics.items():
            _require(name, str, "a topic's name")
            _require(new, NewTopic, f"topics[{name!r:.80}]")
        if error := self._refusal("CREATE"):
            return self._results({name: self._submitter.failed(error()) for name in topics})
        now_ms, request, timeout_ms = self._submitter.now_ms(), self._chance.nonce(), as_timeout(timeout_ms)
        jobs = {
            name: self._submitter.job(
                CreateTopic(
                    now_ms,
                    name,
                    new.num_partitions,
                    new.replication_factor,
                    new.replica_assignments,
                    new.configs,
                    validate_only,
                    self._chance.topic_id(),
                    self._chance.below(_START_MAX),
                    self._chance.below(_START_MAX),
                    None if self._create_policy is None else self._create_policy(name, new),
                ),
                timeout_ms,
                "create_topics",
                request,
            )
            for name, new in topics.items()
        }
        self._submitter.submit(list(jobs.values()))
        return self._results({name: cast("Future[TopicDescription]", job.future) for name, job in jobs.items()})

    def create_partitions(
        self, topics: Mapping[str, NewPartitions], *, validate_only: bool = False, timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> Results[str, TopicDescription]:
        """Topics have `total_count` partitions, the new ones placed as the rotation goes on, or as assigned. Errors
        per topic: 41, 31, 7, 3, 37, 38, 39, 60 while a partition of the topic moves."""
        _require(topics, Mapping, "topics")
        for name, new in topics.items():
            _require(name, str, "a topic's name")
            _require(new, NewPartitions, f"topics[{name!r:.80}]")
        if error := self._refusal("ALTER"):
            return self._results({name: self._submitter.failed(error()) for name in topics})
        now_ms, request, timeout_ms = self._submitter.now_ms(), self._chance.nonce(), as_timeout(timeout_ms)
        jobs = {
            name: self._submitter.job(
                CreatePartitions(now_ms, name, new.total_count, new.new_assignments, validate_only),
                timeout_ms,
                "create_partitions",
                request,
            )
            for name, new in topics.items()
        }
        self._submitter.submit(list(jobs.values()))
        return self._results({name: cast("Future[TopicDescription]", job.future) for name, job in jobs.items()})

    # --- leaders

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | _All,
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> Future[dict[TopicPartition, ApiError | None]]:
        """Elect preferred leaders, or unclean ones for partitions without a leader. Per partition None (elected) or
        the error: 84, 80, 83, 3, 31, 41. With ALL, partitions that need nothing are left out of the answer."""
        _require(election_type, ElectionType, "election_type")
        wanted = None if partitions is ALL else _tps(partitions)
        if error := self._refusal("ALTER"):
            return self._submitter.failed(error())
        now_ms, request, timeout_ms = self._submitter.now_ms(), self._chance.nonce(), as_timeout(timeout_ms)
        unclean = election_type is ElectionType.UNCLEAN

        def elect(view: ClusterView) -> dict[TopicPartition, Job]:
            named = wanted if wanted is not None else [p.tp for n in view.topic_names() for p in view.partitions_of(n)]
            return {
                tp: self._submitter.job(
                    ElectLeader(now_ms, tp.topic, tp.partition, unclean), timeout_ms, "elect_leaders", request
                )
                for tp in named
            }

        return self._submitter.expand_all(elect, leave_out=(ElectionNotNeeded,) if wanted is None else ())

    def _results(self, values: Mapping[K, Future[V]]) -> Results[K, V]:
        return Results(values, self._submitter.future)

    def _refusal(self, operation: str) -> Callable[[], ApiError] | None:
        """The error for a principal that may not do this on the cluster; None if it may."""
        if self._authorizer is None or self._principal is None:
            return None
        if self._authorizer(self._principal, operation, "CLUSTER"):
            return None
        message = f"{self._principal} may not {operation} CLUSTER"
        return lambda: ClusterAuthorizationFailed(message)


_START_MAX: Final = 1 << 20  # random starts are taken modulo the brokers


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {value!r:.200}")


def _tp(value: object) -> TopicPartition:
    _require(value, TopicPartition, "a partition")
    return cast(TopicPartition, value)


def _tps(values: object) -> list[TopicPartition]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"a set of TopicPartition is asked for, not {values!r:.200}")
    return list(dict.fromkeys(_tp(value) for value in values))


def _names(values: object) -> list[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"a set of topic names is asked for, not {values!r:.200}")
    names = list(values)
    for name in names:
        _require(name, str, "a topic's name")
    return names


def _target(value: object) -> Replicas:
    if isinstance(value, NewPartitionReassignment):
        return value.target_replicas
    return as_replicas(value, "target_replicas")


def _options(value: object) -> AlterReassignmentsOptions:
    if value is None:
        return AlterReassignmentsOptions()
    _require(value, AlterReassignmentsOptions, "options")
    return cast(AlterReassignmentsOptions, value)


def as_timeout(timeout_ms: int) -> int:
    """`timeout_ms`, checked: TypeError, ValueError."""
    if type(timeout_ms) is not int:
        raise TypeError(f"timeout_ms must be an int, not {timeout_ms!r:.80}")
    if timeout_ms < 0:
        raise ValueError(f"timeout_ms must not be negative: {timeout_ms}")
    return timeout_ms
