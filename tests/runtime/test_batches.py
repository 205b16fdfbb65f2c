"""Batches: closed before they outgrow the store, never splitting a Decision, each key encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge import InvalidRequest, Journal, MemorySink, NewPartitions, NewTopic, Settings, TopicPartition
from kedge.stores.checks import op_bytes
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.world import Cluster, cluster_of_three


def sizes(cluster: Cluster) -> list[tuple[int, int]]:
    """Ops and bytes of every fenced commit so far."""
    commits = [call.ops for call in cluster.store.calls if call.name == "commit" and TOKEN_KEY in call.keys]
    return [(len(ops), sum(map(op_bytes, ops))) for ops in commits]


def create_many(cluster: Cluster, partitions: int, replicas: Sequence[int] = (1, 2, 3)) -> None:
    cluster.create("m", *[replicas] * partitions)


def move_all(cluster: Cluster, partitions: int, target: list[int]) -> None:
    plan = {TopicPartition("m", p): target for p in range(partitions)}
    cluster.done(cluster.controller.admin.alter_partition_reassignments(plan).all())


def test_all_that_waits_goes_out_in_one_commit() -> None:
    """Each key once, however many records touched it, behind the two ops of the fence."""
    cluster = cluster_of_three()
    create_many(cluster, 30)
    before = len(sizes(cluster))
    move_all(cluster, 30, [4, 5, 6])
    assert [ops for ops, _ in sizes(cluster)[before:]] == [2 + 30]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(8, 60), st.integers(12_000, 30_000), st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_whatever_the_limits_are_everything_is_done_and_no_commit_outgrows_them(
    ops_max: int, bytes_max: int, steps: list[int]
) -> None:
    """Expansions of one topic and moves within one batch grow the same keys."""
    cluster = Cluster(options={"commit_ops_max": ops_max, "commit_bytes_max": bytes_max})
    cluster.join(1, 2, 3, 4, 5, 6)
    create_many(cluster, 5)
    total = 5
    futures: list[Future[Any]] = []
    for step in steps:
        total += step
        futures += cluster.controller.admin.create_partitions({"m": NewPartitions(total)}).values()
    futures += [cluster.move([4, 5, 6], "m", p) for p in range(5)]
    futures += [cluster.move([4, 5], "m", p) for p in range(5)]
    for future in futures:
        cluster.error(future)
    cluster.run()
    assert cluster.controller.describe().partitions == total
    assert all(ops <= ops_max and size <= bytes_max for ops, size in sizes(cluster))
    assert not cluster.store.errors  # the bounds were right, nothing was found out by being refused


def test_a_key_that_grows_within_a_batch_is_reckoned_as_often() -> None:
    """Many small expansions of two topics are two ops, of values that each of them makes longer."""
    cluster = Cluster(options={"commit_bytes_max": 14_000})
    wide = (2**31 - 1, 2**31 - 2, 2**31 - 3)
    cluster.join(*wide)
    for name in ("m", "n"):
        cluster.create(name, wide)
    for name in ("m", "n"):
        for total in range(11, 211, 10):
            cluster.controller.admin.create_partitions({name: NewPartitions(total, [wide] * 10)})
    cluster.run()
    assert cluster.controller.describe().partitions == 402
    assert not cluster.store.errors


def test_targets_of_many_moves_are_reckoned() -> None:
    """The state of a partition grows by what it moves from and to."""
    cluster = Cluster(options={"commit_bytes_max": 14_000})
    wide = [2**31 - 1 - n for n in range(40)]
    cluster.join(*wide)
    create_many(cluster, 20, wide[:20])
    move_all(cluster, 20, wide[20:])
    assert not cluster.store.errors


def test_a_decision_is_never_split() -> None:
    """A completing move writes two keys and the intents of three brokers: all in one commit."""
    cluster = Cluster(options={"commit_ops_max": 2 + 5})
    cluster.join(1, 2, 3, 4, 5, 6)
    create_many(cluster, 2)
    move_all(cluster, 2, [4, 5, 6])
    for future in [cluster.isr([1, 2, 3, 4, 5, 6], "m", p) for p in range(2)]:
        cluster.done(future)
    commits = [call.keys for call in cluster.store.calls if call.name == "commit"]
    completing = [
        len(keys) for keys in commits if "/brokers/topics/m" in keys and any("deletions" in key for key in keys)
    ]
    assert completing == [2 + 5, 2 + 5]


def test_what_no_commit_can_hold_is_refused_and_the_controller_goes_on() -> None:
    """Alone in its batch and still too large: the caller hears it, describe() tells it."""
    cluster = Cluster(options={"commit_bytes_max": 3_000})
    cluster.join(1, 2, 3)
    new = NewTopic(replica_assignments=[(1, 2, 3)] * 200)
    small = cluster.controller.admin.create_topics({"small": NewTopic(1, 1), "large": new, "other": NewTopic(1, 1)})
    assert isinstance(cluster.error(small["large"]), InvalidRequest)
    assert cluster.done(small["small"]).name == "small"
    assert cluster.done(small["other"]).name == "other"
    assert "too large" in cluster.findings()
    assert cluster.get("/brokers/topics/large") is None


def test_a_value_that_the_store_refuses_halves_the_batch_until_it_is_found() -> None:
    """The size of single values is the store's to judge: TooLarge, before anything was sent."""
    cluster = Cluster(options={"value_bytes_max": 2_500})
    cluster.join(1, 2, 3)
    names = {f"n{i}": NewTopic(1, 1) for i in range(12)}
    wide = {"wide": NewTopic(replica_assignments=[(1, 2, 3)] * 200)}
    result = cluster.controller.admin.create_topics({**names, **wide, "last": NewTopic(1, 1)})
    assert isinstance(cluster.error(result["wide"]), InvalidRequest)
    assert [name for name, future in result.items() if future.exception(0)] == ["wide"]


