from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from kedge.controller.codec import keys
from kedge.controller.model.values import NO_LEADER, TopicPartition
from kedge.controller.rig import CallbackFaults, InvariantBroken, Life, NotInTime, Rig, VirtualClock
from kedge.controller.rig.committed import Change
from kedge.controller.rig.server import Committed
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.verify.__main__ import main
from tests.verify.explore import run_seed


def test_time_moves_only_by_a_call() -> None:
    clock = VirtualClock()
    assert (clock.elapsed_ms, clock.monotonic_s()) == (0, 0.0)
    clock.advance(1_500)
    assert clock.monotonic_s() == 1.5
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


def test_one_wall_clock_may_jump_and_its_monotonic_time_does_not() -> None:
    rig = Rig()
    clock = rig.nodes[101].clock
    clock.jump(-5_000)
    assert clock.now_ms() == rig.clock.now_ms() - 5_000
    assert clock.monotonic_s() == rig.clock.monotonic_s()


def test_bytes_are_copied_at_the_rate_that_was_set() -> None:
    rig = Rig(brokers={1: None, 2: None}, copy_rate_bytes_s=100_000)
    (tp,) = rig.create_topic("t", replicas=[[1]], records=1_000)
    rig.reassign({tp: [1, 2]})
    rig.until(lambda: rig.brokers[2].log(tp) is not None, what="2 has begun")
    begun_ms = rig.clock.elapsed_ms
    rig.run(1_000)
    log = rig.brokers[2].log(tp)
    assert log is not None
    assert log.size_bytes == pytest.approx(100_000, rel=0.03)
    rig.copying.rate_bytes_s = 1_000_000
    rig.wait.until_replicas({tp: [1, 2]})
    assert rig.clock.elapsed_ms - begun_ms == pytest.approx(1_900, rel=0.05)


def test_several_partitions_share_the_rate() -> None:
    rig = Rig(brokers={1: None, 2: None}, copy_rate_bytes_s=100_000)
    tps = rig.create_topic("t", replicas=[[1], [1], [1]], records=1_000)
    rig.reassign({tp: [1, 2] for tp in tps})
    rig.run(1_500)
    sizes = [rig.brokers[2].log(tp).size_bytes for tp in tps]  # type: ignore[union-attr]
    assert max(sizes) - min(sizes) <= 5_000


def test_a_record_larger_than_what_a_tick_copies_is_copied_all_the_same() -> None:
    rig = Rig(brokers={1: None, 2: None}, copy_rate_bytes_s=50_000, record_bytes=10_000)
    (tp,) = rig.create_topic("t", replicas=[[1]], records=5)
    rig.reassign({tp: [1, 2]})
    rig.wait.until_replicas({tp: [1, 2]}, timeout_s=3)


def test_a_writer_writes_at_its_rate_and_is_acknowledged() -> None:
    rig = Rig()
    tps = rig.create_topic("t", 3, 2)
    writer = rig.write(tps, 333)
    rig.run(3_000)
    writer.stop()
    rig.run(100)
    assert rig.producers.sent == pytest.approx(999, abs=1)
    assert rig.producers.acknowledged() == rig.producers.sent
    assert sum(rig.producers.acknowledged(tp) for tp in tps) == rig.producers.sent


def test_what_is_waited_for_in_vain_is_said_with_what_stands() -> None:
    rig = Rig()
    rig.create_topic("t", replicas=[[1]])
    with pytest.raises(NotInTime, match=r"not within 0\.05 s: the moon") as said:
        rig.until(lambda: False, timeout_s=0.05, what="the moon")
    assert "t-0 R [1] I [1] leader 1/0" in str(said.value)


@pytest.mark.slow
def test_a_rig_begins_with_what_a_real_cluster_left() -> None:
    tree = read_tree(DATA / "kafka_3_9_tree_moving.json")
    rig = Rig(brokers={1: "a", 2: "b", 3: "c"}, tree=tree, tree_records=200, copy_rate_bytes_s=1_000_000)
    tp = TopicPartition("orders", 0)
    assert rig.partition(tp).isr == (3, 2)
    assert [rig.brokers[b].log(tp).end_offset for b in (1, 2, 3)] == [0, 200, 200]  # type: ignore[union-attr]
    rig.wait.until_replicas({tp: [1, 3]})
    rig.wait.until_converged()
    rig.check_end()
    assert rig.producers.acknowledged(tp) == 200


