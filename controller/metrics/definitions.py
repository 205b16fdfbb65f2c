"""The table of all metrics. Tests compare `docs/metrics.md` and the exposition for Prometheus with it.

Names are Kafka's MBeans where Kafka has the metric (`kafka.controller`, `kafka.server`), so that dashboards and alerts
still work; others are below `kedge.controller`. Kafka's gauges of one broker have no tag, since each broker reports its
own. Here one controller reports them for all brokers, so `broker-id` names the broker, and the name without a tag has
the sum.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import attrs

Kind: TypeAlias = Literal["gauge", "counter", "histogram", "meter"]


@attrs.frozen
class Metric:
    """`mbean`: Kafka's name, without the tag. `tag`: the name of its tag, None without one."""

    mbean: str
    kind: Kind
    unit: str
    meaning: str
    tag: str | None = None

    def key(self, tag_value: object = None) -> str:
        """The name in a snapshot."""
        return self.mbean if self.tag is None else f"{self.mbean},{self.tag}={tag_value}"

    @property
    def prometheus_name(self) -> str:
        """The name as exporters of Kafka's MBeans write it: lower case, joined by underscores; a counter of bytes
        without "per second". Values by broker are a family of their own, since the sum over one family would count all
        twice."""
        domain, _, properties = self.mbean.partition(":")
        words = [domain, *(part.partition("=")[2] for part in properties.split(","))]
        name = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower())
        name = name.removesuffix("persec") if self.kind == "meter" else name
        return f"{name}_by_broker" if self.mbean in _SUMMED and self.tag is not None else name


_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_EVENTS: Final = "kafka.controller:type=ControllerEventManager,name="
_REPLICAS: Final = "kafka.server:type=ReplicaManager,name="
_COMMITS: Final = "kedge.controller:type=Commits,name="
_JOURNAL: Final = "kedge.controller:type=Journal,name="
_HOST: Final = "kedge.controller:type=HostCalls,name="
_GATEWAY: Final = "kedge.wire:type=Gateway,name="
_BYTES: Final = "kafka.server:type=BrokerTopicMetrics,name="
_RATE: Final = "name=byte-rate"
BROKER: Final = "broker-id"

_ROWS: Final[list[Metric]] = []


def _row(mbean: str, kind: Kind, unit: str, meaning: str, tag: str | None = None) -> Metric:
    _ROWS.append(Metric(mbean, kind, unit, meaning, tag))
    return _ROWS[-1]


# --- of a controller
# fmt: off

ACTIVE: Final = _row(f"{_CONTROLLER}ActiveControllerCount", "gauge", "controllers", "1 on the active controller, "
                                                                                    "else 0")
BROKERS: Final = _row(f"{_CONTROLLER}ActiveBrokerCount", "gauge", "brokers", "brokers that are registered and admitted")
TOPICS: Final = _row(f"{_CONTROLLER}GlobalTopicCount", "gauge", "topics", "topics, including those that are being "
                                                                          "deleted")
PARTITIONS: Final = _row(f"{_CONTROLLER}GlobalPartitionCount", "gauge", "partitions", "partitions of all topics")
OFFLINE: Final = _row(f"{_CONTROLLER}OfflinePartitionsCount", "gauge", "partitions",
    "partitions without a leader, except those that are being deleted or that a reduction took offline")
IMBALANCED: Final = _row(f"{_CONTROLLER}PreferredReplicaImbalanceCount", "gauge", "partitions",
    "partitions whose leader is not their first replica")
IMBALANCED_OF: Final = _row(IMBALANCED.mbean, "gauge", "partitions",
    "those of them that this broker should lead", BROKER)
TO_DELETE: Final = _row(f"{_CONTROLLER}TopicsToDeleteCount", "gauge", "topics",
    "topics whose deletion is accepted and not complete")
REPLICAS_TO_DELETE: Final = _row(f"{_CONTROLLER}ReplicasToDeleteCount", "gauge", "replicas",
    "replicas whose deletion their broker has not acknowledged (open intents), including those of moves")
REASSIGNING: Final = _row(f"{_REPLICAS}ReassigningPartitions", "gauge", "partitions",
    "moving partitions that have a leader (KIP-542)")
REASSIGNING_OF: Final = _row(REASSIGNING.mbean, "gauge", "partitions", "those of them that this broker leads", BROKER)
UNDER_REPLICATED: Final = _row(f"{_REPLICAS}UnderReplicatedPartitions", "gauge", "partitions",
    "partitions with a leader whose ISR lacks a replica, not counting replicas that are being added (KIP-352)")
