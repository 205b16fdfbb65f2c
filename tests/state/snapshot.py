"""What a state holds, as plain values that can be compared: all that rules, the writer or a query could read of it.

Orders that no code may rely on (of intents, of moves, of a broker's partitions) are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import attrs

from kedge.controller.model.values import Partition, UnreadConfigs
from kedge.controller.state import ClusterState
from kedge.controller.state.intents import Intents


def snapshot(state: ClusterState) -> dict[str, object]:
    """Everything, deep and independent of what happens to the state later."""
    return {
        "rows": list(state.rows),
        "versions": list(state.versions.states),
        "generations": list(state.versions.generations),
        "keys": {parent: dict(known) for parent, known in state.versions._below.items() if known},  # noqa: SLF001
        "topics": {name: _topic(state, name) for name in state.topics},
        "moves": {number: state.rows[number] for number in state.moves},
        "listing": dict(state.listing),
        "brokers": dict(state.brokers),
        "dying": dict(state.dying),
        "unread": dict(state.unread),
        "shutting down": dict(state.shutting_down),
        "admitted": dict(state.admitted),
        "settings": {name: (dict(own), type(own)) for name, own in state.entity_configs.items()},
        "changes": (state.changes.next_number, dict(state.changes._told)),  # noqa: SLF001 - what is about to be written
        "problems": dict(state.problems),
        "reductions": {name: attrs.astuple(one, recurse=False) for name, one in state.reducing.of.items()},
        "purged": dict(state.reducing.purged),
        "deletions": {name: attrs.astuple(deletion) for name, deletion in state.deletions.items()},
        "total": state.partition_total(),
        "disks": state.gone_copy(),
        "intents": _intents(state),
        "legacy": (state.legacy.key, dict(state.legacy.entries), state.legacy.is_there),
        "throttles": (
            {kind: dict(marks) for kind, marks in state.throttles.marks.items()},
            dict(state.throttles.keys),
            state.throttles.running,
        ),
        "tally": None if state.tally is None else state.tally.copy().as_dict(),
        "dirty_keys": list(state.batch.dirty_keys),
        "late": list(state.batch.late_topics),
        "records": [record for record, _, _ in state.batch.log],
        "on": {broker: found for broker in _ids(state) if (found := set(state.numbers_on(broker)))},
    }


def _topic(state: ClusterState, name: str) -> tuple[object, ...]:
    row = state.topics[name]
    twin = state.colliding_topic(name.replace(".", "_"))
    return (row.topic, dict(row.configs), isinstance(row.configs, UnreadConfigs), list(row.numbers), twin)


def _intents(state: ClusterState) -> dict[str, object]:
    intents = state.intents
    brokers = intents.brokers()
    return {
        "open": {broker: frozenset(intents.of(broker)) for broker in brokers},
        "keys": dict(intents.keys),
        "undurable": {broker: frozenset(found) for broker in brokers if (found := intents.undurable(broker))},
        "count": len(intents),
        "of topics": Counter(intent.topic_id for broker in brokers for intent in intents.of(broker))
        == Counter({topic_id: intents.count_of(topic_id) for topic_id in _topic_ids(intents)}),
    }


def _topic_ids(intents: Intents) -> set[str]:
    return {intent.topic_id for broker in intents.brokers() for intent in intents.of(broker)}


def _ids(state: ClusterState) -> Iterator[int]:
    yield from sorted({*state.brokers_named(), *state.brokers})


def members_by_hand(state: ClusterState) -> dict[int, set[int]]:
    """Broker -> numbers of the partitions that have it in R, I or T, computed the slow way."""
    found: dict[int, set[int]] = {}
    for number, row in enumerate(state.rows):
        for broker in _named(row):
            found.setdefault(broker, set()).add(number)
    return found


def _named(row: Partition | None) -> set[int]:
    return set() if row is None else {*row.members, *row.isr}
