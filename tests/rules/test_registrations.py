"""Registrations that cannot be read, compared with what is known of their brokers."""

from __future__ import annotations

from kedge.controller.model import events as e
from kedge.controller.model.values import Broker, BrokerRegistration
from kedge.controller.rules.registrations import came_and_went
from tests.rules.world import World


def test_a_broker_is_neither_born_nor_unread_before_its_death_is_complete() -> None:
    world = World()
    world.state.load_dying({1: 4})
    assert came_and_went(world.state, {1: Broker(BrokerRegistration(1), 5)}, {}, 1000) == []
    assert came_and_went(world.state, {}, {1: 5}, 1000) == []
    world.run(e.DeathDone(1000, 1, 4))
    assert came_and_went(world.state, {}, {1: 5}, 1000) == [e.BrokerUnread(1000, 1, 5)]


def test_an_unread_broker_that_registers_again_has_died_and_is_unread_again() -> None:
    world = World()
    world.state.load_unread_broker(1, 5)
    assert came_and_went(world.state, {}, {1: 5}, 1000) == []
    due = came_and_went(world.state, {}, {1: 6}, 1000)
    assert due == [e.BrokerKnown(1000, 1, None)]
    world.run(due[0])
    assert came_and_went(world.state, {}, {1: 6}, 1000) == [e.BrokerUnread(1000, 1, 6)]
