"""The table of versions: what it holds after reads, records and commits."""

from __future__ import annotations

from kedge.controller import records as r
from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.records import KeyAt, KeyVersion
from kedge.controller.model.values import Partition
from kedge.controller.state import apply, undo_to
from kedge.controller.state.versions import Versions
from tests.rules.world import World

TOPIC, CONFIG, REQUEST = keys.topic("t"), keys.topic_config("t"), keys.delete_topic("t")


def known(world: World) -> dict[str, int]:
    paths = (TOPIC, CONFIG, REQUEST, keys.delete_partitions("t"))
    return {path: version for path in paths if (version := world.state.versions.of(path))}


def world_of_one() -> World:
    world = World()
    world.plant_broker(1)
    world.plant(Partition("t", 0, (1,), (1,), 1, 3))
    return world


def test_an_absent_key_has_no_entry() -> None:
    versions = Versions()
    versions.put("/a/b", 0)
    assert (versions.of("/a/b"), dict(versions.below("/a"))) == (0, {})
    versions.put("/a/b", 5)
    versions.put("/a/c", 6)
    assert (versions.of("/a/b"), dict(versions.below("/a"))) == (5, {"b": 5, "c": 6})
    versions.put("/a/b", 0)
    assert (versions.of("/a/b"), dict(versions.below("/a"))) == (0, {"c": 6})


def test_an_adopted_key_is_known_until_that_is_undone() -> None:
    state = world_of_one().state
    for version in (4, 7, 0):
        at = KeyAt(TOPIC, version)
        assert not state.is_known(at)
        apply(state, r.KeyAdopted(at))
        assert state.is_known(at)
    undo_to(state, 0)
    assert state.versions.of(TOPIC) == 1


def test_versions_are_those_of_the_commit_and_end_with_their_keys() -> None:
    """Of a topic that is created and deleted nothing is left."""
    world = World()
    world.plant_broker(1)
    world.run(e.CreateTopic(1000, "t", -1, -1, ((1,),), {}, False, "id-of-t", 0, 0))
    assert known(world) == {TOPIC: 1, CONFIG: 1}
    assert world.state.key_version("t", 0) == KeyVersion(1, 0)
    world.run(e.DeleteTopic(1000, "t"))
    assert known(world) == {TOPIC: 1, CONFIG: 1, REQUEST: 1}
    world.run(e.DeletionAcknowledged(1000, tuple(world.state.open_intents(1))))
    world.run(e.TopicGoneDue(1000, "t"))
    assert world.state.topic("t") is None
    assert known(world) == {}


def test_a_refused_request_is_deleted_at_the_version_that_was_read() -> None:
    world = World()
    ran = world.run(e.DeletionKeyRead(1000, "t", KeyAt(REQUEST, 9)))
    assert [type(record) for record in ran.records] == [r.KeyAdopted, r.DeletionRefused]
    assert known(world) == {}


def test_a_request_that_waits_is_not_adopted() -> None:
    """So it is read again once its topic can be read."""
    world = World()
    world.state.load_problem("t", None, "no JSON")
    world.run(e.DeletionKeyRead(1000, "t", KeyAt(REQUEST, 9)))
    assert known(world) == {}
