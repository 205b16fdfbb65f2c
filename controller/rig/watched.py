"""The admin API of a rig's controllers: as any other, but what only an operator may ask for is recorded.

So a rig knows which throttles are an operator's, which requests may remove marks, which brokers may be forgotten and
where an unclean leader may be elected, whether a workload, a test or a command sends them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from ..admin import Admin
from ..admin.checks import Target
from ..admin.results import All, Results
from ..admin.throttling import Assignments
from ..model.config_requests import AlterConfigOp, ConfigResource, OpType
from ..model.errors import ApiError, InvalidRequest
from ..model.requests import AlterReassignmentsOptions, ElectionType, ReassignmentAnswer
from ..model.throttle_configs import LISTS, RATES, Family
from ..model.throttles import (
    CONFIGS,
    KINDS,
    MarkKind,
    ReassignPartitionsOptions,
    ThrottledRate,
    ThrottledReplicas,
)
from ..model.values import ALL_BROKERS, TopicPartition
from .operators import Operators


class WatchedAdmin(Admin):
    """`admin`, watched for `operators`. `brokers`: the ids of all brokers, read at each request."""

    def __init__(self, admin: Admin, operators: Operators, brokers: Collection[int]) -> None:
        vars(self).update(vars(admin))  # takes the place of an existing one
        self._operators = operators
        self._brokers = brokers

    def alter_configs(
        self, resources: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False, **more: Any
    ) -> Results[ConfigResource, None]:
        results = super().alter_configs(resources, validate_only=validate_only, **more)
        for one, answer in results.items() if not validate_only else ():
            kind = _kind(one)
            said = resources[one]
            gone = () if kind is None else [name for name in CONFIGS[kind] if name not in said]
            self._altered(one, [AlterConfigOp(name, value) for name, value in said.items()], answer)
            self._altered(one, [AlterConfigOp(name, op=OpType.DELETE) for name in gone], answer)
        return results

    def incremental_alter_configs(
        self,
        resources: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = False,
        **more: Any,
    ) -> Results[ConfigResource, None]:
        said = {one: tuple(ops) for one, ops in resources.items()}
        results = super().incremental_alter_configs(said, validate_only=validate_only, **more)
        for one, answer in results.items() if not validate_only else ():
            self._altered(one, said[one], answer)
        return results

    def _altered(self, resource: ConfigResource, ops: Iterable[AlterConfigOp], answer: Future[Any]) -> None:
        kind = _kind(resource)
        if kind is not None:
            for op in ops:
                if op.name in CONFIGS[kind]:
                    self._operators.asked(kind, resource.name, op, answer)

    def alter_interbroker_throttled_rates(
        self,
        rates: Mapping[int, ThrottledRate],
        *,
        auto_remove_throttle: bool = True,
        family: Family = "replication",
        **more: Any,
    ) -> Results[int, None]:
        options = {"auto_remove_throttle": auto_remove_throttle, "family": family, **more}
        results = super().alter_interbroker_throttled_rates(rates, **options)
        for broker in rates if not auto_remove_throttle else ():
            self._operators.leave_out("brokers", str(broker), RATES[family])
        self._replaced(results)
        return results

    def alter_interbroker_throttled_replicas(
        self,
        replicas: Mapping[TopicPartition, ThrottledReplicas],
        *,
        auto_remove_throttle: bool = True,
        **more: Any,
    ) -> Results[TopicPartition, None]:
        options = {"auto_remove_throttle": auto_remove_throttle, **more}
        results = super().alter_interbroker_throttled_replicas(replicas, **options)
        for tp in replicas if not auto_remove_throttle else ():
            self._operators.leave_out("topics", tp.topic, LISTS)
        self._replaced(results)
        return results

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Target],
        options: AlterReassignmentsOptions | None = None,
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        results = super().alter_partition_reassignments(reassignments, options)
        self._operators.waits_for(results, results.all())
        return results

    def reassign_partitions(
        self, assignments: Assignments, options: ReassignPartitionsOptions | None = None
    ) -> Results[TopicPartition, None]:
        results = super().reassign_partitions(assignments, options)
        self._operators.waits_for(results, results.all())
        if options is not None and options.throttle is not None and not options.auto_remove_throttle:
            for broker in self._brokers:
                self._operators.leave_out("brokers", str(broker), RATES["replication"])
            for topic in {tp.topic for tp in results}:
                self._operators.leave_out("topics", topic, LISTS)
            self._replaced(results)
        return results

    def elect_leaders(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | All | None, **more: Any
    ) -> Future[dict[TopicPartition, ApiError | None]]:
        named = partitions if partitions is None or isinstance(partitions, All) else list(partitions)
        answer = super().elect_leaders(election_type, named, **more)
        if election_type is ElectionType.UNCLEAN:
            asked = named if isinstance(named, list) else self._operators.partitions
            self._operators.unclean_asked.update(asked)
            self._operators.waits_for(asked, answer)
        return answer

    def forget_broker(self, broker_id: int, **more: Any) -> Future[None]:
        answer = super().forget_broker(broker_id, **more)
        was_forgotten = broker_id in self._operators.forgotten
        self._operators.asked_to_forget.add(broker_id)
        self._operators.forgotten.add(broker_id)

        def refused(done: Future[None]) -> None:
            is_refused = not done.cancelled() and isinstance(done.exception(), InvalidRequest)
            if is_refused and not was_forgotten:  # else it was refused because a former request was carried out
                self._operators.forgotten.discard(broker_id)

        answer.add_done_callback(refused)
        return answer

    def _replaced(self, results: Results[Any, None]) -> None:
        self._operators.replacing(results.all())


def _kind(resource: ConfigResource) -> MarkKind | None:
    """The kind of a resource; None where there are no throttles, as for the defaults of all brokers."""
    entity = resource.entity
    return next((kind for kind in KINDS if kind == entity.kind and entity.name != ALL_BROKERS), None)
