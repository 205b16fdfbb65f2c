"""Where the brokers of a host and the store differ. Once nothing fails any more, they must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ...model.values import NO_LEADER, Partition
from ...simulated.replica import Role
from ..committed import CommittedTree
from .broker import HostedBroker, Place
from .records import Records
from .under_test import Ability

Brokers: TypeAlias = Mapping[int, HostedBroker]


def differences(
    brokers: Brokers, tree: CommittedTree, named: Iterable[tuple[Place, Partition]], records: Records
) -> list[str]:
    """One line for each; empty: all agree. `named`: the partitions of the tree, with their places."""
    found = [f"{name} is not deleted" for name in sorted(tree.deleting)]
    found += [f"to be deleted: {intent}" for intents in tree.intents.values() for intent in intents]
    partitions = list(named)
    expected = {place for place, _ in partitions}
    for place, p in partitions:
        if not is_beyond_repair(brokers, place, p):
            found += _of_partition(brokers, tree, place, p)
    for broker in brokers.values():
        left = [place for place in broker.names if place not in expected and broker.held(place) is not None]
        found += [f"broker {broker.broker_id} has {broker.names[place]} of a topic that is gone" for place in left]
    whole = [(place, p) for place, p in partitions if not is_beyond_repair(brokers, place, p)]
    return found or records.grouped(whole)


def is_beyond_repair(brokers: Brokers, place: Place, p: Partition) -> bool:
    """Whether no in-sync replica has a log: its disk failed, or it died before it heard of the new partition. Then only
    an unclean election could help."""
    isr = [brokers[b] for b in p.isr]
    lacks = [place in broker.lost or place not in broker.begun for broker in isr]
    return p.leader == NO_LEADER and all(lacks)


def _of_partition(brokers: Brokers, tree: CommittedTree, place: Place, p: Partition) -> Iterator[str]:
    if p.move is not None:
        yield f"{p.tp} moves to {list(p.move.target)}, in sync are {list(p.isr)}"
    if p.leader == NO_LEADER:
        yield f"{p.tp} has no leader; in sync are {list(p.isr)}"
    if set(p.isr) != set(p.replicas):
        yield f"{p.tp}: of the replicas {list(p.replicas)} only {list(p.isr)} are in sync"
    for broker in brokers.values():
        yield from _on_broker(broker, place, p)
        if Ability.METADATA in broker.host.abilities:
            yield from _known_on(broker, p, tree.partition_epochs[p.tp])


def _on_broker(broker: HostedBroker, place: Place, p: Partition) -> Iterator[str]:
    held = broker.held(place) if place in broker.names else None
    who = f"broker {broker.broker_id}"
    if broker.broker_id not in p.members:
        if held is not None:
            yield f"{who} has {p.tp}, of which it is no member: {held}"
        return
    role = Role.LEADER if broker.broker_id == p.leader else Role.FOLLOWER
    if held is None or (held.role, held.leader, held.leader_epoch) != (role, p.leader, p.leader_epoch):
        yield f"{who} has {held} of {p.tp}, committed is leader {p.leader} under {p.leader_epoch}"
    elif role is Role.LEADER and Ability.ISR in broker.host.abilities and set(held.isr) != set(p.isr):
        yield f"{who} leads {p.tp} with the isr {list(held.isr)}, committed is {list(p.isr)}"


def _known_on(broker: HostedBroker, p: Partition, partition_epoch: int) -> Iterator[str]:
    known = broker.host.known(broker.broker_id, p.tp)
    got = known and (known.leader, known.leader_epoch, known.isr, known.replicas, known.partition_epoch)
    wanted = (p.leader, p.leader_epoch, p.isr, p.replicas, partition_epoch)
    if got != wanted:
        yield f"broker {broker.broker_id} knows {p.tp} by metadata as {got}, committed is {wanted}"
