"""Demoted brokers lead nothing that others can lead, no data is copied, and the order can be put back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline import local
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.choice import Choice
from kedge.pipeline.stages.requests import Demote, Drain, Leaders, Request, Undo
from tests.pipeline.snapshots import broker, clusters, loads, partition, tables
from tests.pipeline.test_choice import reasons, targets
from tests.pipeline.test_plan import Tables, living, made, rows


def after(given: Tables, found: Tables) -> Tables:
    return {**given, "partition": apply(given["partition"], found["plan_move"])}


def undone(given: Tables, found: Tables, **more: object) -> Tables:
    return made({**given, "plan_move": found["plan_move"]}, Undo("p"), **more)


def small(*partitions: tuple[object, ...], brokers: tuple[int, ...] = (1, 2, 3)) -> Tables:
    given = tables(map(broker, brokers), partitions)
    return {**given, "replica_load": loads({(str(row[0]), int(str(row[1]))): 10 for row in partitions})}


@pytest.mark.slow
@given(clusters(), st.data())
def test_a_demoted_broker_is_no_preferred_leader_or_there_is_a_reason(given: Tables, data: st.DataObject) -> None:
    gone = set(data.draw(st.lists(st.sampled_from(sorted(living(given))), min_size=1, max_size=2, unique=True)))
    found = made(given, Demote(tuple(sorted(gone))))
    refused = {(row["topic"], row["partition"]) for row in rows(found, "plan_reason")}
    for row in rows(after(given, found), "partition"):
        key = (row["topic"], row["partition"])
        assert (row["replicas"][0] in gone) <= (key in refused)
        if key in targets(found):
            assert row["replicas"][-1] in gone, "it is the last that would be elected"
    assert rows(found, "plan")[0]["complete"] is not bool(refused)
    assert {(m["topic"], m["partition"]) for m in rows(found, "plan_move") if m["replicas"][0] in gone} == set(
        targets(found)
    ), "rows that they do not lead stay"


@pytest.mark.slow
@given(clusters(), st.sampled_from((Leaders(), Demote((0,)))))
def test_a_plan_of_leaders_that_is_undone_restores_every_row(given: Tables, asked: Request) -> None:
    chosen = Demote((min(living(given)),)) if isinstance(asked, Demote) else asked
    found = made(given, chosen)
    assert all(sorted(m["replicas"]) == sorted(m["target_replicas"]) for m in rows(found, "plan_move"))
    assert rows(found, "plan")[0]["bytes_copied"] in {0, None}
    back = undone(after(given, found), found)
    assert after(after(given, found), back)["partition"] == given["partition"]
    assert rows(back, "plan")[0]["complete"]


def test_leaders_of_a_demoted_broker_are_spread_evenly() -> None:
    given = small(*(partition("t", p, [1, 2, 3]) for p in range(6)))
    found = made(given, Demote((1,)))
    assert {row["broker_id"]: row["leaders_after"] for row in rows(found, "plan_load")} == {1: 0, 2: 3, 3: 3}
    assert rows(found, "plan")[0]["leaders_max_mean_after"] == 1.0, "over those that may lead"


def test_only_a_replica_in_sync_takes_over() -> None:
    """One that is not in sync could not be elected, and the demoted broker would go on leading."""
    given = small(partition("t", 0, [1, 2, 3], isr=[1, 3]), partition("u", 0, [1, 2], isr=[1]))
    found = made(given, Demote((1,)))
    assert targets(found) == {("t", 0): [3, 2, 1]}
    assert reasons(found) == {(1, "no other broker that may lead has a replica that is in sync"): 1}


def test_a_broker_that_leads_without_being_preferred_is_reported() -> None:
    found = made(small(partition("t", 0, [2, 1], leader=1)), Demote((1,)))
    text = "the broker leads now, but another replica is preferred: elect the preferred leader"
    assert (targets(found), reasons(found)) == ({}, {(1, text): 1})


def test_a_partition_with_a_dead_replica_is_not_reordered() -> None:
    given = {
        **small(partition("t", 0, [1, 2, 3])),
        "broker": tables([broker(1), broker(2), broker(3, state="dead")], [])["broker"],
    }
    (row,) = rows(made(given, Demote((1,))), "plan_reason")
    assert row["reason"].startswith("another replica is on a dead broker")


def test_a_choice_limits_who_leads_next() -> None:
    given = small(*(partition("t", p, [1, 2, 3]) for p in range(4)), partition("u", 0, [1, 2]))
    found = made(given, Demote((1,)), choice=Choice(to_brokers=(3,)))
    assert {row[0] for row in targets(found).values()} == {3}
    assert reasons(found) == {(1, "no other broker that may lead has a replica that is in sync"): 1}
    assert made(given, Demote((1,)), choice=Choice(exclude_brokers=(1,)))["plan_move"].num_rows == 0


def test_leaders_are_given_to_the_chosen_brokers_alone() -> None:
    given = small(*(partition("t", p, [1, 2 + p % 2]) for p in range(6)))
    found = made(given, Leaders(), choice=Choice(to_brokers=(2,)))
    assert {row["broker_id"]: row["leaders_after"] for row in rows(found, "plan_load")} == {1: 3, 2: 3, 3: 0}


def test_a_row_that_changed_since_is_not_put_back() -> None:
    given = small(*(partition("t", p, [1, 2, 3]) for p in range(4)))
    found = made(given, Demote((1,)))
    now = rows(after(given, found), "partition")
    changed = [
        partition("t", 0, [1, 2, 3]),
        partition("t", 1, [3, 1]),
        partition("t", 2, now[2]["replicas"], target=[1]),
    ]
    back = undone(small(*changed), found)
    assert (targets(back), rows(back, "plan")[0]["complete"]) == ({}, False)
    assert reasons(back) == {
        (None, "the replicas are no longer those that the plan produced"): 1,
        (None, "the partition is being reassigned"): 1,
    }, "the first has its order again, and the last was deleted"


def test_an_unknown_broker_makes_no_row_look_produced() -> None:
    """The plan ended with broker 9, which is gone: [2, 9] is not [2]."""
    found = made(small(partition("t", 0, [9, 2]), partition("u", 0, [9, 2]), brokers=(2, 9)), Demote((9,)))
    back = undone(small(partition("t", 0, [2]), partition("u", 0, [3, 2]), brokers=(2, 3)), found)
    assert set(reasons(back)) == {(None, "the replicas are no longer those that the plan produced")}
    assert len(rows(back, "plan_reason")) == 2


def test_leaders_are_not_given_back_to_a_broker_that_may_not_lead() -> None:
    given = small(*(partition("t", p, [1, 2, 3]) for p in range(2)))
    found = made(given, Demote((1,)))
    draining = {
        **after(given, found),
        "broker": tables([broker(1, state="draining"), broker(2), broker(3)], [])["broker"],
    }
    text = "the earlier leader is draining, or --to-brokers or --exclude-brokers leaves it out"
    assert reasons(undone(draining, found)) == {(None, text): 2}
    kept = undone(after(given, found), found, choice=Choice(exclude_brokers=(2,)))
    assert reasons(kept) == {(None, "--exclude-brokers leaves the broker as it is"): 1}


def test_a_plan_that_copied_data_is_not_undone_by_order() -> None:
    given = small(partition("t", 0, [1]))
    found = made(given, Drain((1,)))
    with pytest.raises(BadInput, match="plan p copies data: export it, and undo it by `kedge plan submit --rollback`"):
        undone(after(given, found), found)


def test_a_rejected_row_whose_preferred_leader_is_demoted_is_a_reason() -> None:
    parts = [partition("t", 0, [1, 2]), partition("t", 1, [3, 2, 2]), partition("t", 2, [2, 3, 3])]
    silver = local.compute_load(local.validate(tables([broker(b) for b in (1, 2, 3)], parts)))
    found = local.demote(silver, brokers=[3])
    assert found["plan"]["complete"].to_pylist() == [False]
    assert found["plan_reason"].select(["topic", "partition", "broker_id"]).to_pylist() == [
        {"topic": "t", "partition": 1, "broker_id": 3}
    ]


def test_no_broker_to_demote_is_a_clear_error() -> None:
    with pytest.raises(BadInput, match="demote: expected at least one broker"):
        Demote(())


def test_rows_in_any_order_are_put_back_to_the_same_plan() -> None:
    given = small(*(partition("t", p, [1, 2, 3]) for p in range(4)))
    found = made(given, Demote((1,)))
    turned = {"plan_move": found["plan_move"].take(pa.array([3, 1, 2, 0]))}
    assert undone(after(given, found), turned) == undone(after(given, found), found)
