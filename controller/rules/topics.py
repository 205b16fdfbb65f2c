"""Topics are created and expanded. The first Decision writes the topic's keys (config, topic); each partition then gets
its state key in a Decision of its own. After a crash in between, the next controller completes the topic.

Messages are Kafka's where it has such an error: its tools print them unchanged, and users know them.
"""

from __future__ import annotations

import re
from typing import Final

from ..model.errors import (
    NOT_HOSTED,
    ApiError,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    ReassignmentInProgress,
    StorageError,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from ..model.events import CreatePartitions, CreateTopic, Decision, PartitionDue, refuse
from ..model.plural import counted
from ..model.requests import CreatedTopic
from ..model.values import Replicas, Topic
from ..model.view import ClusterView
from ..records import PartitionsAdded, TopicCreated
from .configs import check_topic_configs, topic_configs_as_stored
from .placement import assign_replicas, continue_rotation
from .reassignment import check_replicas

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_NAME_MAX: Final = 249
VALUE_BYTES_MAX: Final = 950_000  # for any key, since ZooKeeper takes 1 MB; a topic's key holds all its partitions


def check_name(view: ClusterView, name: str) -> ApiError | None:
    """Why a topic cannot get this name; None if it can."""
    if problem := misspelt(name):
        return InvalidTopic(f"Topic name is invalid: {problem}")
    if problem := view.unreadable(name):
        return StorageError(problem)
    if view.is_deleting(name):
        return TopicAlreadyExists(f"Topic '{name}' is marked for deletion.")
    if view.topic(name) is not None:
        return TopicAlreadyExists(f"Topic '{name}' already exists.")
    if other := view.colliding_topic(name):
        return InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")
    return None


def misspelt(name: str) -> str | None:
    """Why no topic can have this name, by its spelling; None if one can."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > _NAME_MAX:
        return f"the length of '{name:.300}' is longer than the max allowed length {_NAME_MAX}"
    if _NAME.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def create_topic(view: ClusterView, event: CreateTopic) -> Decision:
    """Reply: a CreatedTopic, also for `validate_only`, which changes nothing; or the error."""
    if error := check_name(view, event.name):
        return refuse(error)
    assignments = _assign_new(view, event)
    if isinstance(assignments, ApiError):
        return refuse(assignments)
    if problem := check_topic_configs(event.configs):
        return refuse(InvalidConfig(problem))
    if error := _check_size(event.name, assignments):
        return refuse(error)
    if event.policy_message is not None:
        return refuse(PolicyViolation(event.policy_message))
    described = CreatedTopic(event.name, event.topic_id, assignments)
    if event.validate_only:
        return Decision(reply=described)
    configs = topic_configs_as_stored(event.configs)
    created = TopicCreated(Topic(event.name, event.topic_id), assignments, configs)
    return Decision((created,), described, _due(event.now_ms, event.name, 0, len(assignments)))


def _due(now_ms: int, topic: str, first: int, count: int) -> tuple[PartitionDue, ...]:
    return tuple(PartitionDue(now_ms, topic, first + i) for i in range(count))


def _check_size(name: str, assignments: tuple[Replicas, ...], retired: int = 0) -> ApiError | None:
    """`retired`: the number of retired epochs in the key."""
    size_max = 400 + 24 * retired + sum(12 + 11 * len(replicas) for replicas in assignments)
    if size_max <= VALUE_BYTES_MAX:
        return None
    return InvalidPartitions(
        f"topic {name}: {counted(len(assignments), 'partition')} may take {size_max} bytes in the topic's key, "
        f"which holds at most {VALUE_BYTES_MAX}"
    )


def _assign_new(view: ClusterView, event: CreateTopic) -> tuple[Replicas, ...] | ApiError:
    if event.assignments is not None:
        for name, count in ("replication factor", event.replication_factor), ("numPartitions", event.num_partitions):
            if count != -1:
                return InvalidRequest(f"A manual partition assignment was specified, but {name} was not set to -1.")
        return _check_assignments(view, event.assignments, None) or event.assignments
    settings = view.settings
    partitions = settings.num_partitions if event.num_partitions == -1 else event.num_partitions
    factor = settings.default_replication_factor if event.replication_factor == -1 else event.replication_factor
    if error := _check_counts(view, event.name, partitions, factor):
        return error
    return assign_replicas(_racks(view), partitions, factor, start=event.start, shift=event.shift)


def _racks(view: ClusterView) -> dict[int, str | None]:
    """The brokers that replicas may be placed on, with their racks."""
    return {b.broker_id: b.rack for b in view.brokers.values() if b.broker_id not in view.shutting_down}


def _check_counts(view: ClusterView, name: str, partitions: int, factor: int) -> ApiError | None:
    if partitions < 1:
        return InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    if factor < 1:
        return InvalidReplicationFactor("Replication factor must be larger than 0, or -1 to use the default value.")
    alive = len(view.brokers) - len(view.shutting_down)
    if factor > alive:
        return InvalidReplicationFactor(
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be "
            f"reached because only {alive} broker(s) are registered."
        )
    if partitions * (12 + 11 * factor) > VALUE_BYTES_MAX:  # checked before anything of this size is built
        return InvalidPartitions(f"topic {name}: {partitions} partitions do not fit into the topic's key")
    return None


def _check_assignments(view: ClusterView, assignments: tuple[Replicas, ...], factor: int | None) -> ApiError | None:
    if not assignments:
        return InvalidReplicaAssignment("The manual partition assignment names no partition.")
    size = len(assignments[0]) if factor is None else factor
    for replicas in assignments:
        if reasons := check_replicas(view, replicas):
            return InvalidReplicaAssignment(reasons)
        if len(replicas) != size:
            return InvalidReplicaAssignment(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is "
                f"not consistent with previous partitions, which have {size} replica(s)."
            )
    return None


def create_partitions(view: ClusterView, event: CreatePartitions) -> Decision:
    """Reply: a CreatedTopic of the topic with all its partitions, or the error."""
    topic = view.topic(event.topic)
    if problem := view.unreadable(event.topic):
        return refuse(StorageError(problem))
    if topic is None:
        return refuse(UnknownTopicOrPartition(NOT_HOSTED))
    if view.is_deleting(event.topic):
        return refuse(UnknownTopicOrPartition(f"topic {event.topic} is being deleted"))
    partitions = tuple(view.partitions_of(event.topic))
    broken = filter(None, (view.unreadable(event.topic, p.partition) for p in partitions))
    if problem := next(broken, None):  # it may move, or be removed
        return refuse(StorageError(problem))
    going = {*view.reduction(event.topic), *(p.partition for p in partitions if p.status_code)}
    if going:
        named = f"topic {event.topic}: partitions {sorted(going)[:20]}"
        return refuse(InvalidPartitions(f"{named} are being removed; none can be added until they are gone"))
    if any(p.move is not None for p in partitions):
        return refuse(ReassignmentInProgress(f"topic {event.topic}: a partition of it is being reassigned"))
    present = tuple(p.replicas for p in partitions)
    added = _assign_added(view, event, topic, present)
    if isinstance(added, ApiError):
        return refuse(added)
    described = CreatedTopic(event.topic, topic.topic_id, present + added)
    if event.validate_only:
        return Decision(reply=described)
    due = _due(event.now_ms, event.topic, len(present), len(added))
    return Decision((PartitionsAdded(topic, len(present), added),), described, due)


def _assign_added(
    view: ClusterView, event: CreatePartitions, topic: Topic, present: tuple[Replicas, ...]
) -> tuple[Replicas, ...] | ApiError:
    count = event.total_count - len(present)
    if count == 0:
        return InvalidPartitions(f"Topic already has {len(present)} partition(s).")
    if count < 0:
        return InvalidPartitions(
            f"The topic {event.topic} currently has {len(present)} partition(s); {event.total_count} would not be an "
            "increase."
        )
    factor, retired = len(present[0]), len(topic.retired_epochs)
    if event.assignments is not None:
        if len(event.assignments) != count:
            return InvalidReplicaAssignment(
                f"Attempted to add {count} additional partition(s), but only {len(event.assignments)} assignment(s) "
                "were specified."
            )
        error = _check_assignments(view, event.assignments, factor)
        return error or _check_size(event.topic, present + event.assignments, retired) or event.assignments
    if error := _check_counts(view, event.topic, event.total_count, factor):
        return error
    racks = _racks(view)
    start = continue_rotation(racks, present[0][0])
    added = assign_replicas(racks, count, factor, start=start, shift=start, first_partition=len(present))
    return _check_size(event.topic, present + added, retired) or added
