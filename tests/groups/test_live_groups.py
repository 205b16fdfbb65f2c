"""Coordinators on the brokers of a live cluster: where they are, what they load, and how their logs stay small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pytest

from kedge import NewTopic, TopicPartition
from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups.coordinator import Coordinator
from kedge.controller.groups.records import Committed, Record
from kedge.controller.groups.replies import FetchedOffsets, Joined, Listed, OffsetErrors, State, Synced
from kedge.controller.groups.requests import Commit, FetchOffsets, Heartbeat, Join, Sync
from kedge.controller.model.logs import Batch
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire.data.compacting import BatchRecords
from kedge.controller.wire.groups import GroupRecords
from tests.kit.waiting import until

TP: Final = TopicPartition("orders", 0)
OFFSETS: Final = TopicPartition("__consumer_offsets", 0)
WAIT_S: Final = 30


class Groups:
    """Three brokers with one partition of `__consumer_offsets`, and with the topic orders."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.groups = cluster.groups

    def ask(self, asked: Any, broker_id: int | None = None) -> Any:
        """What the coordinator answers, once there is one."""
        transient = {CoordinatorError.NOT_COORDINATOR, CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS}
        answers: list[Any] = []

        def is_answered() -> bool:
            answers.append(self.groups.ask(broker_id, asked).result(WAIT_S))
            return not set(errors(answers[-1])) & transient

        until(is_answered)
        return answers[-1]

    def commit(self, group: str, offset: int, tp: TopicPartition = TP) -> None:
        answer = self.ask(Commit(group, {tp: Committed(offset)}))
        assert answer == OffsetErrors({tp: CoordinatorError.NONE})

    def committed(self, group: str) -> int | None:
        answer = self.ask(FetchOffsets(group, (TP,)))
        assert isinstance(answer, FetchedOffsets)
        found = answer.offsets[TP]
        return None if found is None else found.offset

    @property
    def leader(self) -> int:
        return int(self.cluster.controller.query(lambda view: partition(view).leader).result(WAIT_S))

    @property
    def in_sync(self) -> int:
        """How many replicas are in sync, as the leader of the partition knows it: later than the controller."""
        with self.cluster.lock:
            leds = self.groups._led.values()  # noqa: SLF001 - no answer to a client has it
            return max((len(led.replica.isr) for led in leds), default=0)


def partition(view: Any) -> Any:
    return view.partition(OFFSETS.topic, OFFSETS.partition)


def errors(answer: Any) -> list[CoordinatorError]:
    return (
        list(answer.errors.values())
        if isinstance(answer, OffsetErrors)
        else [getattr(answer, "error", CoordinatorError.NONE)]
    )


@pytest.fixture
def live() -> Iterator[Groups]:
    with LiveCluster(LiveServer(), {1: "a", 2: "b", 3: "c"}, seed=1) as cluster:
        cluster.logs.begin(BatchRecords())
        cluster.groups.begin(GroupRecords())
        cluster.until_ready(WAIT_S)
        topics = {OFFSETS.topic: NewTopic(1, 3, configs={"segment.bytes": "2000"}), TP.topic: NewTopic(1, 3)}
        cluster.controller.admin.create_topics(topics).all().result(WAIT_S)
        yield Groups(cluster)


def joined(live: Groups, group: str = "g") -> str:
    """The id of the one member of a stable group."""
    answer = live.ask(Join(group, "", "id", "consumer", (("range", b""),), 10_000, 10_000, client_id="a"))
    assert isinstance(answer, Joined)
    synced = live.ask(Sync(group, answer.generation, answer.member_id, {answer.member_id: b"everything"}))
    assert synced == Synced(CoordinatorError.NONE, "consumer", "range", b"everything")
    return answer.member_id


def test_only_the_leader_of_the_partition_coordinates(live: Groups) -> None:
    live.commit("g", 1)
    for broker in (1, 2, 3):
        answer = live.groups.ask(broker, FetchOffsets("g", (TP,))).result(WAIT_S)
        assert isinstance(answer, FetchedOffsets) == (broker == live.leader)


@pytest.mark.slow
def test_groups_go_on_when_the_leader_dies(live: Groups) -> None:
    live.commit("other", 7)
    member_id = joined(live)
    live.cluster.kill_broker(live.leader)
    assert live.committed("other") == 7
    assert live.ask(Heartbeat("g", 1, member_id)) == Answered(CoordinatorError.NONE)
    live.commit("other", 8)
    assert live.committed("other") == 8


