"""Internal names in words for people: the events of the journal, and what a gateway counts.

Tests hold both tables against the code: a name that is added there needs its words here.
"""

from __future__ import annotations

from typing import Final

EVENTS: Final = {
    "BadKey": "Key in the store unreadable, or readable again",
    "BrokerForgotten": "Broker removed for good",
    "BrokerLeft": "Broker left",
    "BrokerRegistered": "Broker registered",
    "ConfigChanged": "Config changed",
    "Conflict": "Commit repeated after a conflict",
    "DeleteIntended": "Replica deletion requested",
    "ForeignChange": "Changed by another program",
    "Gap": "Journal lines lost",
    "IntentDropped": "Replica deletion no longer needed",
    "IsrChanged": "In-sync replicas changed",
    "IsrShrunk": "Former replicas left the in-sync replicas",
    "KeysRewritten": "Keys in the store rewritten",
    "LeaderElected": "Leader elected",
    "LegacyEntryRemoved": "Entry of /admin/reassign_partitions removed",
    "LegacyKeyRemoved": "Key /admin/reassign_partitions removed",
    "LegacySubmitted": "Reassignments in /admin/reassign_partitions",
    "PartitionPurged": "Partition removed",
    "PartitionsAdded": "Partitions added",
    "ReplicaDeleted": "Replica deleted",
    "ReplicasChanged": "Replica list replaced",
    "ReplicasGrown": "Replica list extended by targets in sync",
    "Resigned": "Controller gave up the leadership",
    "StatusChanged": "Partition became read-only or offline",
    "Takeover": "Controller became active",
    "TargetCleared": "Reassignment ended",
    "TargetReplaced": "Reassignment got other targets",
    "TargetSet": "Reassignment started",
    "ThrottleRemoved": "Throttle removed",
    "ThrottleRestored": "Throttle restored",
    "ThrottleSet": "Throttle set",
    "TopicCreated": "Topic created",
    "TopicDeleted": "Topic deleted",
    "TopicDeletionStarted": "Topic deletion started",
}

COUNTS: Final = {
    "dropped_by_order": "connections that a test ordered to drop",
    "displaced": "connections closed to make room for new ones",
    "failed": "connections closed after an internal error, which the log shows",
    "forward_lost": "requests whose answer from the active controller was lost",
    "forward_refused": "requests that the active controller's process refused",
    "forwarded": "requests passed on to the active controller",
    "garbage": "connections closed because a frame was no Kafka request",
    "hung_up": "clients that closed the connection before their answer",
    "idle": "connections closed because they were idle for too long",
    "login_refused": "logins refused",
    "login_over": "logins of removed or changed users, or not renewed",
    "lost": "connections lost to network errors",
    "not_logged_in": "connections closed because a request came before the login",
    "refused": "connections closed",
    "relayed": "requests passed on to this process by others",
    "slow_frame": "connections closed because a request took too long to arrive",
    "slow_login": "connections closed because the login took too long",
    "tls_failed": "connections without a valid TLS handshake",
    "too_large": "connections closed because a request was too large",
    "too_many": "connections refused because too many were open",
    "too_many_from_one": "connections refused because one address had too many",
    "unanswered": "requests that the controller could not answer",
    "unknown_api": "connections closed because of an unsupported API or version",
}


def event_in_words(event: str) -> str:
    return EVENTS.get(event, event)


def count_in_words(kind: str) -> str:
    return COUNTS.get(kind, kind)
