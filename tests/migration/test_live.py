"""A live cluster is moved: records are written, partitions move, brokers and controllers come and go. Nothing that was
acknowledged is lost, and all agree in the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.runtime.clock import Chance
from kedge.controller.runtime.migration import Migration, TimedOut
from kedge.stores import MemoryStore
from tests.simulation.clusters import AFTER, ORDERS, orders

FOUR = [TopicPartition("more", partition) for partition in range(4)]


def live() -> Rig:
    """Five partitions move, slowly, and nine are written to."""
    rig = orders(copy_rate_bytes_s=150_000)
    tps = rig.create_topic("more", 8, 3, records=300)
    rig.write([ORDERS, *tps], 100, 100)
    rig.reassign(dict.fromkeys([ORDERS, *FOUR], AFTER))
    rig.run(300)
    return rig


def mover(rig: Rig, deed: Callable[[], object] = lambda: None) -> Migration:
    """A process that moves it; while it waits, time passes and `deed` is done."""
    assert rig.next_server is not None

    def pause(seconds: float) -> None:
        deed()
        rig.run(round(seconds * 1000))

    stores = MemoryStore(rig.server), MemoryStore(rig.next_server)
    return Migration(*stores, ("a", "b"), clock=rig.clock, chance=Chance(3), pause=pause, say=rig_says(rig))


def rig_says(rig: Rig) -> Callable[[str], None]:
    return lambda text: rig.timeline.say("migrate", text)


def ends(rig: Rig) -> None:
    """It goes on in the new store, until the moves are done and all agree."""
    rig.follow_to_next_store()
    rig.run(1_000)
    assert rig.active is not None
    assert rig.active.node_id > 200
    settles(rig)


def settles(rig: Rig) -> None:
    """Nothing more is written; the moves end, all agree, and nothing is lost."""
    rig.producers.writers.clear()
    rig.wait.until_replicas(dict.fromkeys([ORDERS, *FOUR], AFTER), timeout_s=60)
    rig.wait.until_converged()
    rig.check_end()


@pytest.mark.slow
def test_a_cluster_that_works_is_moved_and_loses_nothing() -> None:
    """Moves that ran go on from where they were, under leader epochs above all that were sent before."""
    rig = live()
    rig.add_store()
    rig.run(200)
    written = rig.producers.acknowledged()
    assert mover(rig).run(0) == ()
    moving = [tp for tp, partition in rig.committed.partitions.items() if partition.move is not None]
    assert len(moving) >= 3, "no move runs while it is moved: the test shows nothing"
    before = {tp: partition.leader_epoch for tp, partition in rig.committed.partitions.items()}
    ends(rig)
    assert rig.producers.acknowledged() > written
    assert all(rig.partition(tp).leader_epoch > epoch for tp, epoch in before.items())


@pytest.mark.slow
def test_brokers_that_come_late_to_the_new_store_are_waited_for() -> None:
    """The copy goes on being whole while the cluster works, for as long as it takes."""
    rig = live()
    server = rig.add_store(register=[])
    late = iter(rig.duties)

    def deed() -> None:
        if (broker_id := next(late, None)) is not None:
            rig.duties[broker_id].register_next(server)

    mover(rig, deed).run(60)
    ends(rig)


@pytest.mark.slow
def test_it_is_given_up_for_a_broker_that_never_comes_and_the_old_store_goes_on() -> None:
    rig = live()
    server = rig.add_store(register=[1, 2, 3, 4, 5])
    with pytest.raises(TimedOut):
        mover(rig).run(5)
    mover(rig).abort()
    assert not [key for key, row in server.table.rows.items() if row[4] is None]
    settles(rig)


@pytest.mark.slow
def test_a_broker_that_is_down_then_comes_back_in_the_new_store() -> None:
    """Its death was worked off in the old one, or is in the new; its replicas catch up there."""
    rig = live()
    rig.add_store()
    rig.mishaps.kill_broker(5)
    rig.run(100)  # its session has not run out yet
    mover(rig).run(60)
    rig.follow_to_next_store()
    rig.run(3_000)
    rig.mishaps.restart_broker(5)
    settles(rig)


@pytest.mark.slow
def test_the_controller_over_the_new_store_dies_and_another_goes_on() -> None:
    rig = live()
    rig.add_store()
    mover(rig).run(0)
    rig.follow_to_next_store()
    rig.until(lambda: rig.active is not None and rig.active.node_id > 200, what="led in the new store")
    assert rig.active is not None
    rig.mishaps.kill_controller(rig.active.node_id)
    rig.run(2_000)
    settles(rig)
