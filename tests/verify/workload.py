"""What is asked of a cluster while it is being broken: a table of weights and functions, so that more can be added.

Each function takes a `World`, asks for one thing, and says what it asked for. Requests may be refused: by the rules, or
because there is no controller. None is waited for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from kedge.controller.admin import ALL
from kedge.controller.codec import keys
from kedge.controller.model.requests import (
    AlterReassignmentsOptions,
    DeletePartitions,
    ElectionType,
    NewPartitions,
    NewTopic,
)
from kedge.controller.model.values import Partition, TopicPartition
from kedge.controller.rig import outside, server
from kedge.controller.rules.leader_election import UNCLEAN
from kedge.controller.rules.reduction.configs import RETENTION
from kedge.controller.simulated.broker import Life
from tests.verify.world import World

Deed = Callable[[World], str]


def create_topic(world: World) -> str:
    """A new topic, placed by the controller."""
    world.topics_made += 1
    return _create(world, f"t{world.topics_made}", "")


def _create(world: World, name: str, again: str) -> str:
    new = NewTopic(world.between(1, 3), world.between(1, min(world.factor_max, len(world.rig.brokers))))
    return world.ask(f"create {name}{again}", lambda admin: admin.create_topics({name: new}).all())


def delete_topic(world: World) -> str:
    """A topic is deleted, and perhaps asked for again at once."""
    topics = world.topics()
    if not topics:
        return create_topic(world)
    name = world.pick(topics)
    if world.happens(0.2):
        return _delete_by_key(world, name)
    return world.ask(f"delete {name}", lambda admin: admin.delete_topics([name]).all())


def _delete_by_key(world: World, name: str) -> str:
    """As another tool does it; also for a topic that there is not."""
    name = world.pick((name, f"{name}x"))
    if keys.delete_topic(name) not in world.rig.server.table.rows:
        server.write(world.rig.server, keys.delete_topic(name), b"")
    return f"somebody else asks for the deletion of {name}"


def create_again(world: World) -> str:
    """A topic with the name of one that was deleted, or is being."""
    deleted = sorted({*world.rig.committed.deleted, *world.rig.committed.deleting})
    if not deleted:
        return create_topic(world)
    return _create(world, world.pick(deleted), " again")


def expand(world: World) -> str:
    """One more partition for a topic."""
    topics = world.topics()
    if not topics:
        return create_topic(world)
    name = world.pick(topics)
    count = sum(p.topic == name for p in world.partitions()) + 1
    return world.ask(
        f"expand {name} to {count}", lambda admin: admin.create_partitions({name: NewPartitions(count)}).all()
    )


def reassign(world: World) -> str:
    """Any replicas for any partition, alive or not: an override where it moves already."""
    return _alter(world, world.partitions(), lambda _: world.brokers(world.between(1, world.factor_max)))


def override(world: World) -> str:
    """Another target for a partition that moves."""
    return _alter(world, world.partitions(moving=True), lambda _: world.brokers(world.between(1, world.factor_max)))


def reorder(world: World) -> str:
    """The same replicas, another one first."""
    return _alter(world, world.partitions(), lambda p: [*p.replicas[1:], p.replicas[0]])


def cancel(world: World) -> str:
    """A move is cancelled."""
    return _alter(world, world.partitions(moving=True), lambda _: None)


def cancel_all(world: World) -> str:
    """Every move is cancelled."""
    return world.ask("cancel all", lambda admin: admin.cancel_partition_reassignments(ALL))


def roll_back(world: World) -> str:
    """A move goes back to where it began."""
    moving = world.partitions(moving=True)
    if not moving:
        return reassign(world)
    tp = world.pick(moving).tp
    return world.ask(f"roll back {tp}", lambda admin: admin.rollback_partition_reassignments([tp]).all())


def submit_by_key(world: World) -> str:
    """An outside client writes a plan to the legacy key; seldom where one stands already, or something broken."""
    if not world.partitions():
        return create_topic(world)
    rig = world.rig
    if outside.is_key_there(rig) and world.happens(0.8):
        return "finds the legacy key busy"
    if world.happens(0.15):
        value = world.pick((None, b"{", b'{"version":1,"partitions":[]}', b'{"version":1,"partitions":[{"topic":7}]}'))
        outside.write_key(rig, value)
        return f"legacy key: {value!r}"
    named = [world.pick(world.partitions()).tp for _ in range(world.between(1, 4))]
    if world.happens(0.2):
        named.append(TopicPartition(named[0].topic, 99))
    targets = {tp: world.brokers(world.between(1, world.factor_max)) for tp in named}
    if world.happens(0.1):
        targets[named[0]] = [1, 1]
    outside.submit_by_key(rig, targets)
    return f"legacy key: {', '.join(f'{tp} to {target}' for tp, target in targets.items())}"


def reduce(world: World) -> str:
    """Fewer partitions for a topic, delayed or at once; by the API, or by the key as another tool writes it; seldom
    more than there are, or just some in the middle."""
    counts = {name: sum(p.topic == name for p in world.partitions()) for name in world.topics()}
    topics = [name for name, count in counts.items() if count > 1]
    if not topics:
        return expand(world)
    name, immediate = world.pick(topics), world.happens(0.5)
    if world.happens(0.5):
        _retain(world, name, world.between(0, 2_000))
    if world.happens(0.3):
        return _reduce_by_key(world, name, counts[name], immediate=immediate)
    wanted = DeletePartitions(world.between(0 if world.happens(0.1) else 1, counts[name] - 1), immediate)
    return world.ask(f"reduce {name}: {wanted}", lambda admin: admin.delete_partitions({name: wanted}).all())


def _retain(world: World, name: str, ms: int) -> None:
    known = world.rig.committed.configs.get(keys.topic_config(name), {})
    _put(world, keys.topic_config(name), {"version": 1, "config": {**known, RETENTION: str(ms)}})


def _reduce_by_key(world: World, name: str, count: int, *, immediate: bool) -> str:
    """Also with what cannot be."""
    first = world.between(1, count - 1)
    going = [first] if world.happens(0.2) else list(range(first, count))
    at_ms = world.rig.clock.now_ms()
    entries = {str(p): {"timestamp": at_ms, "immediate": immediate} for p in going}
    name = world.pick((name, name, name, f"{name}x"))
    value: object = "{" if world.happens(0.1) else {"version": 1, "partitions": entries}
    return _put(world, keys.delete_partitions(name), value)


def elect_preferred(world: World) -> str:
    """Preferred leaders everywhere."""
    return world.ask("elect preferred", lambda admin: admin.elect_leaders(ElectionType.PREFERRED, ALL))


def elect_unclean(world: World) -> str:
    """An unclean leader for a partition that has none."""
    leaderless = [p for p in world.partitions() if p.leader < 0]
    if not leaderless:
        return elect_preferred(world)
    tp = world.pick(leaderless).tp
    return world.ask(f"elect unclean {tp}", lambda admin: admin.elect_leaders(ElectionType.UNCLEAN, [tp]))


def forget_broker(world: World) -> str:
    """A broker that is down, one that has something to delete above all, will never come back: who comes under its id
    is another one. It may be refused, and asked for again."""
    down = [b for b, broker in world.rig.brokers.items() if broker.life is Life.DOWN]
    if not down:
        return _lose_broker(world)
    owing = {intent.broker for intents in world.rig.committed.intents.values() for intent in intents}
    broker = world.pick([b for b in down if b in owing] or down)
    return world.ask(f"forget broker {broker}", lambda admin: admin.forget_broker(broker))


def _lose_broker(world: World) -> str:
    """A broker dies for longer than most do."""
    broker = world.pick(list(world.rig.brokers))
    world.rig.mishaps.kill_broker(broker)
    world.later(world.between(500, 3_000), lambda: _start_if_down(world, broker))
    return f"broker {broker} dies, perhaps for good"


def _start_if_down(world: World, broker: int) -> None:
    if world.rig.brokers[broker].life is Life.DOWN:
        world.rig.mishaps.restart_broker(broker)


def list_moves(world: World) -> str:
    """What moves."""
    return world.ask("list", lambda admin: admin.list_partition_reassignments())


def preferred_key(world: World) -> str:
    """Kafka's tool asks for preferred leaders, of what there is and of what there is not."""
    return _put(world, keys.PREFERRED_ELECTION, {"version": 1, "partitions": _named(world, 4)})


