"""`reassign_partitions` (KIP-179): exclusive moves under a throttle that goes by itself."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from kedge import (
    AlterReassignmentsOptions,
    Hooks,
    InvalidReplicaAssignment,
    InvalidRequest,
    InvalidThrottle,
    InvalidTopic,
    NotController,
    ReassignmentInProgress,
    ReassignPartitionsOptions,
    RequestTimedOut,
    StorageError,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
    UnknownMemberId,
)
from kedge.controller.admin import Admin
from kedge.controller.codec import keys
from kedge.controller.model.errors import ApiError, ClusterAuthorizationFailed, ErrorCode, PolicyViolation
from kedge.controller.model.throttle_configs import UNLIMITED
from kedge.stores.base import Put
from tests.runtime.throttled import (
    FOLLOWER_LIST,
    LEADER_LIST,
    RATE,
    T,
    both,
    broker_config,
    cluster_with,
    complete,
    ended,
    marked,
    nobody,
    nothing_left,
    reassign,
    topic_config,
)
from tests.runtime.world import cluster_of_three

NOWHERE = TopicPartition("nowhere", 0)
FIVE = TopicPartition("t", 5)


@pytest.mark.checklist(1, 2, 6)
def test_a_move_is_accepted_at_once_and_ends_with_the_target_in_its_order() -> None:
    """Without options as with the default ones."""
    cluster = cluster_with()
    results = cluster.controller.admin.reassign_partitions({T: [5, 4, 6]})
    assert cluster.done(results.all()) == {T: None}
    assert cluster.state()["targetReplicas"] == [5, 4, 6]
    complete(cluster)
    assert cluster.get(keys.topic("t"))["partitions"]["0"] == [5, 4, 6]


@pytest.mark.checklist(11)
@pytest.mark.parametrize("throttle", [None, UNLIMITED])
def test_without_a_throttle_nothing_is_set_and_nothing_marked(throttle: int | None) -> None:
    """2^63-1 is no throttle either."""
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}, throttle) == {T: None}
    assert marked(cluster) == (None, None)
    assert topic_config(cluster) == broker_config(cluster, 1) == {}


@pytest.mark.checklist(12, 13, 14, 31, 32, 34)
def test_a_throttle_is_set_on_every_broker_involved_and_names_the_replicas_of_both_sides() -> None:
    """Present replicas as leaders, added ones as followers; the marks name the same as the request."""
    cluster = cluster_with({"t": [[1, 2]], "u": [[5]]})
    assert reassign(cluster, {T: [2, 3]}) == {T: None}
    assert topic_config(cluster) == {LEADER_LIST: "0:1,0:2", FOLLOWER_LIST: "0:3"}
    assert {b: broker_config(cluster, b) for b in range(1, 7)} == {b: both(RATE) if b < 4 else {} for b in range(1, 7)}
    assert marked(cluster) == (["t"], [1, 2, 3])
    assert topic_config(cluster, "u") == {}
    assert cluster.get(keys.REASSIGN_PARTITIONS) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 3]}],
    }
    assert cluster.controller.describe().throttles_to_remove == {"topics": ("t",), "brokers": ("1", "2", "3")}


@pytest.mark.checklist(15)
def test_a_partition_that_does_not_move_adds_nothing_to_the_lists() -> None:
    cluster = cluster_with({"t": [[1, 2], [1, 2], [1, 2]]})
    targets = {T: [2, 1], TopicPartition("t", 1): [1, 2], TopicPartition("t", 2): [1, 3]}
    assert set(reassign(cluster, targets).values()) == {None}
    assert topic_config(cluster) == {LEADER_LIST: "2:1,2:2", FOLLOWER_LIST: "2:3"}


def test_a_request_that_copies_nothing_sets_no_throttle() -> None:
    """Another order, or fewer replicas."""
    cluster = cluster_with()
    assert reassign(cluster, {T: [3, 1]}) == {T: None}
    nothing_left(cluster)


@pytest.mark.checklist(17, 35)
def test_the_throttle_goes_when_the_last_move_has_ended() -> None:
    """Entries leave the legacy key one by one; the throttle stays until the key is gone."""
    cluster = cluster_with({"t": [[1, 2]], "u": [[2, 3]]})
    u = TopicPartition("u", 0)
    assert reassign(cluster, {T: [4, 5], u: [5, 6]}) == {T: None, u: None}
    complete(cluster)
    cluster.wait(2_000)
    assert [entry["topic"] for entry in cluster.get(keys.REASSIGN_PARTITIONS)["partitions"]] == ["u"]
    assert marked(cluster) == (["t", "u"], [1, 2, 3, 4, 5, 6])
    assert broker_config(cluster, 1) == both(RATE)
    ended(cluster, "u")


@pytest.mark.checklist(18)
def test_a_throttle_that_is_to_stay_stays_and_is_never_marked() -> None:
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}, auto_remove_throttle=False) == {T: None}
    assert marked(cluster) == (None, None)
    complete(cluster)
    cluster.wait(2_000)
    assert broker_config(cluster, 4) == both(RATE)
    assert topic_config(cluster) == {LEADER_LIST: "0:1,0:2,0:3", FOLLOWER_LIST: "0:4,0:5,0:6"}


@pytest.mark.checklist(227)
@pytest.mark.parametrize("last", ["t", "u"])
def test_the_throttle_waits_for_moves_of_the_legacy_key_and_for_those_beside_it(last: str) -> None:
    """One moves by the key, one by its target alone: whichever ends last takes the throttle along."""
    cluster = cluster_with({"t": [[1, 2]], "u": [[2, 3]]})
    first = {"t": "u", "u": "t"}[last]
    assert reassign(cluster, {T: [4, 5]}) == {T: None}
    assert cluster.error(cluster.move([5, 6], "u")) is None
    complete(cluster, first)
    cluster.wait(2_000)
    assert cluster.has(keys.REASSIGN_PARTITIONS) == (last == "t")
    assert marked(cluster) == (["t"], [1, 2, 4, 5])
    assert broker_config(cluster, 1) == both(RATE)
    complete(cluster, last)
    cluster.wait(2_000)
    nothing_left(cluster)


@pytest.mark.checklist(230)
def test_the_throttle_goes_when_everything_is_cancelled() -> None:
    cluster = cluster_with({"t": [[1, 2]], "u": [[2, 3]]})
    u = TopicPartition("u", 0)
    assert reassign(cluster, {T: [4, 5], u: [5, 6]}) == {T: None, u: None}
    assert set(cluster.done(cluster.controller.admin.cancel_partition_reassignments())) == {T, u}
    nothing_left(cluster)


@pytest.mark.parametrize("how", ["cancelled", "deleted", "deadline"])
def test_the_throttle_goes_however_the_last_move_ends(how: str) -> None:
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    if how == "cancelled":
        assert cluster.error(cluster.move(None)) is None
    elif how == "deleted":
        assert cluster.done(cluster.controller.admin.delete_topics(["t"]).all()) == {"t": None}
    else:
        asked = cluster.controller.admin.alter_partition_reassignments
        cluster.done(asked({T: [4, 5, 6]}, AlterReassignmentsOptions(move_timeout_s=0.5)).all())
    cluster.wait(3_000)
    nothing_left(cluster)


# --- what is refused


def _why(answer: Any) -> tuple[type, int]:
    return type(answer), int(answer.code)


@pytest.mark.checklist(25, 26, 29, 30)
def test_bad_partitions_have_errors_and_the_good_one_starts() -> None:
    """The legacy key names the good one only; messages say what was wrong."""
    cluster = cluster_with({"t": [[1, 2]] * 7})
    tp = [TopicPartition("t", n) for n in range(8)]
    targets = {
        tp[0]: [3, 4], tp[1]: [], tp[2]: [3, 3], tp[3]: [-1], tp[4]: [3, 99], tp[7]: [3], NOWHERE: [3],
    }  # fmt: skip
    answers = reassign(cluster, targets)
    assert answers.pop(tp[0]) is None
    assert {name: _why(answer) for name, answer in answers.items()} == {
        **dict.fromkeys((tp[1], tp[2], tp[3], tp[7]), (InvalidReplicaAssignment, 39)),
        tp[4]: (UnknownMemberId, 25),
        NOWHERE: (InvalidTopic, 17),
    }
    said = {name: answer.message for name, answer in answers.items()}
    assert "empty" in said[tp[1]]
    assert "the broker 3 more than once" in said[tp[2]]
    assert "-1" in said[tp[3]]
    assert "[99]" in said[tp[4]]
    assert "t-7" in said[tp[7]]
    assert "'nowhere' does not exist" in said[NOWHERE]
    assert [e["partition"] for e in cluster.get(keys.REASSIGN_PARTITIONS)["partitions"]] == [0]
    assert topic_config(cluster) == {LEADER_LIST: "0:1,0:2", FOLLOWER_LIST: "0:3,0:4"}


def test_a_known_broker_that_is_down_cannot_be_added() -> None:
    """39, not 25: it is one of the cluster."""
    cluster = cluster_with()
    cluster.leave(6)
    assert _why(reassign(cluster, {T: [1, 6]})[T]) == (InvalidReplicaAssignment, 39)


@pytest.mark.checklist(16)
@pytest.mark.parametrize("throttle", [0, -1, 2**63])
def test_a_throttle_that_is_none_is_refused_and_nothing_starts(throttle: int) -> None:
    """By a number of our own, since the proposal gives none."""
    cluster = cluster_with()
    before = cluster.keys("/")
    error = reassign(cluster, {T: [4, 5]}, throttle)[T]
    assert _why(error) == (InvalidThrottle, 10_179)
    assert str(throttle) in error.message
    assert cluster.keys("/") == before


@pytest.mark.checklist(9, 28)
@pytest.mark.parametrize("validate_only", [True, False])
def test_while_something_is_reassigned_all_of_it_is_refused_and_afterwards_not(validate_only: bool) -> None:
    """As long as the legacy key is there, or any partition has a target."""
    cluster = cluster_with({"t": [[1, 2]], "u": [[1, 2]]})
    u = TopicPartition("u", 0)
    assert reassign(cluster, {T: [4, 5]}) == {T: None}
    answers = reassign(cluster, {u: [3], NOWHERE: [1]}, validate_only=validate_only)
    assert {_why(answer) for answer in answers.values()} == {(ReassignmentInProgress, 60)}
    complete(cluster)
    cluster.wait(2_000)
    assert reassign(cluster, {u: [3]}, validate_only=validate_only) == {u: None}


@pytest.mark.checklist(8, 10)
def test_validate_only_gives_the_same_answers_and_changes_nothing() -> None:
    cluster = cluster_with()
    before = cluster.keys("/")
    targets = {T: [4, 5], NOWHERE: [1], FIVE: [1]}
    only = reassign(cluster, targets, validate_only=True)
    assert cluster.keys("/") == before
    really = reassign(cluster, targets)
    assert {tp: repr(answer) for tp, answer in only.items()} == {tp: repr(answer) for tp, answer in really.items()}
    assert only[T] is None


@pytest.mark.checklist(27)
def test_a_partition_that_is_named_twice_is_refused_and_the_others_are_moved() -> None:
    """In pairs, as the wire has them; a mapping cannot say so."""
    cluster = cluster_with({"t": [[1, 2]], "u": [[1, 2]]})
    u = TopicPartition("u", 0)
    answers = reassign(cluster, [(T, [4]), (T, [5]), (u, [3])])
    assert _why(answers[T]) == (InvalidRequest, 42)
    assert answers[u] is None
    assert "targetReplicas" not in cluster.state("t")


@pytest.mark.checklist(19)
def test_there_is_a_future_for_each_partition_and_all_fails_if_one_does() -> None:
    cluster = cluster_with()
    results = cluster.controller.admin.reassign_partitions({T: [4], NOWHERE: [4]})
    assert list(results) == [T, NOWHERE]
    assert isinstance(cluster.error(results.all()), InvalidTopic)
    assert cluster.error(results[T]) is None
    assert cluster.done(cluster.controller.admin.reassign_partitions({}).all()) == {}


@pytest.mark.checklist(7)
def test_a_deadline_that_passed_before_the_commit_changes_nothing() -> None:
    cluster = cluster_with()
    before = cluster.keys("/")
    options = ReassignPartitionsOptions(throttle=RATE, timeout_s=0.05)
    results = cluster.controller.admin.reassign_partitions({T: [4]}, options)
    cluster.clock.advance(1_000)
    assert isinstance(cluster.error(results[T]), RequestTimedOut)
    assert cluster.keys("/") == before


@pytest.mark.checklist(22, 48, 54)
def test_a_stand_by_answers_that_it_does_not_lead() -> None:
    """And says who does, to all three requests, also to those that name nothing and so would give back."""
    cluster = cluster_with()
    admin = cluster.another(2).admin
    cluster.run()
    sides, rate = ThrottledReplicas([1], [2]), ThrottledRate(RATE, RATE)
    answers: list[Future[Any]] = [
        *admin.reassign_partitions({T: [4]}).values(),
        *admin.alter_interbroker_throttled_rates({1: rate}).values(),
        *admin.alter_interbroker_throttled_replicas({T: sides}).values(),
        admin.reassign_partitions({}).all(),
        admin.alter_interbroker_throttled_rates({}).all(),
        admin.alter_interbroker_throttled_replicas({}).all(),
    ]
    errors = [cluster.error(future) for future in answers]
    assert len(errors) == 6
    assert all(isinstance(error, NotController) and error.active_id == 1 for error in errors)
    assert isinstance(reassign(cluster, {T: [4]})[T], NotController)


def test_a_request_that_names_nothing_is_answered_once_it_gave_back() -> None:
    cluster = cluster_with()
    admin = cluster.controller.admin
    cluster.done(admin.alter_interbroker_throttled_rates({1: ThrottledRate(RATE, RATE)}).all())
    before = cluster.get("/config/brokers/1")
    answer = admin.alter_interbroker_throttled_rates({}).all()
    assert not answer.done()
    assert cluster.done(answer) == {}
    assert cluster.get("/config/brokers/1") != before


def test_a_request_that_names_nothing_and_comes_too_late_gives_nothing_back() -> None:
    """7 once its deadline is over: nothing is given back."""
    cluster = cluster_with()
    admin = cluster.controller.admin
    cluster.done(admin.alter_interbroker_throttled_rates({1: ThrottledRate(RATE, RATE)}).all())
    before = cluster.keys("/")
    late = admin.alter_interbroker_throttled_rates({}, timeout_s=0.05).all()
    cluster.clock.advance(1_000)
    assert isinstance(cluster.error(late), RequestTimedOut)
    assert cluster.keys("/") == before


@pytest.mark.checklist(23, 24)
def test_who_may_not_and_what_the_policy_has_something_against_is_refused() -> None:
    """31 for all; 44 for the partition, with the policy's words."""
    cluster = cluster_with()
    before = cluster.keys("/")
    given = cluster.controller.admin
    error = cluster.error(nobody(cluster).reassign_partitions({T: [4]})[T])
    assert isinstance(error, ClusterAuthorizationFailed)
    error = cluster.error(nobody(cluster).alter_interbroker_throttled_rates({}).all())
    assert isinstance(error, ClusterAuthorizationFailed)
    hooks = Hooks(alter_policy=lambda _, __: "not on Fridays")
    strict = Admin(given._submitter, given._id_source, given._log_reports, hooks=hooks)  # noqa: SLF001
    error = cluster.error(strict.reassign_partitions({T: [4]})[T])
    assert isinstance(error, PolicyViolation)
    assert "not on Fridays" in error.message
    assert cluster.keys("/") == before


