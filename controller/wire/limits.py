"""What a gateway accepts from its clients before it closes their connections."""

from __future__ import annotations

from typing import Any, Final

import attrs

SHARES: Final = 4
"""How many clients can use all that they may at the same time."""
LARGE: Final = frozenset(
    {
        "Produce",
        "Fetch",
        "Metadata",
        "DescribeTopicPartitions",
        "ListOffsets",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "ElectLeaders",
        "CreateTopics",
        "CreatePartitions",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
        "DescribeLogDirs",
        "AlterPartition",
        "AlterClientQuotas",
        "AlterConfigs",
        "IncrementalAlterConfigs",
        "DescribeConfigs",
        "ReportLogs",
    }
)
"""The requests that clients send about all partitions, topics or configs of a cluster, and brokers about all of their
replicas."""


def _limit(default: int, least: int = 1) -> Any:
    def check(_: object, attribute: attrs.Attribute[int], value: object) -> None:
        if type(value) is not int or value < least:
            raise ValueError(f"{attribute.name} must be an int of at least {least}, not {value!r:.80}")

    return attrs.field(default=default, validator=check)


@attrs.frozen(kw_only=True)
class Limits:
    """`request_bytes`: of one frame, as Kafka's socket.request.max.bytes. `queued_bytes`: of all frames that are read
    and in work, as Kafka's queued.max.request.bytes. `elements`: of all lists of one request that may be about a
    whole cluster (`LARGE`); `elements_of_others`: of any other. One client (a user, or an
    address without users) may use a quarter of `queued_bytes` at a time, but at least `request_bytes`, and the elements
    of one largest request; all clients together four times that. `connections`: open ones, all addresses together;
    `connections_per_client`: of these, from one client address, as Kafka's max.connections.per.ip, without gateways
    that logged in. Beyond either, an older connection gives way, or the new one is closed
    (`kedge.controller.wire.admission`). `requests_in_flight`: in work, of one API, all connections together; more of
    them wait, except ApiVersions, logins and heartbeats of brokers. `log_requests_in_flight`: the same for APIs about
    records, which have their own limit. `answer_bytes`: of all large answers that are not taken yet; more of them wait.
    `idle_s`: a connection without a frame for so long is closed, and so is one that does not take its answer.
    `frame_s`: within so long a frame that was begun must be complete, once there is room for it (`idle_s` where that is
    less). `login_s`: within so long a client must log in, where it has to. `reauth_ms`: within so long a client has to
    log in again, as Kafka's connections.max.reauth.ms; 0: never. `refusal_ms`: the longest delay of the answer to a
    wrong login, which grows with each one from the same address. Raises ValueError for what is no positive int
    (`reauth_ms`: 0 or more).

    Clients can make a gateway use: `queued_bytes` twice, `request_bytes`, `answer_bytes` twice, and some 600 bytes for
    each of four times `elements`.
    """

    request_bytes: int = _limit(100 * 1024 * 1024)
    queued_bytes: int = _limit(512 * 1024 * 1024)
    elements: int = _limit(250_000)
    elements_of_others: int = _limit(20_000)
    answer_bytes: int = _limit(128 * 1024 * 1024)
    connections: int = _limit(1000)
    connections_per_client: int = _limit(800)
    requests_in_flight: int = _limit(500)
    log_requests_in_flight: int = _limit(10_000)
    idle_s: int = _limit(600)
    frame_s: int = _limit(60)
    login_s: int = _limit(10)
    reauth_ms: int = _limit(0, least=0)
    refusal_ms: int = _limit(5000)

    @property
    def queued_bytes_per_client(self) -> int:
        """Of the frames of one client."""
        return min(self.queued_bytes, max(self.queued_bytes // SHARES, self.request_bytes))