def isr_notification(world: World) -> str:
    """An old leader writes the state key itself, as it stood, with one follower less or with a broker that is no
    replica, and says so."""
    idle = {keys.state(p.topic, p.partition): p for p in world.partitions(moving=False) if p.leader >= 0}
    readable = [key for key in idle if key not in world.rig.broken_keys]
    if not readable:
        return create_topic(world)
    key = world.pick(readable)
    partition = idle[key]
    value = json.loads(world.rig.server.table.rows[key][0])
    followers = [b for b in value["isr"] if b != value["leader"]]
    if followers and world.happens(0.5):
        gone = world.pick(followers)
        value["isr"] = [b for b in value["isr"] if b != gone]
    outside = [b for b in world.rig.brokers if b not in {*partition.members, *value["isr"]}]
    if world.strays is not None and outside and world.strays.random() < 0.5:
        value["isr"].append(world.strays.choice(outside))
        world.rig.operators.unclean_asked.add(partition.tp)  # since it has nothing of what is acknowledged
    _put(world, key, value)
    named = [{"topic": partition.topic, "partition": partition.partition}, *_named(world, 1)]
    return _append(world, f"{keys.ISR_CHANGES}/isr_change_", {"version": 1, "partitions": named})


def log_dir_notification(world: World) -> str:
    """A broker says that something happened to a disk, and all of it is there."""
    broker = world.pick(list(world.rig.brokers))
    return _append(world, f"{keys.LOG_DIR_EVENTS}/log_dir_event_", {"version": 1, "broker": broker, "event": 1})


