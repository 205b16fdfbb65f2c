"""The golden bytes of records in `__consumer_offsets`, as Kafka's own classes write them into `golden/records.txt`.

`python -m tests.wire.golden_records` makes the file again (as `tests.wire.golden_bytes`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from kedge import TopicPartition
from kedge.controller.groups.consumer.values import (
    ClassicProtocols,
    ConsumerRecord,
    Current,
    GroupEpoch,
    Kind,
    MemberState,
    Partitions,
    Subscriber,
    Target,
    TargetEpoch,
)
from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord, Record, StoredGroup, StoredMember
from tests.kafka_jars import VERSION
from tests.wire.golden_bytes import FOLDER, kafka

FILE: Final = FOLDER / "records.txt"
_HEADER: Final = f"""\
# Name of a record, key and value as hex, each with its version before it: as classes of Kafka {VERSION} write them.
# Made by `python -m tests.wire.golden_records`.
"""
_MEMBERS: Final = (
    StoredMember("m-1", None, "client", "/10.0.0.1", 60_000, 10_000, b"\0\1", b"\2"),
    StoredMember("m-2", "instance", "client", "/10.0.0.2", 300_000, 45_000, b"", b""),
)
_NAMES: Final = {
    Kind.GROUP: "ConsumerGroupMetadata",
    Kind.MEMBER: "ConsumerGroupMemberMetadata",
    Kind.TARGET_EPOCH: "ConsumerGroupTargetAssignmentMetadata",
    Kind.TARGET: "ConsumerGroupTargetAssignmentMember",
    Kind.CURRENT: "ConsumerGroupCurrentMemberAssignment",
}
_ID: Final = "AAAAAAAAAAAAAAAAAAAAKg"
_PARTITIONS: Final = frozenset({(_ID, 0), (_ID, 3)})
_REVOKING: Final = frozenset({(_ID, 5)})
_TOPICS: Final = frozenset({"orders", "payments"})
_SAID: Final[dict[str, Any]] = {
    "instance_id": "instance",
    "rack": "a",
    "rebalance_timeout_ms": 5_000,
    "assignor": "range",
}
_CLASSIC: Final = ClassicProtocols(6_000, (("range", b"\0\1"),))
RECORDS: Final[dict[str, Record]] = {
    "offset": OffsetRecord("group", TopicPartition("orders", 7), Committed(1 << 40, 3, "metadata", 1_700_000_000_000)),
    "bare-offset": OffsetRecord("g\u00fc", TopicPartition("orders", 0), Committed(0)),
    "deleted-offset": OffsetRecord("group", TopicPartition("orders", 7), None),
    "stable-group": GroupRecord("group", StoredGroup("consumer", 5, "range", "m-1", 1_700_000_000_000, _MEMBERS)),
    "empty-group": GroupRecord("group", StoredGroup("consumer", 6, None, None, -1)),
    "deleted-group": GroupRecord("group", None),
    "group-epoch": ConsumerRecord("group", Kind.GROUP, "", GroupEpoch(7)),
    "member": ConsumerRecord("group", Kind.MEMBER, "m-1", Subscriber("client", "/10.0.0.1", _TOPICS, "ord.*", **_SAID)),
    "classic-member": ConsumerRecord("group", Kind.MEMBER, "m-2", Subscriber("client", "/10.0.0.2", classic=_CLASSIC)),
    "deleted-member": ConsumerRecord("group", Kind.MEMBER, "m-1"),
    "target-epoch": ConsumerRecord("group", Kind.TARGET_EPOCH, "", TargetEpoch(7)),
    "target": ConsumerRecord("group", Kind.TARGET, "m-1", Target(_PARTITIONS)),
    "current": ConsumerRecord("group", Kind.CURRENT, "m-1", Current(7, 6, MemberState(1), _PARTITIONS, _REVOKING)),
}
"""Those of the consumer protocol without what Kafka 3.9 does not have: hashes of topics, regular expressions."""


def golden() -> Iterator[tuple[str, bytes, bytes | None]]:
    """Name, key and value of each row."""
    for row in FILE.read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            name, key, value = row.split(" ")
            yield name, bytes.fromhex(key), None if value == "null" else bytes.fromhex(value)


def text() -> str:
    """What the file should say. Raises NoServer without a JDK."""
    parts = [part for record in RECORDS.values() for part in _parts(record)]
    answers = iter(kafka([f"write {name} {version} {json.dumps(values)}" for name, version, values in parts if values]))
    written = iter([f"{version:04x}{next(answers)}" if values else "null" for _, version, values in parts])
    return _HEADER + "".join(f"{name} {next(written)} {next(written)}\n" for name in RECORDS)


def _parts(record: Record) -> tuple[tuple[str, int, dict[str, Any] | None], ...]:
    """Name, version and fields of the key and of the value, in the JSON of Kafka's converters."""
    if isinstance(record, OffsetRecord):
        tp, found = record.tp, record.committed
        key = {"group": record.group, "topic": tp.topic, "partition": tp.partition}
        value = found and {
            "offset": found.offset,
            "leaderEpoch": found.leader_epoch,
            "metadata": found.metadata,
            "commitTimestamp": found.commit_ms,
        }
        return ("OffsetCommitKey", 1, key), ("OffsetCommitValue", 3, value or None)
    if isinstance(record, ConsumerRecord):
        return _consumer(record)
    return ("GroupMetadataKey", 2, {"group": record.group}), ("GroupMetadataValue", 3, _group(record.stored))