def test_intents_of_one_broker_and_commit_stay_within_their_key() -> None:
    """A key of intents holds 64 kB at most: the batch is closed before."""
    cluster = Cluster()
    cluster.join(1, 2, 3)
    name = "m" * 200
    cluster.create(name, *[(1, 2)] * 400)

    def deaf(_: object) -> object:
        raise RuntimeError

    cluster.host.answer = deaf
    plan = {TopicPartition(name, p): [1] for p in range(400)}
    cluster.done(cluster.controller.admin.alter_partition_reassignments(plan).all())
    keys = cluster.keys("/admin/replica_deletions/2")
    assert len(keys) > 1
    assert max(map(len, keys.values())) <= 64_000


def test_a_batch_holds_only_so_many_decisions() -> None:
    """A setting of the host, so that a large request does not hold up small ones for long."""
    cluster = cluster_of_three(settings=Settings(commit_decisions_max=7))
    create_many(cluster, 20)
    before = len(sizes(cluster))
    move_all(cluster, 20, [4, 5, 6])
    assert max(ops for ops, _ in sizes(cluster)[before:]) <= 2 + 7 + 1


def test_caller_is_answered_once_the_commit_is_published() -> None:
    """What is looked at in the moment of the answer shows it: the journal, and counts."""
    sink, seen = MemorySink(), list[tuple[bool, int]]()
    cluster = cluster_of_three(journal=Journal(sink))

    def look(_: object) -> None:
        is_told = any('"event":"TargetSet"' in line for line in sink.lines)
        seen.append((is_told, cluster.controller.describe().reassigning_partitions))

    moved = cluster.move([4, 5, 6])
    moved.add_done_callback(look)
    cluster.done(moved)
    assert seen == [(True, 1)]


def test_a_decision_without_keys_commits_the_token_alone() -> None:
    """The death of a broker that holds nothing."""
    cluster = cluster_of_three()
    before = len(sizes(cluster))
    cluster.leave(6)
    assert [ops for ops, _ in sizes(cluster)[before:]] == [2, 2]
    assert cluster.controller.describe().live_brokers == (1, 2, 3, 4, 5)


def test_an_intent_that_is_void_by_the_end_of_its_batch_is_not_written() -> None:
    """A move is cancelled and requested again at once: its target keeps the log."""
    cluster = cluster_of_three()
    cluster.done(cluster.move([1, 2, 4]))
    cancelled, moved = cluster.move(None), cluster.move([1, 2, 4])
    cluster.run()
    assert [cluster.done(each).target_replicas for each in (cancelled, moved)] == [None, (1, 2, 4)]
    assert not cluster.keys("/admin/replica_deletions")
