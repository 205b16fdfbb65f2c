"""The assignors of the coordinator (KIP-848): which member shall have which partition. Pure functions.

* `uniform`: the numbers of partitions of any two members of a topic differ by one at most, as far as moving single
  partitions reaches that. A member keeps what it has, if it can.
* `range`: of each topic every subscriber gets partitions in a row, the first ones one more where they do not divide.
  Members come in the same order for all topics, so that partitions with the same number go together.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import attrs

from .values import Partitions, Topics

Targets: TypeAlias = dict[str, Partitions]


@attrs.frozen
class Asking:
    """A member with its subscribed topics, and the partitions that it had so far. `place`: in the order of members."""

    member_id: str
    topics: frozenset[str]
    had: Partitions
    place: tuple[bool, str]


def by_range(members: Iterable[Asking], topics: Topics) -> Targets:
    """The targets of all members."""
    targets: dict[str, set[tuple[str, int]]] = {member.member_id: set() for member in members}
    ordered = sorted(members, key=lambda member: member.place)
    for name in sorted(frozenset().union(*(member.topics for member in members))):
        topic = topics.by_name.get(name)
        if topic is None:
            continue
        subscribers = [member.member_id for member in ordered if name in member.topics]
        each, more = divmod(topic.partitions, len(subscribers))
        begin = 0
        for place, member_id in enumerate(subscribers):
            end = begin + each + (place < more)
            targets[member_id].update((topic.topic_id, number) for number in range(begin, end))
            begin = end
    return {member_id: frozenset(found) for member_id, found in targets.items()}


def uniform(members: Iterable[Asking], topics: Topics) -> Targets:
    """The targets of all members."""
    targets: dict[str, set[tuple[str, int]]] = {member.member_id: set() for member in members}
    alike = _alike(members, topics)
    for subscribers, partitions in alike.items():
        free = set(partitions)
        each, more = divmod(len(partitions), len(subscribers))
        for member in sorted((m for m in members if m.member_id in subscribers), key=lambda member: member.place):
            kept = member.had & free
            if len(alike) == 1:  # its share is known, so that nothing has to be moved one by one
                kept = frozenset(sorted(kept)[: each + (more > 0)])
                more -= len(kept) > each
            targets[member.member_id] |= kept
            free -= kept
        _share(targets, subscribers, sorted(free))
    is_moved = True
    while is_moved:
        is_moved = sum(_level(targets, subscribers, partitions) for subscribers, partitions in alike.items()) > 0
    return {member_id: frozenset(found) for member_id, found in targets.items()}


def _alike(members: Iterable[Asking], topics: Topics) -> Mapping[frozenset[str], Partitions]:
    """The partitions of topics that have the same subscribers, those with the fewest first, which have least choice."""
    subscribers: dict[str, set[str]] = defaultdict(set)
    for member in members:
        for name in member.topics & topics.by_name.keys():
            subscribers[name].add(member.member_id)
    together: dict[frozenset[str], set[tuple[str, int]]] = defaultdict(set)
    for name, ids in subscribers.items():
        topic = topics.by_name[name]
        together[frozenset(ids)].update((topic.topic_id, number) for number in range(topic.partitions))
    ordered = sorted(together, key=lambda ids: (len(ids), sorted(ids)))
    return {ids: frozenset(together[ids]) for ids in ordered}


def _share(targets: dict[str, set[tuple[str, int]]], subscribers: Iterable[str], free: list[tuple[str, int]]) -> None:
    """Give each partition to the subscriber with the fewest."""
    heap = sorted((len(targets[member_id]), member_id) for member_id in subscribers)
    for tp in free:
        load, member_id = heap[0]
        targets[member_id].add(tp)
        heapq.heapreplace(heap, (load + 1, member_id))


def _level(targets: dict[str, set[tuple[str, int]]], subscribers: frozenset[str], partitions: Partitions) -> bool:
    """Move partitions from the member with the most to the one with the fewest, while they differ by more than one.
    Returns whether one was moved."""
    is_moved = False
    givers = {member_id: sorted(targets[member_id] & partitions) for member_id in sorted(subscribers)}
    while True:
        light = min(givers, key=lambda member_id: len(targets[member_id]))
        heavy = max((i for i in givers if givers[i]), key=lambda member_id: len(targets[member_id]), default=light)
        if len(targets[heavy]) - len(targets[light]) <= 1:
            return is_moved
        tp = givers[heavy].pop()
        targets[heavy].remove(tp)
        targets[light].add(tp)
        givers[light].append(tp)
        is_moved = True


ASSIGNORS: Final[Mapping[str, Callable[[Iterable[Asking], Topics], Targets]]] = {"uniform": uniform, "range": by_range}
"""By Kafka's names. The first one is the default."""
