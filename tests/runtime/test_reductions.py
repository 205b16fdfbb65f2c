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
    InvalidPartitions,
    Journal,
    MemorySink,
    NewTopic,
)
from tests.runtime.world import Cluster, cluster_of_three

KEY = "/admin/delete_topic_partitions/t"
TOPIC = "/brokers/topics/t"


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
