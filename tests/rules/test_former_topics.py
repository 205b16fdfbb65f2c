"""What a former topic left below the name of a new one is no state of it."""

from __future__ import annotations

from kedge.controller.model import events as e
from kedge.controller.model.records import KeyVersion
from kedge.controller.model.values import Partition
from kedge.controller.records import ForeignChange, StateKeyAdopted, TopicCreated
from tests.rules.world import World


def test_a_state_key_that_is_found_before_the_first_election_is_reported_and_the_election_goes_on() -> None:
    world = World()
    world.plant_broker(1)
    created = world.decide(e.CreateTopic(5, "t", -1, -1, ((1,),), {}, False, "id", 0, 0, None))
    assert [type(record) for record in created.records] == [TopicCreated]
    left = Partition("t", 0, (1,), (1,), 1, 30)
    decision = world.decide(e.StateKeyRead(6, "t", 0, left, None, KeyVersion(9, 1)))
    found, report = decision.records
    assert isinstance(found, StateKeyAdopted)
    assert report == ForeignChange("t", 0, "left of a former topic of this name; written over", is_rewritten=False)
    assert decision.expand == (e.PartitionDue(6, "t", 0),)
    elected = world.state.partition("t", 0)
    assert elected is not None
    assert not elected.has_state