UNDER_REPLICATED_OF: Final = _row(UNDER_REPLICATED.mbean, "gauge", "partitions",
    "those of them that this broker leads", BROKER)
QUEUE_SIZE: Final = _row(f"{_EVENTS}EventQueueSize", "gauge", "events",
    "waiting requests, hints and events, including delayed ones")
QUEUE_TIME: Final = _row(f"{_EVENTS}EventQueueTimeMs", "histogram", "milliseconds",
    "how long events of this kind waited for their decision; counted again if they were decided again", "event")
PROCESSING_TIME: Final = _row(f"{_EVENTS}EventQueueProcessingTimeMs", "histogram", "milliseconds",
    "how long it took to decide and apply them", "event")
COMMIT_OPS: Final = _row(f"{_COMMITS}Ops", "histogram", "keys",
    "keys in an applied commit, without the two of its fence")
COMMIT_BYTES: Final = _row(f"{_COMMITS}Bytes", "histogram", "bytes", "bytes of the values in it")
COMMIT_TIME: Final = _row(f"{_COMMITS}TimeMs", "histogram", "milliseconds",
    "from sending it until it was known to be applied")
CONFLICTS: Final = _row(f"{_COMMITS}Conflicts", "counter", "commits",
    "commits that were undone because another program wrote a key")
JOURNAL_LINES: Final = _row(f"{_JOURNAL}Lines", "counter", "lines", "lines that the sink has written")
JOURNAL_FAILED: Final = _row(f"{_JOURNAL}CommitsLost", "counter", "commits",
    "commits whose lines the sink could not write (a full disk)")
JOURNAL_ROWS_LOST: Final = _row(f"{_JOURNAL}RowsLost", "counter", "lines", "the lines of these commits")
JOURNAL_STOPPED: Final = _row(f"{_JOURNAL}Stopped", "gauge", "journals",
    "1 while the sink cannot write, else 0; `describe()` says why")
ROUND_TIME: Final = _row(f"{_HOST}RoundTimeMs", "histogram", "milliseconds",
    "from giving a round of callbacks for this broker to the host until its answers were processed", BROKER)
ROUNDS_FAILED: Final = _row(f"{_HOST}RoundsFailed", "counter", "rounds",
    "rounds for this broker that were not delivered", BROKER)

OF_CONTROLLER: Final = tuple(_ROWS)

# --- of a broker: what copies feed its meters

REASSIGNMENT_IN: Final = _row(f"{_BYTES}ReassignmentBytesInPerSec", "meter", "bytes, bytes per second",
    "bytes that this broker copied as a replica that is being added (KIP-542)", BROKER)
REASSIGNMENT_OUT: Final = _row(f"{_BYTES}ReassignmentBytesOutPerSec", "meter", "bytes, bytes per second",
    "bytes that it sent, as leader, to replicas that are being added (KIP-542)", BROKER)
LEADER_REPLICATION: Final = _row(f"kafka.server:type=LeaderReplication,{_RATE}", "gauge", "bytes per second",
    "bytes sent under `leader.replication.throttled.rate`", BROKER)
FOLLOWER_REPLICATION: Final = _row(f"kafka.server:type=FollowerReplication,{_RATE}", "gauge", "bytes per second",
    "bytes copied under `follower.replication.throttled.rate`", BROKER)
LEADER_REASSIGNMENT: Final = _row(f"kafka.server:type=LeaderReassignment,{_RATE}", "gauge", "bytes per second",
    "bytes sent under `leader.reassignment.throttled.rate`", BROKER)
FOLLOWER_REASSIGNMENT: Final = _row(f"kafka.server:type=FollowerReassignment,{_RATE}", "gauge", "bytes per second",
    "bytes copied under `follower.reassignment.throttled.rate`", BROKER)

OF_BROKERS: Final = tuple(_ROWS[len(OF_CONTROLLER) :])

# --- of a gateway: what it counts

GATEWAY_CONNECTIONS: Final = _row(f"{_GATEWAY}Connections", "counter", "connections",
    "connections that clients opened; with TLS, those whose handshake succeeded")
GATEWAY_REQUESTS: Final = _row(f"{_GATEWAY}Requests", "counter", "requests",
    "requests of this API that this gateway began to serve", "request")
GATEWAY_EVENTS: Final = _row(f"{_GATEWAY}Events", "counter", "events",
    "closed connections by reason (`login_refused`, `garbage`), and forwarded requests",
    "kind")

# fmt: on
ALL: Final = tuple(_ROWS)
_SUMMED: Final = {m.mbean for m in ALL if m.tag is None} & {m.mbean for m in ALL if m.tag is not None}
