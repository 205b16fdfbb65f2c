"""Errors of the API: Kafka's numbers, one exception class per number.

A rule answers with an `ApiError` value, it does not raise it; the runtime puts it into the future of the caller. Errors
carry their code and a message that says what, which key, what was expected and what was got.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final


class ErrorCode(enum.IntEnum):
    """Kafka's error numbers, as far as this library answers with them."""

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
    """Private: KIP-179 gives no number, and Kafka has none."""


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
"""Those that Kafka's clients ask again after, by themselves."""


class ControllerError(Exception):
    """Root of what `controller` raises."""


class ApiError(ControllerError):
    """An error with a number of Kafka's: `code` and the message."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later: as Kafka's clients take the number. What became of a request
        that timed out is not known: it may have been done."""
        return self.code in RETRIABLE

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code.value}: {self.message})"


NOT_HOSTED: Final = "This server does not host this topic-partition."
"""Kafka's words for a topic or a partition that there is not."""


class UnknownTopicOrPartition(ApiError, LookupError):
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class LeaderNotAvailable(ApiError):
    code = ErrorCode.LEADER_NOT_AVAILABLE


class RequestTimedOut(ApiError, TimeoutError):
    code = ErrorCode.REQUEST_TIMED_OUT


class ReplicaNotAvailable(ApiError, LookupError):
    """The broker has no replica of the partition, or its host reported no log of it to this controller."""

    code = ErrorCode.REPLICA_NOT_AVAILABLE


class InvalidTopic(ApiError, ValueError):
    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class UnknownMemberId(ApiError, LookupError):
    """There is no such broker in the cluster."""

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
    """The controller that was asked is not active. `active_id` names the one that is, None where none is known."""

    code = ErrorCode.NOT_CONTROLLER

    def __init__(self, message: str, active_id: int | None = None) -> None:
        super().__init__(message)
        self.active_id = active_id


class InvalidRequest(ApiError, ValueError):
    code = ErrorCode.INVALID_REQUEST


class PolicyViolation(ApiError):
    code = ErrorCode.POLICY_VIOLATION


class StorageError(ApiError, OSError):
    """What is needed cannot be read: the broker's disk, or a key of the store that holds broken content."""

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