@pytest.mark.slow
@pytest.mark.checklist(261)
def test_groups_follow_a_move_of_their_partition(live: Groups) -> None:
    live.commit("other", 7)
    member_id = joined(live)
    for target in ([2], [3], [1, 2]):
        live.cluster.controller.admin.alter_partition_reassignments({OFFSETS: target}).all().result(WAIT_S)
        until(lambda: not live.cluster.controller.describe().reassigning_partitions)
        assert live.committed("other") == 7
        assert live.ask(Heartbeat("g", 1, member_id)) == Answered(CoordinatorError.NONE)


@pytest.mark.slow
def test_waiting_member_is_sent_to_the_new_coordinator(live: Groups) -> None:
    joined(live)
    waiting = live.groups.ask(None, Join("g", "", "b", "consumer", (("range", b""),), 10_000, 60_000, client_id="b"))
    assert live.ask(Heartbeat("g", 1, "a-id")) == Answered(CoordinatorError.REBALANCE_IN_PROGRESS)
    live.cluster.kill_broker(live.leader)
    assert waiting.result(WAIT_S) == Joined(CoordinatorError.NOT_COORDINATOR, "b-b")


def test_groups_are_listed_by_the_broker_that_coordinates_them(live: Groups) -> None:
    live.commit("g", 1)
    for broker in (None, 1, 2, 3):
        here = [Listed("g", "", State.EMPTY)] if broker in {None, live.leader} else []
        assert live.groups.listed(broker).result(WAIT_S) == (CoordinatorError.NONE, here)


def test_topic_that_is_not_there_is_not_committed(live: Groups) -> None:
    unknown = TopicPartition("payments", 0)
    answer = live.ask(Commit("g", {TP: Committed(1), unknown: Committed(1)}))
    assert answer.errors == {TP: CoordinatorError.NONE, unknown: CoordinatorError.UNKNOWN_TOPIC_OR_PARTITION}


def test_offsets_do_not_outlive_their_topic(live: Groups) -> None:
    live.commit("g", 5)
    live.commit("other", 6)
    admin = live.cluster.controller.admin
    admin.delete_topics(["orders"]).all().result(WAIT_S)
    until(lambda: not live.cluster.controller.query(lambda view: view.topic("orders")).result(WAIT_S))
    admin.create_topics({"orders": NewTopic(1, 3)}).all().result(WAIT_S)
    until(lambda: live.committed("g") is None)
    live.commit("g", 1)
    live.cluster.kill_broker(live.leader)
    assert (live.committed("g"), live.committed("other")) == (1, None)


@pytest.mark.slow
def test_grown_log_is_compacted_without_loss(live: Groups) -> None:
    live.commit("once", 5)
    member_id = joined(live)
    number, largest = 0, 0

    def is_compacted() -> bool:
        nonlocal number, largest
        number += 1
        live.commit("often", number)
        size = live.cluster.held_bytes()[live.leader]
        largest = max(largest, size)
        return size < largest / 2

    until(is_compacted)
    live.commit("often", number + 1)
    assert start(live) == 0
    live.cluster.kill_broker(live.leader)
    assert (live.committed("once"), live.committed("often")) == (5, number + 1)
    assert live.ask(Heartbeat("g", 1, member_id)) == Answered(CoordinatorError.NONE)


def start(live: Groups) -> int:
    """Where the log of groups begins."""
    return live.cluster.logs.bounds(None, OFFSETS).result(WAIT_S).start_offset


@contextmanager
def alone(retention_bytes: int) -> Iterator[Groups]:
    """One broker, which keeps so many bytes of each partition."""
    with LiveCluster(LiveServer(), {1: None}, seed=1, retention_bytes=retention_bytes) as cluster:
        cluster.groups.begin(GroupRecords())
        cluster.until_ready(WAIT_S)
        topics = {OFFSETS.topic: NewTopic(1, 1), TP.topic: NewTopic(1, 1)}
        cluster.controller.admin.create_topics(topics).all().result(WAIT_S)
        yield Groups(cluster)


def test_log_of_groups_is_not_cut_by_retention() -> None:
    with alone(retention_bytes=1_000) as live:
        for number in range(15):
            live.commit(f"group {number}", number)
        assert start(live) == 0


