"""The trees that a real Kafka 3.9 left in ZooKeeper, idle and moving partitions: read and written without loss."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kedge.controller.codec import broker, keys, partition_state, small, topic
from kedge.controller.codec.text import parse, parse_many
from kedge.controller.model import events as e
from kedge.controller.model.values import Partition, Replicas
from tests.kit.data import DATA
from tests.rules.world import World

TREES = ("kafka_3_9_tree_idle", "kafka_3_9_tree_moving")


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest) -> dict[str, bytes]:
    """Path -> value, of the keys that have one."""
    return load(request.param)


def load(name: str) -> dict[str, bytes]:
    found = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return {path: entry["value"].encode() for path, entry in found.items() if entry.get("value")}


def topics(tree: dict[str, bytes]) -> Iterator[topic.TopicKey]:
    for path, value in tree.items():
        if name := keys.topic_of(path):
            yield topic.decode(value, name)


def replicas_of(tree: dict[str, bytes]) -> dict[tuple[str, int], Replicas]:
    return {(found.topic.name, p): r for found in topics(tree) for p, r in enumerate(found.assignments)}


def test_registrations_are_written_as_kafka_wrote_them(tree: dict[str, bytes]) -> None:
    """Every field of Kafka's v5 is there again with its value, and none besides."""
    brokers = [path for path in tree if path.startswith(keys.BROKER_IDS + "/")]
    assert brokers
    for path in brokers:
        raw = json.loads(tree[path])
        found = broker.decode(tree[path], int(path.rpartition("/")[2]))
        assert json.loads(broker.encode(found, raw["version"], int(raw["timestamp"]))) == raw


def test_topic_keys_lose_nothing(tree: dict[str, bytes]) -> None:
    """Partitions, id, adding and removing are written as they were: a move goes only with what takes it over."""
    found = list(topics(tree))
    assert found
    for one in found:
        raw = json.loads(tree[keys.topic(one.topic.name)])
        assert json.loads(topic.encode(one.topic, one.assignments)) == raw
        assert {str(p): list(ids) for p, ids in one.adding.items()} == raw["adding_replicas"]
        assert {str(p): list(ids) for p, ids in one.removing.items()} == raw["removing_replicas"]


def test_state_keys_are_written_byte_for_byte(tree: dict[str, bytes]) -> None:
    """What is read and not changed is written as it stood, and many are read as each alone."""
    members = replicas_of(tree)
    paths = {path: name for path in tree if (name := keys.partition_of(path))}
    assert paths
    parsed = parse_many([tree[path] for path in paths])
    for (path, name), raw in zip(paths.items(), parsed, strict=True):
        assert raw == parse(tree[path])
        found = partition_state.decode(raw, *name, members[name], 0)
        epoch = json.loads(tree[path])["controller_epoch"]
        assert json.loads(partition_state.encode(found, epoch)) == json.loads(tree[path])


def test_configs_and_the_controller_are_read(tree: dict[str, bytes]) -> None:
    """Every config key is a map of texts, and a controller is elected."""
    for path, value in tree.items():
        if path.startswith(keys.CONFIG_TOPICS + "/"):
            assert json.loads(small.encode_config(small.decode_config(value))) == json.loads(value)
    assert small.decode_controller(tree["/controller"]) is not None


def test_kafkas_running_moves_go_on_to_their_end() -> None:
    """What the moving tree says of adding and removing becomes moves of ours, which complete when all are in sync."""
    tree = load("kafka_3_9_tree_moving")
    world, moving = World(), 0
    for path, value in tree.items():
        if path.startswith(keys.BROKER_IDS + "/"):
            found_broker = broker.decode(value, int(path.rpartition("/")[2]))
            world.plant_broker(found_broker.broker_id, found_broker.rack)
    for found in topics(tree):
        world.plant_topic(found.topic.name, found.topic.topic_id)
        for number, replicas in enumerate(found.assignments):
            raw = parse(tree[keys.state(found.topic.name, number)])
            world.plant(partition_state.decode(raw, found.topic.name, number, replicas, 0))
        for number in sorted({*found.adding, *found.removing}):
            moving += 1
            finish(world, found, number)
    assert moving > 0


def finish(world: World, found: topic.TopicKey, number: int) -> None:
    """Take one of Kafka's moves over and let all replicas catch up."""
    name, listed = found.topic.name, found.assignments[number]
    adding, removing = found.adding.get(number, ()), found.removing.get(number, ())
    world.run(e.KafkaMoveFound(0, name, number, listed, adding, removing))
    target = tuple(b for b in listed if b not in removing)
    before = world.partition(name, number)
    assert before.target_replicas == target
    for member in before.members:
        if member not in world.state.brokers:
            world.come(member)
    before = world.partition(name, number)
    world.run(_catch_up_all(world, before))
    after = world.partition(name, number)
    assert (after.replicas, after.move) == (target, None)
    assert {b for b in removing if world.state.open_intents(b)} == set(removing)


def _catch_up_all(world: World, p: Partition) -> e.AlterIsr:
    epoch = world.state.partition_epoch(p)
    leader = world.state.brokers[p.leader]
    return e.AlterIsr(0, p.topic, p.partition, p.leader, p.leader_epoch, epoch, p.members, leader.epoch)
