"""Errors of the API: Kafka's error codes, one exception class per code.

A rule returns an `ApiError` as a value and does not raise it; the runtime makes it the exception of the caller's
future. The message says what went wrong with which key, what was expected and what was found.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final


class ErrorCode(enum.IntEnum):
    """Kafka's error codes that this library answers with."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    STALE_CONTROLLER_EPOCH = 11
    INVALID_TOPIC_EXCEPTION = 17
    UNKNOWN_MEMBER_ID = 25
    CLUSTER_AUTHORIZATION_FAILED = 31
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    KAFKA_STORAGE_ERROR = 56
    REASSIGNMENT_IN_PROGRESS = 60
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    STALE_BROKER_EPOCH = 77
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    INVALID_UPDATE_VERSION = 95
    INELIGIBLE_REPLICA = 107
    DUPLICATE_BROKER_REGISTRATION = 101
    INVALID_THROTTLE = 10_179
    """A private number: KIP-179 gives none, and Kafka has none."""


RETRIABLE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
    }
)
"""The codes after which Kafka's clients retry by themselves."""


class ControllerError(Exception):
    """Root of the errors that `controller` raises."""


class ApiError(ControllerError):
    """An error with one of Kafka's codes in `code`, and a message."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later, as Kafka's clients interpret the code. A request that timed out
        may have taken effect."""
        return self.code in RETRIABLE

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code.value}: {self.message})"


NOT_HOSTED: Final = "This server does not host this topic-partition."
"""Kafka's message for an unknown topic or partition."""


class UnknownTopicOrPartition(ApiError, LookupError):
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class LeaderNotAvailable(ApiError):
    code = ErrorCode.LEADER_NOT_AVAILABLE


class RequestTimedOut(ApiError, TimeoutError):
    code = ErrorCode.REQUEST_TIMED_OUT


class ReplicaNotAvailable(ApiError, LookupError):
    """The broker has no replica of the partition, or no host reported its log to this controller."""

    code = ErrorCode.REPLICA_NOT_AVAILABLE


class InvalidTopic(ApiError, ValueError):
    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class UnknownMemberId(ApiError, LookupError):
    """The cluster has no broker with this id."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class ClusterAuthorizationFailed(ApiError, PermissionError):
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class TopicAlreadyExists(ApiError):
    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitions(ApiError, ValueError):
    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactor(ApiError, ValueError):
    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignment(ApiError, ValueError):
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfig(ApiError, ValueError):
    code = ErrorCode.INVALID_CONFIG


class NotController(ApiError):
    """The controller that got the request is not active. `active_id`: the active one, None if none is known."""

    code = ErrorCode.NOT_CONTROLLER

    def __init__(self, message: str, active_id: int | None = None) -> None:
        super().__init__(message)
        self.active_id = active_id


class InvalidRequest(ApiError, ValueError):
    code = ErrorCode.INVALID_REQUEST


class PolicyViolation(ApiError):
    code = ErrorCode.POLICY_VIOLATION


class StorageError(ApiError, OSError):
    """The broker's disk failed, or a key of the store that the request needs cannot be read."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class ReassignmentInProgress(ApiError):
    code = ErrorCode.REASSIGNMENT_IN_PROGRESS


class TopicDeletionDisabled(ApiError):
    code = ErrorCode.TOPIC_DELETION_DISABLED


class FencedLeaderEpoch(ApiError):
    code = ErrorCode.FENCED_LEADER_EPOCH


class StaleBrokerEpoch(ApiError):
    code = ErrorCode.STALE_BROKER_EPOCH


class PreferredLeaderNotAvailable(ApiError):
    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class EligibleLeadersNotAvailable(ApiError):
    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


class ElectionNotNeeded(ApiError):
    code = ErrorCode.ELECTION_NOT_NEEDED


class NoReassignmentInProgress(ApiError):
    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class InvalidUpdateVersion(ApiError):
    code = ErrorCode.INVALID_UPDATE_VERSION


class IneligibleReplica(ApiError):
    code = ErrorCode.INELIGIBLE_REPLICA


class DuplicateBrokerRegistration(ApiError):
    code = ErrorCode.DUPLICATE_BROKER_REGISTRATION


class InvalidThrottle(ApiError, ValueError):
    code = ErrorCode.INVALID_THROTTLE