def test_commit_without_enough_replicas_is_to_be_tried_again(live: Groups) -> None:
    live.commit("g", 1)
    for broker in sorted({1, 2, 3} - {live.leader}):
        live.cluster.kill_broker(broker)
    with live.cluster.lock:
        live.cluster.network.settings["topics", OFFSETS.topic] = {"min.insync.replicas": "2"}
    until(lambda: live.in_sync == 1)
    answer = live.ask(Commit("g", {TP: Committed(2)}))
    assert answer == OffsetErrors({TP: CoordinatorError.COORDINATOR_NOT_AVAILABLE})
    assert live.committed("g") == 1


def test_new_leader_answers_when_it_knows_what_was_acknowledged(live: Groups) -> None:
    live.commit("g", 1)
    with live.cluster.lock:  # as if the records of the former leader were not known to be committed yet
        replica = live.cluster.logs.leaders.led_by(live.cluster.brokers[live.leader], OFFSETS)
        assert replica is not None
        replica.leader_epoch, replica.epoch_start = replica.leader_epoch + 1, replica.log.end_offset + 1
    answer = live.groups.ask(None, FetchOffsets("g", (TP,))).result(WAIT_S)
    assert answer == Answered(CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS)
    with live.cluster.lock:
        replica.epoch_start = replica.log.end_offset
    assert live.committed("g") == 1


def test_coordinator_that_fails_is_loaded_with_all_that_it_appended(
    live: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.commit("g", 1)
    followers = sorted({1, 2, 3} - {live.leader})
    for broker in followers:
        live.cluster.pause_broker(broker)
    under_way = live.groups.ask(None, Commit("g", {TP: Committed(2)}))
    ask = Coordinator.ask

    def failing(coordinator: Coordinator, asked: Any, ticket: Any, now_ms: int) -> Any:
        if isinstance(asked, Heartbeat):
            raise TypeError("planted")
        return ask(coordinator, asked, ticket, now_ms)

    monkeypatch.setattr(Coordinator, "ask", failing)
    with pytest.raises(TypeError, match="planted"):
        live.groups.ask(None, Heartbeat("g", 1, "a")).result(WAIT_S)
    assert under_way.result(WAIT_S) == OffsetErrors({TP: CoordinatorError.NOT_COORDINATOR})
    asked = live.groups.ask(None, FetchOffsets("g", (TP,))).result(WAIT_S)
    assert asked == Answered(CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS)
    for broker in followers:
        live.cluster.resume_broker(broker)
    assert live.committed("g") == 2


def test_full_partition_of_groups_takes_commits() -> None:
    with alone(retention_bytes=200) as live:
        for number in range(15):
            live.commit("g", number)
        assert live.committed("g") == 14


def test_request_that_cannot_be_written_fails_alone(live: Groups) -> None:
    live.commit("g", 1)
    with live.cluster.lock:  # so that both are there at once
        bad = live.groups.ask(None, Commit("x" * 40_000, {TP: Committed(1)}))
        good = live.groups.ask(None, Commit("g", {TP: Committed(2)}))
    assert bad.result(WAIT_S) == OffsetErrors({TP: CoordinatorError.UNKNOWN_SERVER_ERROR})
    assert good.result(WAIT_S) == OffsetErrors({TP: CoordinatorError.NONE})


def test_generation_that_does_not_fit_into_the_log_is_refused_before_it_is_encoded(
    live: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Encoding stops all other requests meanwhile. The group can go on."""
    encoded: list[int] = []
    encode = GroupRecords.encode

    def counting(codec: GroupRecords, records: Sequence[Record], now_ms: int, producer: None) -> Batch:
        batch = encode(codec, records, now_ms, producer)
        encoded.append(len(batch.payload))
        return batch

    monkeypatch.setattr(GroupRecords, "encode", counting)
    protocols = (("range", b"x" * 600_000),)
    first = live.ask(Join("g", "", "id", "consumer", protocols, 10_000, 10_000, client_id="a"))
    assigned = {first.member_id: b"y" * 600_000}
    assert live.ask(Sync("g", first.generation, first.member_id, assigned)) == Synced(
        CoordinatorError.UNKNOWN_SERVER_ERROR
    )
    again = live.ask(Join("g", first.member_id, "", "consumer", (("range", b"less"),), 10_000, 10_000))
    synced = live.ask(Sync("g", again.generation, first.member_id, {first.member_id: b"all"}))
    assert synced == Synced(CoordinatorError.NONE, "consumer", "range", b"all")
    assert 0 < max(encoded) < 1000
