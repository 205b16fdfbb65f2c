"""Requests for throttled moves, and for throttles alone (KIP-179)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from ..model.errors import ApiError
from ..model.events import (
    AlterThrottledRates,
    AlterThrottledReplicas,
    NamedTarget,
    ReassignPartitions,
    ThrottleRequest,
)
from ..model.requests import NewPartitionReassignment
from ..model.throttle_configs import FAMILIES, Family
from ..model.throttles import ADVISED_MIN, ReassignPartitionsOptions, ThrottledRate, ThrottledReplicas
from ..model.values import TopicPartition
from ..runtime.replies import Reply
from .checks import as_broker, as_options, as_partition, as_target, as_timeout, require
from .requests import TIMEOUT_S, Requests
from .results import Results

K = TypeVar("K")

Assignments: TypeAlias = (
    Mapping[TopicPartition, NewPartitionReassignment | Sequence[int]]
    | Iterable[tuple[TopicPartition, NewPartitionReassignment | Sequence[int]]]
)

_log = logging.getLogger(__name__)


class ThrottlingAdmin(Requests):
    """The requests about throttles, part of `Admin`."""

    def reassign_partitions(
        self, assignments: Assignments, options: ReassignPartitionsOptions | None = None
    ) -> Results[TopicPartition, None]:
        """Start to move partitions to these replicas (the first one: the preferred leader), with the throttle of
        `options` (KIP-179). While other moves run, the whole request is refused. A future is done when its move is
        committed, not when it has ended. An error of one partition does not affect the others.

        `assignments`: a mapping, or pairs, of TopicPartition and broker ids. A throttle sets, before the moves start,
        both replication rates of the brokers that hold or get a replica, and the topics' lists of throttled replicas.
        With
        `auto_remove_throttle` both are removed when the last move has ended, and former values are restored.

        Errors per partition: InvalidThrottle (10179, a number of this library), ReassignmentInProgress, InvalidRequest
        (a duplicate, or too large for a key), InvalidTopic, InvalidReplicaAssignment, UnknownMemberId, PolicyViolation,
        StorageError. TypeError or ValueError for arguments of the wrong type or range.
        """
        options = as_options(options, ReassignPartitionsOptions)
        pairs = [(as_partition(tp), as_target(t)) for tp, t in _items(assignments)]
        targets = dict(pairs)
        counts = Counter(tp for tp, _ in pairs) if len(pairs) > len(targets) else {}
        twice = frozenset((tp.topic, tp.partition) for tp, count in counts.items() if count > 1)
        if (error := self._refusal("ALTER")) is not None:
            return self._failed(targets, error)
        _advise(options.throttle)
        policy = self._hooks.alter_policy
        event = ReassignPartitions(
            self._submitter.now_ms(),
            options.validate_only,
            options.auto_remove_throttle,
            self._submitter.commit_limits,
            tuple(
                NamedTarget(tp.topic, tp.partition, target, None if policy is None else policy(tp, target))
                for tp, target in targets.items()
            ),
            options.throttle,
            twice,
        )
        return self._asked(event, targets, as_timeout(options.timeout_s), "reassign_partitions")

    def alter_interbroker_throttled_rates(
        self,
        rates: Mapping[int, ThrottledRate],
        *,
        auto_remove_throttle: bool = True,
        validate_only: bool = False,
        family: Family = "replication",
        timeout_s: float = TIMEOUT_S,
    ) -> Results[int, None]:
        """Set the throttled rates of these brokers and no others: a broker that has rates from an earlier request and
        is not named gets its former values back (KIP-179). `family`: KIP-73's `replication` rates, or KIP-542's
        `reassignment` rates. With `auto_remove_throttle` they are removed when the last move has ended; if none runs,
        at the end of the next one, or when another controller takes over.

        Errors per broker: UnknownMemberId, InvalidThrottle, InvalidRequest, StorageError. TypeError or ValueError for
        arguments of the wrong type or range.
        """
        require(rates, Mapping, "rates")
        for broker, rate in rates.items():
            as_broker(broker)
            require(rate, ThrottledRate, f"rates[{broker}]")
        if family not in FAMILIES:
            raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {family!r:.80}")
        _require_flags(auto_remove_throttle=auto_remove_throttle, validate_only=validate_only)
        if (error := self._refusal("ALTER")) is not None:
            return self._failed(rates, error)
        for rate in rates.values():
            _advise(rate.leader_rate, rate.follower_rate)
        event = AlterThrottledRates(
            self._submitter.now_ms(),
            validate_only,
            auto_remove_throttle,
            self._submitter.commit_limits,
            tuple((broker, rate.leader_rate, rate.follower_rate) for broker, rate in rates.items()),
            family,
        )
        return self._asked(event, rates, as_timeout(timeout_s), "alter_interbroker_throttled_rates")

    def alter_interbroker_throttled_replicas(
        self,
        replicas: Mapping[TopicPartition, ThrottledReplicas],
        *,
        auto_remove_throttle: bool = True,
        validate_only: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> Results[TopicPartition, None]:
        """Add these replicas to their topics' lists of throttled replicas, beside those that an operator listed. A
        topic from an earlier request that is not named loses what that request added (KIP-179). For
        `auto_remove_throttle`, see `alter_interbroker_throttled_rates`.

        Errors per partition: UnknownTopicOrPartition, UnknownMemberId, InvalidRequest, StorageError. TypeError for
        arguments of the wrong type.
        """
        require(replicas, Mapping, "replicas")
        for tp, sides in replicas.items():
            as_partition(tp)
            require(sides, ThrottledReplicas, f"replicas[{tp}]")
        _require_flags(auto_remove_throttle=auto_remove_throttle, validate_only=validate_only)
        if (error := self._refusal("ALTER")) is not None:
            return self._failed(replicas, error)
        event = AlterThrottledReplicas(
            self._submitter.now_ms(),
            validate_only,
            auto_remove_throttle,
            self._submitter.commit_limits,
            tuple((tp.topic, tp.partition, sides.leaders, sides.followers) for tp, sides in replicas.items()),
        )
        return self._asked(event, replicas, as_timeout(timeout_s), "alter_interbroker_throttled_replicas")

    def _asked(self, event: ThrottleRequest, names: Iterable[K], timeout_ms: int, cause: str) -> Results[K, None]:
        """Submit one event, and give a reply for each name; an empty request has a reply too, as it removes
        throttles."""
        replies: dict[K, Reply[None]] = {name: self._submitter.reply() for name in names}
        unnamed = None if replies else self._submitter.reply()

        def answered(whole: Reply[Any]) -> None:
            for name, reply in replies.items():
                self._submitter.complete(reply, whole.outcome[name] if whole.error is None else whole.error)
            if unnamed is not None:
                self._submitter.complete(unnamed, whole.error)

        self._submitter.ask(event, timeout_ms, cause, self._id_source.nonce()).add_done_callback(answered)
        return Results(replies, unnamed)

    def _failed(self, names: Iterable[K], error: Callable[[], ApiError]) -> Results[K, None]:
        failed = self._submitter.failed_each(names, error)
        return Results(failed, None if failed else self._submitter.failed(error()))


def _items(assignments: object) -> Iterable[tuple[object, object]]:
    if isinstance(assignments, Mapping):
        return assignments.items()
    if isinstance(assignments, str | bytes) or not isinstance(assignments, Iterable):
        raise TypeError(f"assignments must map TopicPartition to broker ids, not {assignments!r:.200}")
    pairs = list(assignments)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"assignments must be pairs of TopicPartition and broker ids, not {pair!r:.200}")
    return pairs


def _require_flags(**flags: object) -> None:
    for name, value in flags.items():
        require(value, bool, name)


def _advise(*rates: int | None) -> None:
    for rate in rates:
        if rate is not None and 0 < rate < ADVISED_MIN:
            _log.warning(
                "a throttle of %d bytes per second is below %d, the least that KIP-179 recommends", rate, ADVISED_MIN
            )
