"""Deletions of topics with a state key that may not be read: what is refused, what waits, and what goes on."""

from __future__ import annotations

from kedge.controller.model import events as e
from kedge.controller.model import records as r
from kedge.controller.model.errors import RequestTimedOut, StorageError
from kedge.controller.model.records import UNREAD, KeyVersion, KeyVersions
from kedge.controller.model.values import Partition, Settings
from kedge.controller.rules.takeover import deletion_goes_on
from tests.rules.world import World

WHY = "/brokers/topics/t/partitions/0/state: it may not be read"
FORBIDDEN = e.StateKeyRead(1000, "t", 0, None, WHY, KeyVersion(UNREAD, 0))


def unled(*replicas: int) -> World:
    """Topic t with a partition without a known state; brokers 1 and 2 were admitted, and 2 is dead."""
    world = World()
    world.plant_broker(1)
    world.plant_broker(2)
    world.plant(Partition("t", 0, replicas or (1, 2), (), -1, -1))
    del world.state.brokers[2]
    return world


def forbidden() -> World:
    """As `unled`; a takeover was not allowed to read the state key."""
    world = unled()
    world.state.versions[0] = UNREAD
    world.state.load_problem("t", 0, WHY)
    return world


def test_a_topic_whose_state_may_not_be_read_is_not_deleted() -> None:
    """The error names the key."""
    ran = forbidden().run(e.DeleteTopic(1000, "t"))
    assert isinstance(ran.reply, StorageError)
    assert ran.reply.message == WHY
    assert ran.records == []


def test_a_state_that_may_not_be_read_is_noticed_once() -> None:
    world = unled()
    assert world.run(FORBIDDEN).records == [
        r.KeyVersionFound("t", 0, KeyVersion(UNREAD, 0), KeyVersion(0, -1)),
        r.BadKey("t", 0, WHY),
    ]
    assert world.run(FORBIDDEN).records == []
    assert world.state.unreadable("t", 0) == WHY


def test_a_takeover_does_not_go_on_with_a_deletion_that_could_not_end() -> None:
    assert not deletion_goes_on(forbidden().state, "t")
    assert deletion_goes_on(unled().state, "t")


def test_a_topic_whose_only_state_key_is_broken_does_not_look_like_one_that_is_nearly_deleted() -> None:
    """Where topics may not be deleted, a takeover leaves it alone."""
    world = unled()
    world.state.settings = Settings(delete_topic_enable=False)
    assert deletion_goes_on(world.state, "t")
    world.state.load_problem("t", 0, "no JSON")
    assert not deletion_goes_on(world.state, "t")


def test_a_broker_is_not_forgotten_while_a_deletion_that_needs_it_waits() -> None:
    """The answer asks for the request again."""
    world = forbidden()
    world.state.start_deletion("t", 1)
    ran = world.run(e.ForgetBroker(1000, 2))
    assert isinstance(ran.reply, RequestTimedOut)
    assert ran.reply.message == "broker 2: 1 replica not dropped yet; repeat the request"
    assert ran.records == []
    assert 2 in world.state.admitted


def test_a_deletion_keeps_the_known_version_of_a_topic_key_that_may_not_be_read() -> None:
    """It is needed to remove the key."""
    world = unled()
    world.state.start_deletion("t", 1)
    known = world.state.key_version("t", None)
    for at in (KeyVersion(UNREAD, 0), known):
        read = e.TopicKeyRead(1000, "t", None, (), {}, KeyVersions.of(at, (), 0), (), "forbidden", {})
        assert world.run(read).records == []
    assert world.state.key_version("t", None) == known


def test_a_deletion_goes_on_with_its_last_partition_where_no_broker_holds_a_log() -> None:
    """Both partitions were created on a broker that never came, so no broker reports that its log is deleted."""
    world = unled(77)
    world.plant(Partition("t", 1, (77,), (), -1, -1))
    world.state.start_deletion("t", 1)
    assert world.decide(e.PartitionDeletionDue(1000, "t", 0)).expand == ()
    assert world.decide(e.PartitionDeletionDue(1000, "t", 1)).expand == (e.TopicLogsDue(1000, "t"),)
    world.commit()
    assert list(map(type, world.run(e.TopicLogsDue(1000, "t")).records)) == [r.TopicDeleted]
