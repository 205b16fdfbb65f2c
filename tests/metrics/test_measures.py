"""What a controller measures of itself: events, commits, callbacks, its journal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge import CallableSink, Journal, Settings
from kedge.controller.metrics import HistogramValue, Snapshot, Value
from kedge.controller.runtime.measures import MS, Histogram
from kedge.stores.base import Put
from kedge.stores.faults import Call, FailBefore, Rule
from tests.metrics.test_gauges import ACTIVE, REASSIGNING
from tests.runtime.test_conflicts import STATE, meddled
from tests.runtime.world import cluster_of_three, failing

EVENTS = "kafka.controller:type=ControllerEventManager,name="
COMMITS = "kedge.controller:type=Commits,name="
JOURNAL = "kedge.controller:type=Journal,name="
HOST = "kedge.controller:type=HostCalls,name="


def histogram(value: Value) -> HistogramValue:
    assert isinstance(value, HistogramValue)
    return value


def waited(snapshot: Snapshot, kind: str) -> HistogramValue:
    return histogram(snapshot[f"{EVENTS}EventQueueTimeMs,event={kind}"])


# --- events


def test_an_event_waits_from_the_call_until_it_is_decided() -> None:
    cluster = cluster_of_three()
    future = cluster.move([4, 5, 6])
    cluster.clock.advance(30)
    cluster.done(future)
    seen = waited(cluster.controller.metrics(), "AlterReassignment")
    assert seen.count == 1
    assert seen.total == pytest.approx(30)
    processed = histogram(cluster.controller.metrics()[f"{EVENTS}EventQueueProcessingTimeMs,event=AlterReassignment"])
    assert (processed.count, processed.total) == (1, 0)  # the clock stood still


def test_every_event_that_was_decided_is_counted_under_its_kind() -> None:
    cluster = cluster_of_three()
    for target in ([4, 5, 6], [4, 5], [1, 2, 3]):
        cluster.done(cluster.move(target))
    now = cluster.controller.metrics()
    assert waited(now, "AlterReassignment").count == 3
    assert waited(now, "CreateTopic").count == 1
    assert not any("BrokerCame" in key for key in now)
    cluster.join(7, 8)
    assert waited(cluster.controller.metrics(), "BrokerCame").count == 2


def test_an_event_that_follows_from_another_waits_from_then_on() -> None:
    """Four partitions of a broker that died, one in each commit, each of which takes 10 ms."""
    cluster = cluster_of_three(settings=Settings(commit_decisions_max=1))
    cluster.create("u", [1, 2], [1, 2], [1, 2])

    def takes_a_while(call: Call, _: object) -> tuple[()]:
        if call.name == "commit":
            cluster.clock.advance(10)
        return ()

    cluster.store.play(takes_a_while)
    before = waited(cluster.controller.metrics(), "PartitionDue").total
    cluster.leave(1)
    assert waited(cluster.controller.metrics(), "PartitionDue").total - before == pytest.approx(0 + 10 + 20 + 30)


def test_event_decided_again_after_a_conflict_counts_again_and_the_conflict_too() -> None:
    cluster, _ = meddled(STATE, 1)
    cluster.done(cluster.move([4, 5, 6]))
    now = cluster.controller.metrics()
    assert waited(now, "AlterReassignment").count == 2
    assert now[f"{COMMITS}Conflicts"] == 1
    assert now[REASSIGNING] == 1


def test_what_waits_is_the_size_of_the_queue() -> None:
    cluster = cluster_of_three()
    size = f"{EVENTS}EventQueueSize"
    assert cluster.controller.metrics()[size] == 0
    future = cluster.move([4, 5, 6])
    assert cluster.controller.metrics()[size] == 1
    cluster.done(future)
    assert cluster.controller.metrics()[size] == 0


# --- commits


def test_each_commit_counts_with_its_keys_and_bytes() -> None:
    """As the store saw them, without the two ops of the fence."""
    cluster = cluster_of_three()

    def of_commits() -> list[tuple[int, float]]:
        now = cluster.controller.metrics()
        values = [histogram(now[COMMITS + name]) for name in ("Ops", "Bytes", "TimeMs")]
        return [(value.count, value.total) for value in values]

    before = of_commits()
    cluster.store.forget_calls()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.isr([1, 2, 3, 4, 5, 6]))
    made = [call.ops[2:] for call in cluster.store.calls if call.name == "commit"]
    n_bytes = sum(len(op.value) for ops in made for op in ops if isinstance(op, Put))
    counted = [(n - n_before, total - was) for (n, total), (n_before, was) in zip(of_commits(), before, strict=True)]
    assert len(made) >= 2
    assert counted == [(len(made), sum(map(len, made))), (len(made), n_bytes), (len(made), 0)]


def test_what_is_not_committed_yet_is_not_seen_and_the_time_of_the_commit_is() -> None:
    """While the store answers nothing, no broker hears of a move; then it took as long as that."""
    cluster = cluster_of_three()
    before = histogram(cluster.controller.metrics()[f"{COMMITS}TimeMs"]).total
    cluster.store.play([Rule(FailBefore(), nth=1)])
    cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    assert cluster.controller.metrics()[REASSIGNING] == 0
    cluster.clock.advance(40)
    cluster.run()
    now = cluster.controller.metrics()
    assert now[REASSIGNING] == 1
    assert histogram(now[f"{COMMITS}TimeMs"]).total - before == pytest.approx(40)


# --- callbacks, journal


def test_rounds_count_by_broker_and_those_that_were_not_delivered() -> None:
    cluster = cluster_of_three()
    before = cluster.controller.metrics()
    cluster.host.answer = failing(2)
    cluster.done(cluster.move([4, 5, 6]))
    now = cluster.controller.metrics()
    failed = [now[f"{HOST}RoundsFailed,broker-id={b}"] for b in (1, 2)]
    assert failed == [0, 1]
    for broker in (1, 2):
        key = f"{HOST}RoundTimeMs,broker-id={broker}"
        assert histogram(now[key]).count > histogram(before[key]).count


def test_journal_that_fails_is_reported_until_it_continues() -> None:
    is_full = False

    def take(lines: Sequence[str]) -> None:
        if is_full:
            raise OSError(f"no space left for {len(lines)} lines")

    cluster = cluster_of_three(journal=Journal(CallableSink(take)))
    before = cluster.controller.metrics()
    assert (before[f"{JOURNAL}CommitsLost"], before[f"{JOURNAL}Stopped"]) == (0, 0)
    assert before[f"{JOURNAL}Lines"] != 0
    is_full = True
    cluster.done(cluster.move([4, 5, 6]))
    lost = cluster.controller.metrics()
    assert (lost[f"{JOURNAL}CommitsLost"], lost[f"{JOURNAL}Stopped"]) == (1, 1)
    is_full = False
    cluster.done(cluster.move([4, 5]))
    mended = cluster.controller.metrics()
    assert (mended[f"{JOURNAL}CommitsLost"], mended[f"{JOURNAL}Stopped"]) == (1, 0)


# --- who tells


@pytest.mark.slow
def test_stand_by_and_one_without_a_loop_are_not_active() -> None:
    cluster = cluster_of_three()
    first = cluster.controller
    second = cluster.another(2)
    assert [c.metrics()[ACTIVE] for c in (first, second)] == [1, 0]
    cluster.run()
    assert [c.metrics()[ACTIVE] for c in (first, second)] == [1, 0]
    first.close()
    cluster.controllers.remove(first)
    cluster.wait(10_000)
    assert [c.metrics()[ACTIVE] for c in (first, second)] == [0, 1]


def test_switched_off_it_tells_only_what_costs_nothing() -> None:
    cluster = cluster_of_three(metrics=False)
    cluster.done(cluster.move([4, 5, 6]))
    now = cluster.controller.metrics()
    names = sorted(key.partition("name=")[2] for key in now if key.startswith("kafka"))
    assert names == [
        "ActiveBrokerCount",
        "ActiveControllerCount",
        "EventQueueSize",
        "GlobalPartitionCount",
        "GlobalTopicCount",
        "ReplicasToDeleteCount",
        "TopicsToDeleteCount",
    ]
    assert len(now) == len(names)


def test_a_snapshot_stays_as_it_was() -> None:
    cluster = cluster_of_three()
    before = cluster.controller.metrics()
    was = dict(before)
    cluster.done(cluster.move([4, 5, 6]))
    assert dict(before) == was
    assert cluster.controller.metrics()[REASSIGNING] != before[REASSIGNING]


# --- histograms


@given(st.lists(st.floats(0, 100_000)))
def test_a_histogram_counts_each_value_up_to_its_bound(values: list[float]) -> None:
    """A bound belongs to its bucket, as in Prometheus; memory does not grow with what is observed."""
    kept, together = Histogram(MS), Histogram(MS)
    for value in values:
        kept.observe(value)
    together.observe_all(values[:3])
    together.observe_all(values[3:])
    seen = kept.value()
    assert together.value().counts == seen.counts
    assert together.value().total == pytest.approx(seen.total)
    assert (seen.count, len(seen.counts)) == (len(values), len(MS) + 1)
    assert seen.total == pytest.approx(sum(values))
    assert all(n == sum(value <= bound for value in values) for bound, n in seen.cumulative())
    assert seen.mean == (pytest.approx(sum(values) / len(values)) if values else None)


def test_a_quantile_is_a_bound_that_so_many_do_not_exceed() -> None:
    kept = Histogram(MS)
    assert kept.value().quantile(0.5) is None
    for value in (0.3, 3, 4, 40_000):
        kept.observe(value)
    assert [kept.value().quantile(share) for share in (0.25, 0.5, 0.75, 1)] == [0.5, 5, 5, float("inf")]
    with pytest.raises(ValueError, match=r"within 0\.\.1"):
        kept.value().quantile(2)
