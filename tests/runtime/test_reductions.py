"""Reductions as an admin asks for them, and as keys: that stand there, may not be read, are written by two at once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge import (
    DeletePartitions,
    HostResponse,
    InvalidPartitions,
    Journal,
    LogReport,
    MemorySink,
    NewTopic,
    Settings,
    StopReplicaRequest,
    TopicDeletionDisabled,
)
from kedge.controller.codec import keys
from tests.runtime.world import Brokers, Cluster, cluster_of_three, failing

KEY = "/admin/delete_topic_partitions/t"
TOPIC = "/brokers/topics/t"
STATE_2 = f"{TOPIC}/partitions/2/state"


def cluster(partitions: int = 3, **more: Any) -> Cluster:
    """Topic t, each partition on 1 and 2."""
    made = cluster_of_three(**more)
    made.done(made.controller.admin.delete_topics(["t"]).all())
    made.wait(500)
    made.create("t", *[(1, 2)] * partitions)
    return made


def ask(made: Cluster, total: int | None, *, immediate: bool = False, **more: Any) -> Any:
    return made.controller.admin.delete_partitions({"t": DeletePartitions(total, immediate, **more)})


def listed(made: Cluster) -> list[str]:
    return sorted(json.loads(made.keys()[TOPIC])["partitions"])


@pytest.mark.slow
def test_a_purge_of_many_partitions_leaves_others_their_turn() -> None:
    """A commit has ten records for each of a hundred decisions, and what one Decision has more; all of these partitions
    would be purged by 25 decisions, so by one commit."""
    sink = MemorySink()
    made = cluster(1_500, journal=Journal(sink))
    made.done(ask(made, 1, immediate=True)["t"])
    made.run()
    assert listed(made) == ["0"]
    rows = [json.loads(line) for line in sink.lines]
    purged = Counter(row["seq"] for row in rows if row["event"] == "PartitionPurged")
    assert sum(purged.values()) == 1_499
    assert max(purged.values()) < 1_000 + 60


@pytest.mark.checklist(201)
def test_switched_off_it_is_refused_and_a_key_of_others_is_removed() -> None:
    made = cluster(settings=Settings(delete_topic_partition_enable=False))
    assert isinstance(made.error(ask(made, 1)["t"]), TopicDeletionDisabled)
    made.put(KEY, {"version": 1, "partitions": {"2": {"timestamp": 1, "immediate": True}}})
    made.run()
    assert not made.has(KEY)
    assert "is off" in made.findings()[keys.DELETE_PARTITIONS]
    assert listed(made) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "make",
    [
        DeletePartitions,
        lambda: DeletePartitions(1, partitions=[2]),
        lambda: DeletePartitions(True),
        lambda: DeletePartitions("1"),  # type: ignore[arg-type]
        lambda: DeletePartitions(1, 1),  # type: ignore[arg-type]
        lambda: DeletePartitions(partitions="12"),  # type: ignore[arg-type]
        lambda: DeletePartitions(partitions=[None]),  # type: ignore[list-item]
    ],
)
def test_a_request_of_a_wrong_kind_raises_in_the_caller(make: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        make()


def test_a_key_that_was_there_before_its_topic_is_no_request_for_it() -> None:
    """It is removed, seen or not, before the topic is made."""
    made = cluster_of_three()
    made.put("/admin/delete_topic_partitions/new", {"partitions": {"1": {"timestamp": 1, "immediate": True}}})
    made.done(made.controller.admin.create_topics({"new": NewTopic(2, 1)}).all())
    made.wait(1_000)
    assert not made.has("/admin/delete_topic_partitions/new")
    assert sorted(json.loads(made.keys()["/brokers/topics/new"])["partitions"]) == ["0", "1"]


def test_key_written_at_the_same_time_is_taken_in() -> None:
    """Our commit meets it, and is decided again after what it says: the earlier time counts."""
    made = cluster()
    made.put(KEY, {"version": 1, "partitions": {"2": {"timestamp": 5, "immediate": False}}, "mine": 7})
    asked = ask(made, 1)
    made.run()
    assert made.done(asked["t"]) == {1: -1, 2: -1}
    found = json.loads(made.keys()[KEY])
    assert found["partitions"]["2"]["timestamp"] == 5
    assert sorted(found["partitions"]) == ["1", "2"]
    assert found["mine"] == 7


def test_a_report_from_before_it_was_read_only_does_not_make_a_partition_empty() -> None:
    """Records may have come after it; the report under the present leader epoch counts."""
    made = cluster(settings=Settings(delete_topic_partition_interval_delay_ms=100))
    epoch = made.state("t", 2)["leader_epoch"]
    made.controller.report_log(LogReport("t", 2, 1, epoch, 0, 0, 0))
    made.done(ask(made, 2)["t"])
    made.wait(1_000)
    assert made.state("t", 2)["status_code"] == -1
    made.controller.report_log(LogReport("t", 2, 1, epoch + 1, 7, 9, 9))
    made.wait(1_000)
    assert made.state("t", 2)["status_code"] == -1
    made.controller.report_log(LogReport("t", 2, 1, epoch + 1, 9, 9, 9))
    made.wait(1_000)
    assert listed(made) == ["0", "1"]


class Told(Brokers):
    """A host with the notice."""

    def __init__(self) -> None:
        super().__init__()
        self.purged: list[tuple[str, int]] = []

    def partition_purged(self, topic: str, partition: int) -> None:
        self.purged.append((topic, partition))


@pytest.mark.checklist(219)
def test_host_hears_of_each_deleted_partition() -> None:
    """Once it is, and again by a controller that finds the key unfinished: perhaps no broker heard of it."""
    made = Cluster(start=False)
    made.host = host = Told()
    made.another(1)
    made.join(1, 2)
    made.create("t", (1, 2), (1, 2))
    host.answer = failing(1, StopReplicaRequest)
    made.done(ask(made, 1, immediate=True)["t"])
    made.wait(500)
    assert host.purged == []
    host.answer = lambda _: HostResponse()
    made.wait(12_000, 500)
    assert host.purged == [("t", 1)]
    made.put(KEY, {"version": 1, "partitions": {"1": {"timestamp": 1, "immediate": True}}})
    made.controllers.pop().close()
    made.another(2)
    made.wait(500)
    assert host.purged == [("t", 1)] * 2
    assert not made.has(KEY)


@pytest.mark.parametrize("partitions", range(2, 9))
def test_however_many_partitions_go_by_one_commit_the_key_goes_with_the_last(partitions: int) -> None:
    """Also where the last part is just as much as a commit takes."""
    made = cluster(partitions, options={"commit_ops_max": 10})
    made.done(ask(made, 1, immediate=True)["t"])
    made.wait(2_000)
    assert listed(made) == ["0"]
    assert not made.has(KEY)


@pytest.mark.parametrize("passes", range(3, 9))
def test_a_key_that_is_lost_while_partitions_go_leaves_only_a_tail_to_finish(passes: int) -> None:
    """A commit takes two partitions, the last ones first, and the next controller finishes those that have begun."""
    made = cluster(5, options={"commit_ops_max": 6})
    ask(made, 1, immediate=True)
    for _ in range(passes):
        made.controllers[-1].poll_once()
    begun = [name for name, value in made.keys(f"{TOPIC}/partitions").items() if b"status" in value]
    made.controllers.pop().close()
    if made.has(KEY):
        made.put(KEY, b"{broken")
    made.another(2)
    made.wait(6_000, 500)
    assert not made.has(KEY)
    left = [int(number) for number in listed(made)]
    assert sorted(left) == [*range(len(left))]
    assert len(left) <= 5 - len(begun)
    assert not [name for name, value in made.keys(f"{TOPIC}/partitions").items() if b"status" in value]


def test_what_members_have_to_delete_waits_while_the_state_cannot_be_read() -> None:
    """A takeover cannot tell whether the partition is offline, so it neither drops the order nor gives it."""
    made = cluster()
    made.host.answer = failing(1, StopReplicaRequest)
    made.done(ask(made, 2, immediate=True)["t"])
    made.run()
    offline = made.keys()[STATE_2]
    made.controllers.pop().close()
    made.put(STATE_2, b"{broken")
    made.host.answer = Brokers().answer
    made.host.told.clear()
    made.another(2)
    made.wait(1_000)
    assert made.host.to(1, StopReplicaRequest) == []
    made.put(STATE_2, offline)
    made.wait(6_000, 500)
    assert made.host.to(1, StopReplicaRequest)
    assert listed(made) == ["0", "1"]
    assert not made.has(KEY)


def test_an_order_to_delete_that_is_void_goes_once_the_state_can_be_read() -> None:
    """Its broker is a member of the partition, which is online."""
    made = cluster()
    online = made.keys()[STATE_2]
    one = {"topic": "t", "topic_id": made.get(TOPIC)["topic_id"], "partition": 2, "leader_epoch": 0}
    made.controllers.pop().close()
    made.put(STATE_2, b"{broken")
    made.put("/admin/replica_deletions/1/901", {"version": 1, "replicas": [one]})
    made.another(2)
    made.wait(1_000)
    assert made.keys("/admin/replica_deletions/1")
    made.put(STATE_2, online)
    made.wait(6_000, 500)
    assert not made.keys("/admin/replica_deletions/1")
    assert [s for s in made.host.to(1, StopReplicaRequest) if s.partitions[0].topic_id == one["topic_id"]] == []


@pytest.mark.full
def test_a_topic_of_many_thousand_partitions_goes_down_in_few_commits_each_within_its_limits() -> None:
    """15,000 to 10: the topic's key, which holds them all, is not written once per partition. A request for more than
    the key of a reduction holds is refused before anything is written."""
    made = cluster_of_three()
    for name, count in (("wide", 15_000), ("wider", 18_000)):
        made.done(made.controller.admin.create_topics({name: NewTopic(count, 1)}).all())
    made.wait(2_000)
    asked = made.controller.admin.delete_partitions({"wider": DeletePartitions(10, True)})
    assert isinstance(made.error(asked["wider"]), InvalidPartitions)
    seq = json.loads(made.keys()["/kedge/commit"])["seq"]
    asked = made.controller.admin.delete_partitions({"wide": DeletePartitions(10, True)})
    assert set(made.done(asked["wide"]).values()) == {1}
    made.wait(10_000, 100)
    assert len(json.loads(made.keys()["/brokers/topics/wide"])["partitions"]) == 10
    assert not made.has("/admin/delete_topic_partitions/wide")
    commits = json.loads(made.keys()["/kedge/commit"])["seq"] - seq
    assert commits < 500, "mostly acknowledgements"


partitions = st.dictionaries(
    st.one_of(st.sampled_from(["0", "1", "2", "3", "99", "-1", "x", "01", ""]), st.text(max_size=3)),
    st.one_of(
        st.fixed_dictionaries(
            {"timestamp": st.one_of(st.integers(0, 10), st.integers(), st.none(), st.text(max_size=2))},
            optional={"immediate": st.one_of(st.booleans(), st.integers(0, 1)), "mine": st.integers()},
        ),
        st.none(),
        st.integers(),
    ),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(found=st.one_of(st.binary(max_size=12), st.fixed_dictionaries({"partitions": partitions})), is_led=st.booleans())
def test_whatever_stands_in_the_key_only_a_tail_goes_and_the_controller_lives(found: Any, is_led: bool) -> None:
    """What cannot be obeyed is removed; the rest of the topic is as it was."""
    made = cluster()
    if not is_led:
        made.controllers.pop().close()
    made.put(KEY, found)
    if not is_led:
        made.another(2)
    made.wait(1_500, 100)
    left = sorted(map(int, listed(made)))
    assert left == list(range(len(left)))
    assert left
    status = [made.state("t", p).get("status_code", 0) for p in left]
    assert status == sorted(status, reverse=True), "only the last ones are not online"
    assert status[0] == 0
    assert made.has(KEY) is (-1 in status)
    made.done(made.move([2, 3]))