def allow_unclean(world: World) -> str:
    """A topic may be led by any live replica, from now on; set as by Kafka's tools."""
    topics = world.topics()
    if not topics:
        return create_topic(world)
    topic = world.pick(topics)
    _put(world, keys.topic_config(topic), {"version": 1, "config": {UNCLEAN: "true"}})
    return _append(world, f"{keys.CONFIG_CHANGES}/config_change_", {"version": 2, "entity_path": f"topics/{topic}"})


def _named(world: World, count: int) -> list[dict[str, object]]:
    """Up to so many partitions, and perhaps one that there is not."""
    found = [(p.topic, p.partition) for p in world.partitions()]
    chosen = world.rig.chance.sample(found, min(count, len(found)))
    if world.happens(0.2):
        chosen.append(("nowhere", 0))
    return [{"topic": topic, "partition": partition} for topic, partition in chosen]


def _append(world: World, prefix: str, value: object) -> str:
    world.keys_put += 1
    return _put(world, f"{prefix}{world.keys_put:010d}", value)


def _put(world: World, key: str, value: object) -> str:
    """Another client writes a key, whatever stands there."""
    server.write(world.rig.server, key, json.dumps(value).encode())
    return f"somebody else puts {key}: {json.dumps(value)}"


def write(world: World) -> str:
    """Some records."""
    partitions = world.partitions()
    if not partitions:
        return create_topic(world)
    tp, count = world.pick(partitions).tp, world.between(1, 200)
    taken = world.rig.produce(tp, count)
    return f"writes {taken} of {count} to {tp}"


def _alter(
    world: World, partitions: Sequence[Partition], target_of: Callable[[Partition], Sequence[int] | None]
) -> str:
    if not partitions:
        return create_topic(world)
    partition = world.pick(partitions)
    tp, target = partition.tp, target_of(partition)
    deadline_s = world.between(50, 2_000) / 1000 if world.happens(0.15) else None
    options = AlterReassignmentsOptions(move_timeout_s=deadline_s, timeout_s=world.between(100, 5_000) / 1000)
    return world.ask(
        f"alter {tp} to {target}", lambda admin: admin.alter_partition_reassignments({tp: target}, options).all()
    )


WORKLOAD: Final[tuple[tuple[int, Deed], ...]] = (
    (2, create_topic),
    (2, delete_topic),
    (2, create_again),
    (1, expand),
    (10, reassign),
    (4, override),
    (2, reorder),
    (3, cancel),
    (1, cancel_all),
    (1, roll_back),
    (4, submit_by_key),
    (2, elect_preferred),
    (1, elect_unclean),
    (1, list_moves),
    (3, forget_broker),
    (2, preferred_key),
    (2, isr_notification),
    (1, log_dir_notification),
    (1, allow_unclean),
    (8, write),
    (3, reduce),
)
"""How often, in proportion, and what."""