def test_a_killed_broker_lets_its_session_run_out_and_one_that_stops_ends_it() -> None:
    rig = Rig(session_timeout_s=1.0)
    rig.wait.until_converged()
    rig.mishaps.kill_broker(1)
    rig.mishaps.kill_broker(2, at_once=False)
    rig.run(100)
    assert list(rig.brokers[3].peers) == [2, 3]
    rig.run(1_200)
    assert list(rig.brokers[3].peers) == [3]
    assert rig.brokers[2].life is Life.DOWN


def test_broken_key_is_restored_unless_another_client_wrote_it() -> None:
    """The controller writes over a topic key that it knows."""
    rig = Rig(controllers=1)
    rig.create_topic("t", 1, 2)
    key, rows = keys.state("t", 0), rig.server.table.rows
    stood = rows[key][0]
    rig.mishaps.break_key(key)
    rig.mishaps.break_key(key, b"[")
    assert rows[key][0] == b"["
    rig.mishaps.mend_key(key)
    assert rows[key][0] == stood
    rig.mishaps.break_key(keys.topic("t"))
    rig.run(100)
    written = rows[keys.topic("t")][0]
    rig.mishaps.mend_key(keys.topic("t"))
    assert rows[keys.topic("t")][0] == written != b"{"
    rig.mishaps.heal()
    rig.wait.until_converged()
    rig.check_end()


def test_a_bad_network_only_takes_longer() -> None:
    rig = Rig(seed=5)
    rig.network.faults = CallbackFaults(delay=0.2, lose=0.2, lose_reply=0.2, duplicate=0.2)
    tps = rig.create_topic("t", 4, 2, records=20)
    rig.reassign({tp: [3] for tp in tps})
    rig.wait.until_replicas({tp: [3] for tp in tps})
    rig.mishaps.heal()
    rig.wait.until_converged()
    rig.check_end()
    assert {sent.outcome for sent in rig.requests()} >= {"ok", "lost"}


@pytest.mark.parametrize(
    "fields, is_allowed",
    [
        ({}, True),
        ({"leader_epoch": 1}, False),
        ({"leader_epoch": 1, "leader": NO_LEADER}, True),
        ({"leader_epoch": 1, "leader": 2, "isr": (2,)}, True),
        ({"leader_epoch": -1, "leader": NO_LEADER}, False),
    ],
    ids=["as created", "later", "later, all died", "later, one died", "earlier"],
)
def test_partition_begins_under_the_epoch_due(fields: dict[str, Any], *, is_allowed: bool) -> None:
    """Invariant 8; a later one where it lost its leader in the commit that creates it."""
    rig = Rig()
    (tp,) = rig.create_topic("t", replicas=[[1, 2]])
    found = attrs.evolve(rig.partition(tp), **fields)
    change = Change(tp, None, found, Committed(1, "controller 101", ()), -1)  # no controller writes what must not be
    with nullcontext() if is_allowed else pytest.raises(InvariantBroken, match="invariant 8"):
        rig.invariants.partitions.check(change)


@pytest.mark.slow
def test_a_seed_that_holds_says_so_and_one_that_fails_prints_its_replay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["explore", "--seeds", "1..2", "--steps", "40"]) == 0
    assert "2 seeds, 0 failed" in capsys.readouterr().out

    def fail(seed: int, steps: int, **_: bool) -> object:
        return attrs.evolve(run_seed(seed, 20), error=f"NotInTime: after {steps} steps")

    monkeypatch.setattr("tests.verify.__main__.run_seed", fail)
    assert main(["explore", "--seeds", "9", "--steps", "40", "--timeline"]) == 1
    out = capsys.readouterr().out
    assert "seed 9 FAILED" in out
    assert "replay: python -m tests.verify explore --seeds 9 --steps 40 --timeline" in out
    assert "ms  controller 10" in out


@pytest.mark.parametrize(
    "arguments", [["--seeds", "many"], ["--seeds", "5..1"], ["--steps", "0"], ["--steps", "-5"], ["--seed", "1"]]
)
def test_a_command_that_would_run_nothing_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main(["explore", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
