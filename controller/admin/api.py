"""The admin API, in the shape of Kafka's AdminClient. Each partition or topic has a future of its own; its result means
that the change is committed, not that a reassignment or deletion has finished.

An argument of the wrong type or range raises TypeError or ValueError in the caller. Everything that depends on the
cluster comes from the future: a value, or an `ApiError` with Kafka's error code. Futures are
`concurrent.futures.Future`; for asyncio see `kedge.controller.aio`. All methods are thread-safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Final

from ..model import events
from ..model.errors import ApiError, ElectionNotNeeded
from ..model.events import (
    AlterReassignment,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeader,
    Event,
    ForgetBroker,
)
from ..model.requests import (
    AlterReassignmentsOptions,
    CreatedTopic,
    DeletePartitions,
    ElectionType,
    NewPartitions,
    NewTopic,
    PartitionReassignment,
    ReassignmentAnswer,
    ReplicaLogDirInfo,
    TopicDescription,
    TopicPartitionReplica,
)
from ..model.values import Replicas, TopicPartition
from ..model.view import ClusterView
from ..rules.leader_election import is_gone_to_requests
from ..rules.reassignment import expand_cancel
from ..runtime.listing import describe_log, describe_topic, take_topics
from .checks import (
    Target,
    as_all,
    as_broker,
    as_move_timeout,
    as_names,
    as_options,
    as_partition,
    as_partitions,
    as_target,
    as_timeout,
    require,
    require_topics,
)
from .configs import ConfigRequests
from .requests import TIMEOUT_S
from .results import ALL, All, Results
from .throttling import ThrottlingAdmin


class Admin(ConfigRequests, ThrottlingAdmin):
    """Requests of one principal. `controller.admin` is the host's own API, which may do everything.

    Every request can fail with NotController, ClusterAuthorizationFailed, RequestTimedOut or Overloaded; each method
    lists its other errors. `docs/admin-api.md#errors` has the table of errors.
    """

    # --- moves, as KIP-455 defines them

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Target],
        options: AlterReassignmentsOptions | None = None,
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        """Set the target replicas of partitions (KIP-455); the target None cancels. An error of one partition does not
        affect the others. A future is done when the target is committed, not when the reassignment is complete.

        Errors per partition: UnknownTopicOrPartition, NoReassignmentInProgress, InvalidReplicaAssignment,
        InvalidReplicationFactor, PolicyViolation, EligibleLeadersNotAvailable.
        TypeError if `reassignments` does not map TopicPartition to broker ids.
        """
        require(reassignments, Mapping, "reassignments")
        targets = {as_partition(tp): None if t is None else as_target(t) for tp, t in reassignments.items()}
        return self._alter(targets, as_options(options, AlterReassignmentsOptions), to_origin=False)

    def rollback_partition_reassignments(
        self, partitions: Iterable[TopicPartition], options: AlterReassignmentsOptions | None = None
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        """Reassign moving partitions back to the replicas from before the move; the replicas that it added are removed.

        NoReassignmentInProgress where no move runs. To undo a cancelled move, reassign to the `origin` of its
        answer."""
        targets = dict.fromkeys(as_partitions(partitions))
        return self._alter(targets, as_options(options, AlterReassignmentsOptions), to_origin=True)

    def _alter(
        self, targets: Mapping[TopicPartition, Replicas | None], options: AlterReassignmentsOptions, *, to_origin: bool
    ) -> Results[TopicPartition, ReassignmentAnswer]:
        policy, move_timeout_ms = self._hooks.alter_policy, as_move_timeout(options)

        def alter(now_ms: int, tp: TopicPartition, target: Replicas | None) -> Event:
            return AlterReassignment(
                now_ms,
                tp.topic,
                tp.partition,
                target,
                move_timeout_ms=move_timeout_ms,
                allow_replication_factor_change=options.allow_replication_factor_change,
                force=options.force,
                to_origin=to_origin,
                policy_message=None if target is None or policy is None else policy(tp, target),
            )

        return self._change_each("ALTER", "alter_partition_reassignments", targets, alter, options.timeout_s)

    def cancel_partition_reassignments(
        self, topic: str | All = ALL, options: AlterReassignmentsOptions | None = None
    ) -> Future[dict[TopicPartition, ReassignmentAnswer | ApiError]]:
        """Cancel the moves of one topic, or all moves (ALL). The result has each move with its answer or its error; it
        is empty if none was running."""
        options = as_options(options, AlterReassignmentsOptions)
        if topic is not ALL and type(topic) is not str:
            raise TypeError(f"topic must be a str or ALL, not {topic!r:.80}")
        of = None if topic is ALL else topic

        def cancel(view: ClusterView) -> dict[TopicPartition, Event]:
            cancelled = expand_cancel(view, of, now_ms, force=options.force)
            return {TopicPartition(event.topic, event.partition): event for event in cancelled}

        now_ms = self._submitter.now_ms()
        return self._change_all("ALTER", "alter_partition_reassignments", cancel, options.timeout_s)

    def list_partition_reassignments(
        self,
        partitions: Iterable[TopicPartition] | All = ALL,
        *,
        topics: Iterable[str] | All = ALL,
        timeout_s: float = TIMEOUT_S,
    ) -> Future[Mapping[TopicPartition, PartitionReassignment]]:
        """The running moves of `partitions`, of `topics`, or all (KIP-455). Read from memory, not from the store.
        Partitions that are unknown or do not move are left out. TypeError for None instead of a set."""
        wanted = None if partitions is ALL else as_partitions(partitions)
        names = None if topics is ALL else frozenset(as_names(topics))
        if wanted is not None and names is not None:
            raise ValueError("give partitions or topics, not both")
        return self._whole("DESCRIBE", lambda: self._submitter.listing(wanted, names, as_timeout(timeout_s)))

    # --- topics

    def list_topics(self, *, timeout_s: float = TIMEOUT_S) -> Future[Mapping[str, str]]:
        """All topics, name -> id, sorted by name, without those that are being deleted. Read from memory."""
        return self._whole("DESCRIBE", lambda: self._submitter.query(take_topics, as_timeout(timeout_s)))

    def describe_topics(self, names: Iterable[str], *, timeout_s: float = TIMEOUT_S) -> Results[str, TopicDescription]:
        """Leader, replicas, in-sync replicas, target replicas and status of each partition. Read from memory, all as of
        one commit. Errors per topic: UnknownTopicOrPartition (unknown, or being deleted)."""
        return self._look_up_each("DESCRIBE", as_names(names), describe_topic, timeout_s)

    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout_s: float = TIMEOUT_S
    ) -> Results[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Size in bytes and lag in records of replicas (KIP-113), from the latest reports by `Controller.report_log`,
        all as of one commit. Replicas that a move adds count as replicas.

        Errors per replica: UnknownTopicOrPartition; ReplicaNotAvailable if the broker has no replica of the partition,
        or no host has reported its log to this controller (a new controller starts without reports); StorageError if
        the broker reported a failed disk. TypeError if `replicas` does not hold TopicPartitionReplica.
        """
        wanted = as_all(replicas, TopicPartitionReplica, "a set of TopicPartitionReplica")

        def describe(view: ClusterView, replica: TopicPartitionReplica) -> ReplicaLogDirInfo | ApiError:
            return describe_log(view, self._log_reports, replica)

        return self._look_up_each("DESCRIBE", wanted, describe, timeout_s)

    def create_topics(
        self, topics: Mapping[str, NewTopic], *, validate_only: bool = False, timeout_s: float = TIMEOUT_S
    ) -> Results[str, CreatedTopic]:
        """Create topics, placed by rack (KIP-36) or as assigned; `validate_only` only checks. Leaders are elected right
        after the commit. Errors per topic: InvalidTopic, TopicAlreadyExists, InvalidPartitions,
        InvalidReplicationFactor, InvalidReplicaAssignment, InvalidConfig, InvalidRequest, PolicyViolation."""
        require_topics(topics, NewTopic)
        policy = self._hooks.create_policy

        def create(now_ms: int, name: str, new: NewTopic) -> Event:
            return CreateTopic(
                now_ms,
                name,
                num_partitions=new.num_partitions,
                replication_factor=new.replication_factor,
                assignments=new.replica_assignments,
                configs=new.configs,
                validate_only=validate_only,
                topic_id=self._id_source.topic_id(),
                start=self._id_source.below(_START_MAX),
                shift=self._id_source.below(_START_MAX),
                policy_message=None if policy is None else policy(name, new),
            )

        return self._change_each("CREATE", "create_topics", topics, create, timeout_s)

    def create_partitions(
        self, topics: Mapping[str, NewPartitions], *, validate_only: bool = False, timeout_s: float = TIMEOUT_S
    ) -> Results[str, CreatedTopic]:
        """Add partitions, so that topics have `total_count` of them. New ones are placed where the rotation of the
        topic continues, or as assigned. Errors per topic: UnknownTopicOrPartition, InvalidPartitions,
        InvalidReplicationFactor, InvalidReplicaAssignment, ReassignmentInProgress while a partition of it moves,
        StorageError if its key or that of a partition cannot be read."""
        require_topics(topics, NewPartitions)

        def create(now_ms: int, name: str, new: NewPartitions) -> Event:
            return CreatePartitions(now_ms, name, new.total_count, new.new_assignments, validate_only)

        return self._change_each("ALTER", "create_partitions", topics, create, timeout_s)

    def delete_topics(self, names: Iterable[str], *, timeout_s: float = TIMEOUT_S) -> Results[str, None]:
        """Delete topics. A future is done when the deletion is committed; it then completes under any controller. The
        topic is gone when every broker that may hold its logs has deleted them. Repeating the request is harmless.
        Errors per topic: TopicDeletionDisabled, UnknownTopicOrPartition, StorageError if its key cannot be read."""
        wanted = dict.fromkeys(as_names(names))
        return self._change_each(
            "DELETE", "delete_topics", wanted, lambda now_ms, name, _: DeleteTopic(now_ms, name), timeout_s
        )

    def delete_partitions(
        self, topics: Mapping[str, DeletePartitions], *, timeout_s: float = TIMEOUT_S
    ) -> Results[str, dict[int, int]]:
        """Reduce the number of partitions of topics, removing the last ones (KIP-694). The future of a topic covers all
        its partitions: all are accepted or none. It is done when the reduction is committed, and gives the status code
        by partition: 1 (offline), or -1 (read-only until its retention is over). A repeated request has the same
        answer; with `immediate_delete`, a read-only partition goes offline.

        Errors per topic: TopicDeletionDisabled, UnknownTopicOrPartition, InvalidRequest (an internal topic),
        InvalidPartitions, ReassignmentInProgress while one of the partitions moves, StorageError if a key cannot be
        read.
        """
        require_topics(topics, DeletePartitions)

        def delete(now_ms: int, name: str, wanted: DeletePartitions) -> Event:
            return events.DeletePartitions(now_ms, name, wanted.total_count, wanted.partitions, wanted.immediate_delete)

        return self._change_each("ALTER", "delete_partitions", topics, delete, timeout_s)

    # --- brokers

    def forget_broker(self, broker_id: int, *, timeout_s: float = TIMEOUT_S) -> Future[None]:
        """Give up a broker that will never return: drop its delete intents and its recorded epoch. The broker may be
        unknown. The future is done when everything is dropped, and the partitions of topics under deletion are stopped.
        After an error, repeat the request: what was dropped so far stays dropped.

        InvalidRequest if the broker is registered, or is a replica or target of a partition whose topic is not being
        deleted (the message names some).
        """
        event = ForgetBroker(self._submitter.now_ms(), as_broker(broker_id))
        return self._whole(
            "ALTER",
            lambda: self._submitter.ask(event, as_timeout(timeout_s), "forget_broker", self._id_source.nonce()),
        )

    # --- leaders

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | All | None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> Future[dict[TopicPartition, ApiError | None]]:
        """Elect preferred leaders, or unclean leaders for partitions without a leader. The result has None for each
        elected partition, or its error: ElectionNotNeeded, PreferredLeaderNotAvailable, EligibleLeadersNotAvailable,
        UnknownTopicOrPartition, InvalidTopic (being deleted), StorageError (its key cannot be read). With ALL (or None,
        as in Kafka) the result leaves out partitions that need no election."""
        require(election_type, ElectionType, "election_type")
        wanted = None if partitions is ALL or partitions is None else as_partitions(partitions)
        now_ms, unclean = self._submitter.now_ms(), election_type is ElectionType.UNCLEAN

        def elect(view: ClusterView) -> dict[TopicPartition, Event]:
            all_names = (name for name in view.topic_names() if not view.is_deleting(name))
            named = (
                wanted
                if wanted is not None
                else [p.tp for n in all_names for p in view.partitions_of(n) if not is_gone_to_requests(view, p)]
            )
            return {tp: ElectLeader(now_ms, tp.topic, tp.partition, unclean) for tp in named}

        leave_out = (ElectionNotNeeded,) if wanted is None else ()
        return self._change_all("ALTER", "elect_leaders", elect, timeout_s, leave_out)


_START_MAX: Final = 1 << 20  # a random start is taken modulo the number of brokers
