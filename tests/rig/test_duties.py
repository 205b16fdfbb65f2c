"""What a simulated broker does by itself: it reports its logs, asks for changes of the isr, and shuts down in order."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Life, Rig
from kedge.controller.runtime.log_reports import LogReport


def reported(rig: Rig, tp: TopicPartition) -> list[LogReport | None]:
    """What the active controller knows of the log on each broker."""
    assert rig.active is not None
    controller: Any = rig.active.controller
    reports = controller.admin._log_reports  # noqa: SLF001 - as the tools of operators see it
    return [reports.of(tp.topic, tp.partition, broker) for broker in rig.brokers]


def test_brokers_report_their_logs_to_the_active_controller() -> None:
    """Not one that is cut off from it."""
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2, 3)))
    (tp,) = rig.create_topic("t", replicas=[[1, 2]], records=10)
    rig.run(1_000)
    said = [LogReport("t", 0, broker, 0, 0, 10, 10, 10 * rig.record_bytes) for broker in (1, 2)]
    assert reported(rig, tp) == [*said, None]
    assert rig.active is not None
    rig.network.cut(rig.active.node_id, 2)
    rig.produce(tp, 5)
    rig.run(1_000)
    first, second, _ = reported(rig, tp)
    assert first is not None
    assert (first.end_offset, second) == (15, said[1])


def test_broker_that_shuts_down_stops_when_it_leads_nothing() -> None:
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2, 3)))
    tps = rig.create_topic("t", replicas=[[1, 2], [2, 1], [1, 3]])
    rig.mishaps.shut_down_broker(1, patience_ms=20_000)
    begun_ms = rig.clock.elapsed_ms
    rig.until(lambda: rig.brokers[1].life is Life.DOWN, what="it stopped")
    assert rig.clock.elapsed_ms - begun_ms < 1_000
    assert [rig.partition(tp).leader for tp in tps] == [2, 2, 3]


@pytest.mark.slow
def test_broker_that_no_other_can_relieve_stops_when_its_patience_is_over() -> None:
    """It alone has the partition. Or no controller can be reached."""
    for is_cut in (False, True):
        rig = Rig(seed=1, brokers=dict.fromkeys((1, 2)))
        rig.create_topic("t", replicas=[[1]])
        rig.wait.until_quiet()
        for node_id in rig.nodes if is_cut else ():
            rig.network.cut(node_id, 1)
        until_ms = rig.clock.now_ms() + 3_000
        rig.mishaps.shut_down_broker(1, patience_ms=3_000)
        rig.until(lambda rig=rig: rig.brokers[1].life is Life.DOWN, what="it stopped")  # type: ignore[misc]
        assert until_ms <= rig.clock.now_ms() < until_ms + 50


@pytest.mark.parametrize("cut_off", ["all", "the active one"])
def test_leader_asks_for_an_isr_again_until_it_is_answered(cut_off: str) -> None:
    """Controllers that stand by name the active one, which it cannot reach; then the follower that died is out, and is
    in again once it is back and has all."""
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2, 3)), lag_max_ms=500)
    (tp,) = rig.create_topic("t", replicas=[[1, 2, 3]], records=10)
    assert rig.active is not None
    assert len(rig.nodes) > 1
    for node_id in rig.nodes if cut_off == "all" else [rig.active.node_id]:
        rig.network.cut(node_id, 1)
    rig.mishaps.pause_broker(3)
    rig.produce(tp, 5)
    rig.run(1_500)
    assert rig.partition(tp).isr == (1, 2, 3)
    assert any("alter_isr t-0 [1, 2] => NOT_CONTROLLER" in line for line in rig.timeline.lines()) is (cut_off != "all")
    rig.network.mend()
    rig.until(lambda: rig.partition(tp).isr == (1, 2), what="3 is out")
    rig.mishaps.resume_broker(3)
    rig.until(lambda: set(rig.partition(tp).isr) == {1, 2, 3}, what="3 is in")
    log = rig.brokers[3].log(tp)
    assert log is not None
    assert (log.end_offset, log.high_watermark) == (15, 15)