def _consumer(record: ConsumerRecord) -> tuple[tuple[str, int, dict[str, Any] | None], ...]:
    key = {"groupId": record.group} | ({"memberId": record.name} if record.name else {})
    name = _NAMES[record.kind]
    return (f"{name}Key", int(record.kind), key), (f"{name}Value", 0, _value(record.value))


def _value(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, Subscriber):
        return _subscriber(value)
    if isinstance(value, Target):
        return {"topicPartitions": _partitions(value.partitions)}
    if isinstance(value, Current):
        return {
            "memberEpoch": value.epoch,
            "previousMemberEpoch": value.previous_epoch,
            "state": int(value.state),
            "assignedPartitions": _partitions(value.assigned),
            "partitionsPendingRevocation": _partitions(value.revoking),
        }
    return {"epoch" if isinstance(value, GroupEpoch) else "assignmentEpoch": value.epoch}


def _partitions(partitions: Partitions) -> list[dict[str, Any]]:
    return [{"topicId": _ID, "partitions": sorted(number for _, number in partitions)}]


def _subscriber(said: Subscriber) -> dict[str, Any]:
    classic = said.classic and {
        "sessionTimeoutMs": said.classic.session_timeout_ms,
        "supportedProtocols": [
            {"name": name, "metadata": base64.b64encode(metadata).decode()} for name, metadata in said.classic.protocols
        ],
    }
    return {
        "instanceId": said.instance_id,
        "rackId": said.rack,
        "clientId": said.client_id,
        "clientHost": said.client_host,
        "subscribedTopicNames": sorted(said.topics),
        "subscribedTopicRegex": said.regex or None,
        "rebalanceTimeoutMs": said.rebalance_timeout_ms,
        "serverAssignor": said.assignor,
        **({"classicMemberMetadata": classic} if classic else {}),
    }


def _group(stored: StoredGroup | None) -> dict[str, Any] | None:
    if stored is None:
        return None
    return {
        "protocolType": stored.protocol_type,
        "generation": stored.generation,
        "protocol": stored.protocol,
        "leader": stored.leader,
        "currentStateTimestamp": stored.state_ms,
        "members": [_member(member) for member in stored.members],
    }


def _member(member: StoredMember) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "groupInstanceId": member.instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "rebalanceTimeout": member.rebalance_timeout_ms,
        "sessionTimeout": member.session_timeout_ms,
        "subscription": base64.b64encode(member.subscription).decode(),
        "assignment": base64.b64encode(member.assignment).decode(),
    }


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
