"""What holds of every state of a group, and when two states are the same."""

from __future__ import annotations

from typing import Any

from tests.groups.consumer.driving import Consumers


def sound(driven: Consumers) -> None:
    """The tables of the group agree with its members, and no partition has two owners."""
    coordinator = driven.coordinator
    assert coordinator.held.bytes == sum(group.held_bytes for group in coordinator.groups.values())
    group = coordinator.groups.get("g")
    if group is None or group.consumer is None:
        return
    consumer = group.consumer
    assert not group.members
    owned = [(tp, member_id) for member_id, member in consumer.members.items() for tp in member.current.owned]
    assert dict(owned) == consumer.owners
    assert len(owned) == len(consumer.owners)
    assert consumer.target_epoch <= consumer.epoch
    static = {m.said.instance_id: i for i, m in consumer.members.items() if m.said.instance_id is not None}
    assert static == consumer.static
    targets = [tp for member in consumer.members.values() for tp in member.target]
    assert len(targets) == len(set(targets))


def same(driven: Consumers, other: Consumers) -> None:
    """Both hold the same group, but for deadlines and the order of members."""
    assert _state(driven) == _state(other)


def _state(driven: Consumers) -> Any:
    group = driven.coordinator.groups.get("g")
    if group is None:
        return None
    offsets = {tp: at.committed for tp, at in group.offsets.items()}
    if group.consumer is None:
        stored = group.record().stored
        assert stored is not None
        members = {member.member_id: member for member in stored.members}
        if not members and not offsets:
            return None  # an empty group, whose deletion from the log nothing waits for
        return offsets, stored.generation, stored.protocol, members
    consumer = group.consumer
    consumers = {i: (m.said, m.target, m.current) for i, m in consumer.members.items()}
    epochs = (consumer.epoch, consumer.target_epoch, consumer.metadata_hash)
    return offsets, epochs, consumers, consumer.regexes, consumer.subscribed
