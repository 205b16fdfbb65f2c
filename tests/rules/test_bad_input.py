"""Whatever stands in an event, the answer is a documented error and nothing is changed."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.machine import decide
from kedge.controller.model import events as e
from kedge.controller.model.config_requests import AlterConfigOp, OpType
from kedge.controller.model.errors import ApiError, ErrorCode
from kedge.controller.model.values import ConfigEntity, Move, Partition
from kedge.controller.rules.configs import check_topic_configs
from tests.rules.world import World

NUMBERS = st.one_of(st.integers(), st.sampled_from([-1, 0, 1, 2, 3, 2**31, 2**63, 10**30]))
LISTS = st.lists(NUMBERS, max_size=8).map(tuple)
TOPICS = st.one_of(st.text(max_size=5), st.sampled_from(["t", "t.t", "t_t", "", ".", "..", "a" * 250, "/", "\ud800"]))
SETTINGS = st.sampled_from(
    [
        *("retention.ms", "cleanup.policy", "leader.replication.throttled.replicas", "min.cleanable.dirty.ratio", "x"),
        *("leader.reassignment.throttled.rate", "log.retention.ms", "unclean.leader.election.enable", "", "\ud800"),
    ]
)
VALUES = st.one_of(
    st.none(), st.text(max_size=5), st.sampled_from(["1", "0", "-1", "true", "0:1", "*", "\ud800", "9" * 25])
)
OPS = st.lists(st.builds(AlterConfigOp, SETTINGS, VALUES, st.sampled_from(OpType)), max_size=4).map(tuple)
IDS = st.sampled_from(["1", "7", "<default>", "-1", "01", "x", "", "\u0661", "2147483648", "1" * 5000])
ENTITIES = st.one_of(
    st.builds(ConfigEntity, st.just("topics"), TOPICS), st.builds(ConfigEntity, st.just("brokers"), IDS)
)
DOCUMENTED = {
    e.AlterReassignment: {3, 5, 38, 39, 44, 56, 83, 85},
    e.AlterIsr: {3, 41, 42, 56, 74, 77, 95, 107},
    e.ElectLeader: {3, 56, 80, 83, 84},
    e.CreateTopic: {17, 36, 37, 38, 39, 40, 42, 44, 56},
    e.CreatePartitions: {3, 37, 38, 39, 56, 60},
    e.DeleteTopic: {3, 56, 73},
    e.ForgetBroker: {42},
    e.AlterConfigs: {3, 40, 42, 44, 56},
}


def world() -> World:
    made = World()
    for broker in (1, 2, 3):
        made.plant_broker(broker)
    made.plant(Partition("t", 0, (1, 2), (1, 2), 1, 3))
    made.plant_move("moving", (1, 2), (1, 2), (3,))
    made.plant(Partition("t.t", 0, (7, 8), (), -1, -1))
    return made


@st.composite
def requests(draw: st.DrawFn) -> e.Event:
    topic, number, some = draw(TOPICS), draw(NUMBERS), draw(LISTS)
    lists = draw(st.one_of(st.none(), st.lists(LISTS, max_size=3).map(tuple)))
    configs = draw(st.dictionaries(st.sampled_from(["retention.ms", "min.insync.replicas", "x"]), st.text(max_size=5)))
    kinds = [
        e.AlterReassignment(5, topic, number, draw(st.one_of(st.none(), st.just(some))), force=draw(st.booleans())),
        e.AlterIsr(5, topic, number, draw(NUMBERS), draw(NUMBERS), draw(NUMBERS), some, draw(NUMBERS), draw(NUMBERS)),
        e.ElectLeader(5, topic, number, draw(st.booleans())),
        e.CreateTopic(5, topic, draw(NUMBERS), draw(NUMBERS), lists, configs, draw(st.booleans()), "id", 0, 0),
        e.CreatePartitions(5, topic, draw(NUMBERS), lists),
        e.DeleteTopic(5, topic),
        e.ForgetBroker(5, draw(NUMBERS)),
        e.AlterConfigs(5, draw(ENTITIES), draw(OPS), draw(st.booleans()), draw(st.booleans())),
    ]
    return draw(st.sampled_from(kinds))


@pytest.mark.slow
@given(requests())
def test_a_refused_request_has_a_documented_code_and_no_record(request: e.Event) -> None:
    """No exception leaves a rule; an error comes alone, with a code of its request and a message."""
    made = world()
    decision = decide(made.state, request)
    if isinstance(decision.reply, ApiError):
        assert (decision.records, decision.expand) == ((), ())
        assert decision.reply.code.value in DOCUMENTED[type(request)]
        assert 0 < len(decision.reply.message) < 2_000
    made.run(request)


@pytest.mark.slow
@given(st.sampled_from(["t", "nobody", ""]), NUMBERS, NUMBERS, LISTS, LISTS)
def test_what_names_nothing_changes_nothing(
    topic: str, number: int, broker: int, some: tuple[int, ...], other: tuple[int, ...]
) -> None:
    """Hints and reports about partitions and brokers that there are not yield no record."""
    made = world()
    if topic == "t" and number == 0:
        return
    for event in (
        e.PartitionDue(5, topic, number, e.Reason.DIED),
        e.PartitionDue(5, topic, number),
        e.PartitionDue(5, topic, number, e.Reason.DEADLINE),
        e.DiskReported(5, topic, number, broker, gone=True),
        e.KafkaMoveFound(5, topic, number, some, other, some),
        e.ForeignTargetFound(5, topic, number, Move(some, other, 5)),
        e.PartitionDue(5, topic, number, e.Reason.STRAY),
        e.DeathDone(5, broker, number),
        e.IntentsDue(5, broker),
        e.BrokerGone(5, broker, 99),
    ):
        assert made.run(event).records == []


@pytest.mark.parametrize(
    "name,good,bad",
    [
        ("retention.ms", ["-1", "0", "9223372036854775807", "+5", " 1"], ["", "-2", "1e3", "1_000", "٣", "9" * 5000]),
        ("min.insync.replicas", ["1"], ["0", "-1", "2147483648"]),
        ("cleanup.policy", ["delete", "compact", "compact, delete"], ["", "none", "delete,"]),
        ("compression.type", ["zstd"], ["ZSTD", ""]),
        ("min.cleanable.dirty.ratio", ["0", "0.5", "1"], ["1.1", "-0.1", "nan", "inf", "half"]),
        ("preallocate", ["true", "False"], ["yes", "", "1"]),
        ("leader.replication.throttled.replicas", ["", "*", "0:1", "0:1, 1:2"], ["0", "0:", "a:b", "0:1,", "٣:1"]),
        ("no.such.setting", [], ["1"]),
    ],
)  # fmt: skip
def test_settings_of_a_topic_are_of_their_kind(name: str, good: list[str], bad: list[str]) -> None:
    """A value of another kind is named with what was expected; a name that there is not is refused."""
    assert [check_topic_configs({name: value}) for value in good] == [None] * len(good)
    assert all(name in (check_topic_configs({name: value}) or "") for value in bad)


@pytest.mark.checklist(151)
@pytest.mark.parametrize(
    "partitions,factor,code",
    [(0, 1, 37), (-2, 1, 37), (1, 0, 38), (1, -2, 38), (1, 4, 38), (10**12, 1, 37)],
)
def test_counts_that_no_cluster_can_hold_are_refused(partitions: int, factor: int, code: int) -> None:
    """Partitions below one, replication factors below one or above the brokers, and sizes beyond the topic's key."""
    ran = world().run(e.CreateTopic(5, "new", partitions, factor, None, {}, False, "id", 0, 0))
    assert getattr(ran.reply, "code", None) is ErrorCode(code)


@pytest.mark.checklist(157)
def test_a_manual_assignment_may_break_the_rules_of_racks() -> None:
    """Two replicas in one rack are accepted when they are requested."""
    made = World()
    for broker, rack in ((1, "a"), (2, "a"), (3, "b")):
        made.plant_broker(broker, rack)
    made.run(e.CreateTopic(5, "new", -1, -1, ((2, 1),), {}, False, "id", 0, 0))
    assert made.partition("new").replicas == (2, 1)


@pytest.mark.slow
def test_an_absurdly_long_list_is_answered_with_a_short_message() -> None:
    """A hundred thousand unknown ids are refused in one sentence, not in a message of megabytes."""
    ran = world().run(e.AlterReassignment(5, "t", 0, tuple(range(10, 100_000))))
    assert isinstance(ran.reply, ApiError)
    assert ran.reply.message.endswith("; and more.")
    assert len(ran.reply.message) < 1000
