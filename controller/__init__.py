"""Kedge: an embeddable controller for Kafka-style clusters, over a pluggable metadata store.

Names are offered lazily, so that `import controller.model` pulls in no runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from controller.admin import ALL, Admin, Results
    from controller.host import Controller, Description, WrongMode
    from controller.model.errors import (
        ApiError,
        ClusterAuthorizationFailed,
        ControllerError,
        DuplicateBrokerRegistration,
        ElectionNotNeeded,
        EligibleLeadersNotAvailable,
        ErrorCode,
        FencedLeaderEpoch,
        IneligibleReplica,
        InvalidConfig,
        InvalidPartitions,
        InvalidReplicaAssignment,
        InvalidReplicationFactor,
        InvalidRequest,
        InvalidTopic,
        InvalidUpdateVersion,
        LeaderNotAvailable,
        NoReassignmentInProgress,
        NotController,
        PolicyViolation,
        PreferredLeaderNotAvailable,
        ReassignmentInProgress,
        RequestTimedOut,
        StaleBrokerEpoch,
        StorageError,
        TopicAlreadyExists,
        TopicDeletionDisabled,
        UnknownTopicOrPartition,
    )
    from controller.model.host import Host, HostResponse
    from controller.model.requests import (
        AcceptedIsr,
        AlterReassignmentsOptions,
        ElectionType,
        NewPartitionReassignment,
        NewPartitions,
        NewTopic,
        PartitionReassignment,
        ReassignmentAnswer,
        TopicDescription,
    )
    from controller.model.values import NEW_BROKER_ID, BrokerRegistration, Endpoint, Settings, TopicPartition
    from controller.runtime.journal import CallableSink, FolderSink, Journal, MemorySink
    from controller.runtime.progress import LogReport
    from controller.runtime.replies import WouldDeadlock
    from controller.runtime.submit import Overloaded

_HOMES: Final = {
    "ALL": "controller.admin",
    "AcceptedIsr": "controller.model.requests",
    "Admin": "controller.admin",
    "AlterReassignmentsOptions": "controller.model.requests",
    "ApiError": "controller.model.errors",
    "BrokerRegistration": "controller.model.values",
    "CallableSink": "controller.runtime.journal",
    "ClusterAuthorizationFailed": "controller.model.errors",
    "Controller": "controller.host",
    "ControllerError": "controller.model.errors",
    "Description": "controller.host",
    "DuplicateBrokerRegistration": "controller.model.errors",
    "ElectionNotNeeded": "controller.model.errors",
    "ElectionType": "controller.model.requests",
    "EligibleLeadersNotAvailable": "controller.model.errors",
    "Endpoint": "controller.model.values",
    "ErrorCode": "controller.model.errors",
    "FencedLeaderEpoch": "controller.model.errors",
    "FolderSink": "controller.runtime.journal",
    "Host": "controller.model.host",
    "HostResponse": "controller.model.host",
    "IneligibleReplica": "controller.model.errors",
    "InvalidConfig": "controller.model.errors",
    "InvalidPartitions": "controller.model.errors",
    "InvalidReplicaAssignment": "controller.model.errors",
    "InvalidReplicationFactor": "controller.model.errors",
    "InvalidRequest": "controller.model.errors",
    "InvalidTopic": "controller.model.errors",
    "InvalidUpdateVersion": "controller.model.errors",
    "Journal": "controller.runtime.journal",
    "LeaderNotAvailable": "controller.model.errors",
    "LogReport": "controller.runtime.progress",
    "MemorySink": "controller.runtime.journal",
    "NEW_BROKER_ID": "controller.model.values",
    "NewPartitionReassignment": "controller.model.requests",
    "NewPartitions": "controller.model.requests",
    "NewTopic": "controller.model.requests",
    "NoReassignmentInProgress": "controller.model.errors",
    "NotController": "controller.model.errors",
    "Overloaded": "controller.runtime.submit",
    "PartitionReassignment": "controller.model.requests",
    "PolicyViolation": "controller.model.errors",
    "PreferredLeaderNotAvailable": "controller.model.errors",
    "ReassignmentAnswer": "controller.model.requests",
    "ReassignmentInProgress": "controller.model.errors",
    "RequestTimedOut": "controller.model.errors",
    "Results": "controller.admin",
    "Settings": "controller.model.values",
    "StaleBrokerEpoch": "controller.model.errors",
    "StorageError": "controller.model.errors",
    "TopicAlreadyExists": "controller.model.errors",
    "TopicDeletionDisabled": "controller.model.errors",
    "TopicDescription": "controller.model.requests",
    "TopicPartition": "controller.model.values",
    "UnknownTopicOrPartition": "controller.model.errors",
    "WouldDeadlock": "controller.runtime.replies",
    "WrongMode": "controller.host",
}

__all__ = [
    "ALL",
    "NEW_BROKER_ID",
    "AcceptedIsr",
    "Admin",
    "AlterReassignmentsOptions",
    "ApiError",
    "BrokerRegistration",
    "CallableSink",
    "ClusterAuthorizationFailed",
    "Controller",
    "ControllerError",
    "Description",
    "DuplicateBrokerRegistration",
    "ElectionNotNeeded",
    "ElectionType",
    "EligibleLeadersNotAvailable",
    "Endpoint",
    "ErrorCode",
    "FencedLeaderEpoch",
    "FolderSink",
    "Host",
    "HostResponse",
    "IneligibleReplica",
    "InvalidConfig",
    "InvalidPartitions",
    "InvalidReplicaAssignment",
    "InvalidReplicationFactor",
    "InvalidRequest",
    "InvalidTopic",
    "InvalidUpdateVersion",
    "Journal",
    "LeaderNotAvailable",
    "LogReport",
    "MemorySink",
    "NewPartitionReassignment",
    "NewPartitions",
    "NewTopic",
    "NoReassignmentInProgress",
    "NotController",
    "Overloaded",
    "PartitionReassignment",
    "PolicyViolation",
    "PreferredLeaderNotAvailable",
    "ReassignmentAnswer",
    "ReassignmentInProgress",
    "RequestTimedOut",
    "Results",
    "Settings",
    "StaleBrokerEpoch",
    "StorageError",
    "TopicAlreadyExists",
    "TopicDeletionDisabled",
    "TopicDescription",
    "TopicPartition",
    "UnknownTopicOrPartition",
    "WouldDeadlock",
    "WrongMode",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'controller' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