@pytest.mark.parametrize(
    "asked",
    [
        lambda a: a.reassign_partitions(None),
        lambda a: a.reassign_partitions({"t": [1]}),
        lambda a: a.reassign_partitions({T: "12"}),
        lambda a: a.reassign_partitions({T: None}),
        lambda a: a.reassign_partitions([T]),
        lambda a: a.reassign_partitions({T: [1]}, {"throttle": 1}),
        lambda _: ReassignPartitionsOptions(throttle=True),
        lambda _: ReassignPartitionsOptions(throttle=1.5),  # type: ignore[arg-type]
        lambda _: ReassignPartitionsOptions(validate_only=1),  # type: ignore[arg-type]
        lambda _: ReassignPartitionsOptions(timeout_s=None),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_another_kind_raise_at_once(asked: Any) -> None:
    with pytest.raises(TypeError):
        asked(cluster_of_three().controller.admin)


def test_a_topic_whose_settings_cannot_be_read_is_not_throttled() -> None:
    """Nothing can be put beside an unreadable value; without a throttle it is moved."""
    cluster = cluster_with()
    cluster.put(keys.topic_config("t"), b"{")
    cluster.run()
    assert _why(reassign(cluster, {T: [4]})[T]) == (StorageError, 56)
    assert reassign(cluster, {T: [4]}, None) == {T: None}


def test_moves_of_a_broker_whose_settings_cannot_be_read_are_not_throttled() -> None:
    """Its rate would be written over what it has. Without a throttle they begin."""
    cluster = cluster_with()
    cluster.put(keys.broker_config("4"), b"{")
    cluster.run()
    before = cluster.keys("/")
    error = reassign(cluster, {T: [4]})[T]
    assert _why(error) == (StorageError, 56)
    assert "the configs of brokers 4 cannot be read" in error.message
    assert cluster.keys("/") == before
    assert reassign(cluster, {T: [4]}, None) == {T: None}


def test_the_private_number_is_none_of_kafkas() -> None:
    """Which ends at some 130 today; 16 bits hold it."""
    assert max(int(code) for code in ErrorCode if code is not ErrorCode.INVALID_THROTTLE) < ErrorCode.INVALID_THROTTLE
    assert ErrorCode.INVALID_THROTTLE < 2**15
    assert issubclass(InvalidThrottle, ApiError)


# --- the order of writes


@pytest.mark.checklist(33)
def test_marks_and_settings_are_written_before_what_moves() -> None:
    """Mark, lists, mark, rates, the legacy key, targets; each owner's settings in one commit with its mark."""
    cluster = cluster_with({"t": [[1, 2, 3]]}, options={"commit_ops_max": 10})
    first = len(cluster.store.calls)
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    commits = [[op.key for op in call.ops if isinstance(op, Put)] for call in cluster.store.calls[first:] if call.ops]
    when = {key: n for n, commit in reversed(list(enumerate(commits))) for key in commit}
    order = [when[key] for key in (
        keys.REPLICAS_REMOVAL, keys.topic_config("t"), keys.RATES_REMOVAL, keys.broker_config("1"),
        keys.broker_config("6"), keys.REASSIGN_PARTITIONS, keys.state("t", 0),
    )]  # fmt: skip
    assert order == sorted(order)
    assert order[0] < order[1]
    assert order[2] < order[3]
    owners = {keys.topic_config("t"): keys.REPLICAS_REMOVAL, keys.broker_config("6"): keys.RATES_REMOVAL}
    assert all(owners[key] in commit for commit in commits for key in owners if key in commit)
    ended(cluster)


def test_a_request_of_many_steps_counts_as_running_until_its_last_one() -> None:
    """A second one is refused (60)."""
    cluster = cluster_with({"t": [[1, 2, 3]]}, options={"commit_ops_max": 6})
    admin = cluster.controller.admin
    first = admin.reassign_partitions({T: [4, 5, 6]}, ReassignPartitionsOptions(throttle=RATE))
    for _ in range(3):
        cluster.controller.poll_once()
    assert not first[T].done()
    assert isinstance(reassign(cluster, {T: [4]})[T], ReassignmentInProgress)
    assert cluster.error(first[T]) is None
    assert marked(cluster) == (["t"], [1, 2, 3, 4, 5, 6])


@pytest.mark.checklist(7)
def test_ended_wait_does_not_stop_what_was_started() -> None:
    """The request is answered with 7 and its move started all the same, throttle and all."""
    cluster = cluster_with({"t": [[1, 2, 3]]}, options={"commit_ops_max": 6})
    options = ReassignPartitionsOptions(throttle=RATE, timeout_s=0.5)
    results = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, options)
    for _ in range(3):
        cluster.controller.poll_once()
    cluster.clock.advance(1_000)
    cluster.run()
    assert isinstance(cluster.error(results[T]), RequestTimedOut)
    assert cluster.state()["targetReplicas"] == [4, 5, 6]
    assert broker_config(cluster, 6) == both(RATE)


def test_foreign_plan_that_comes_first_ends_the_request_and_leaves_no_throttle() -> None:
    """The legacy key is theirs; what was set already goes with their moves."""
    cluster = cluster_with({"t": [[1, 2, 3]], "u": [[1]]}, options={"commit_ops_max": 6})
    options = ReassignPartitionsOptions(throttle=RATE)
    results = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, options)
    for _ in range(3):
        cluster.controller.poll_once()
    plan = {"version": 1, "partitions": [{"topic": "u", "partition": 0, "replicas": [2]}]}
    cluster.put(keys.REASSIGN_PARTITIONS, plan)
    assert isinstance(cluster.error(results[T]), ReassignmentInProgress)
    assert "targetReplicas" not in cluster.state("t")
    ended(cluster, "u")
