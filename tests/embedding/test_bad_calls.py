"""Every public call with broken input: a clear error of the documented kind, nothing written, the controller alive."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from inspect import getmembers, isfunction, signature
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge import (
    ALL,
    Admin,
    AlterConfigOp,
    AlterReassignmentsOptions,
    ApiError,
    BrokerRegistration,
    ConfigResource,
    ConfigResourceType,
    Controller,
    DeletePartitions,
    ElectionType,
    LogReport,
    NewPartitionReassignment,
    NewPartitions,
    NewTopic,
    ReassignPartitionsOptions,
    Results,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
    TopicPartitionReplica,
)
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.world import Cluster, cluster_of_three

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-2, 8),
    st.floats(),
    st.text(max_size=8) | st.just("\ud800"),
    st.binary(max_size=8),
    st.lists(st.one_of(st.integers(-2, 8), st.text(max_size=3), st.none()), max_size=4),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.builds(object),
)
wrong_ids = st.lists(st.one_of(st.integers(-3, 0), st.integers(7, 2**70)), max_size=5)
numbers = st.one_of(st.integers(-3, 12), st.integers())
seconds = st.just(1000) | anything
names = st.sampled_from(["t", "no", "", "..", "a/b", "__own"])
tps = st.builds(TopicPartition, names | st.text(max_size=5), st.integers(-2, 2**40)) | anything


def made(make: Callable[..., Any], *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What `make` makes of `parts`, or the exception type that it raises."""

    def build(*values: Any) -> Any:
        try:
            return make(*values)
        except (TypeError, ValueError) as error:
            return type(error)

    return st.one_of(st.builds(build, *parts), anything)


def mapping(keys: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(keys.filter(lambda key: isinstance(key, Hashable)), values, max_size=3) | anything


not_brokers = st.integers(-3, -1) | st.integers(2**31, 2**70) | anything.filter(lambda value: type(value) is not int)
not_configs = st.dictionaries(st.text(max_size=3), st.integers(), min_size=1, max_size=2) | anything
rates = made(ThrottledRate, numbers, numbers)
resources = made(ConfigResource, st.sampled_from(ConfigResourceType) | anything, names | anything)
configs = st.dictionaries(st.text(max_size=5), st.text(max_size=5), min_size=1, max_size=2) | anything
assignments = st.none() | st.lists(wrong_ids, max_size=3) | anything
new_topics = made(NewTopic, numbers | anything, numbers | anything, assignments, configs)
targets = st.one_of(wrong_ids, made(NewPartitionReassignment, wrong_ids))
options = st.none() | made(lambda t: AlterReassignmentsOptions(timeout_s=t), anything)
reports = made(LogReport, names, *[numbers] * 6, st.none() | numbers)
shutdown_epochs = st.integers(-(2**70), 0) | st.integers(1_000, 2**70) | st.none() | st.text(max_size=3)
Strategies = tuple[st.SearchStrategy[Any], ...]
calls: dict[str, tuple[Callable[..., Any], Strategies]] = {
    "alter_partition_reassignments": (
        lambda c, m, o: c.admin.alter_partition_reassignments(m, o),
        (mapping(st.builds(TopicPartition, names, st.integers(-1, 2)), targets), options),
    ),
    "rollback_partition_reassignments": (
        lambda c, p: c.admin.rollback_partition_reassignments(p),
        (st.lists(tps) | anything,),
    ),
    "cancel_partition_reassignments": (
        lambda c, t, o: c.admin.cancel_partition_reassignments(t, o),
        (st.just(ALL) | anything, st.none() | anything),
    ),
    "list_partition_reassignments": (
        lambda c, p, t, s: c.admin.list_partition_reassignments(p, topics=t, timeout_s=s),
        (st.lists(tps) | anything, st.just(ALL) | anything, anything),
    ),
    "create_topics": (
        lambda c, t, s: c.admin.create_topics(t, timeout_s=s),
        (mapping(st.text(max_size=5) | st.just("t"), new_topics), seconds),
    ),
    "create_partitions": (
        lambda c, t, s: c.admin.create_partitions(t, timeout_s=s),
        (mapping(names, made(NewPartitions, st.integers(-3, 1), st.none() | anything)), seconds),
    ),
    "delete_partitions": (
        lambda c, t, s: c.admin.delete_partitions(t, timeout_s=s),
        (mapping(names, made(DeletePartitions, st.integers() | anything, anything)), seconds),
    ),
    "delete_topics": (
        lambda c, n, s: c.admin.delete_topics(n, timeout_s=s),
        (st.lists(names.filter(lambda name: name != "t")) | anything, seconds),
    ),
    "forget_broker": (
        lambda c, b, s: c.admin.forget_broker(b, timeout_s=s),
        (st.integers(-3, 8) | anything, seconds),
    ),
    "elect_leaders": (
        lambda c, k, p, s: c.admin.elect_leaders(k, p, timeout_s=s),
        (st.sampled_from(ElectionType) | anything, st.lists(tps) | anything, anything),
    ),
    "alter_isr": (
        lambda c, tp, epochs, *rest: c.alter_isr(tp, *rest, isr_epochs=epochs),
        (tps, mapping(numbers, numbers), numbers, numbers, numbers, wrong_ids | anything, numbers, numbers | anything),
    ),
    "register_broker": (
        lambda c, r: c.register_broker(r),
        (made(BrokerRegistration, st.integers(-5, -2), anything),),
    ),
    "controlled_shutdown": (
        lambda c, broker, epoch, s: c.controlled_shutdown(broker, epoch, timeout_s=s),
        (st.integers(1, 2**70) | anything, shutdown_epochs, seconds),
    ),
    "unregister_broker": (lambda c, *args: c.unregister_broker(*args), (anything, anything)),
    "report_log": (
        lambda c, r: c.report_log(r),
        (made(LogReport, *[anything] * 8) | st.lists(reports),),
    ),
    "query": (lambda c, q, s: c.query(q, timeout_s=s), (st.just(len) | anything, seconds)),
    "reassign_partitions": (
        lambda c, a, o: c.admin.reassign_partitions(a, o),
        (mapping(st.builds(TopicPartition, names, st.integers(-1, 2)), wrong_ids), st.none() | anything),
    ),
    "alter_interbroker_throttled_rates": (
        lambda c, r, s: c.admin.alter_interbroker_throttled_rates(r, timeout_s=s),
        (mapping(not_brokers, rates) | mapping(numbers, anything), seconds),
    ),
    "alter_interbroker_throttled_replicas": (
        lambda c, r, s: c.admin.alter_interbroker_throttled_replicas(r, timeout_s=s),
        (mapping(tps, anything), seconds),
    ),
    "list_topics": (lambda c, s: c.admin.list_topics(timeout_s=s), (seconds,)),
    "describe_topics": (lambda c, n, s: c.admin.describe_topics(n, timeout_s=s), (st.lists(names) | anything, seconds)),
    "describe_replica_log_dirs": (
        lambda c, r, s: c.admin.describe_replica_log_dirs(r, timeout_s=s),
        (st.lists(made(TopicPartitionReplica, names, numbers, numbers)) | anything, seconds),
    ),
    "describe_configs": (
        lambda c, r, s: c.admin.describe_configs(r, timeout_s=s),
        (st.lists(resources) | anything, seconds),
    ),
    "describe_new_topics": (
        lambda c, t, s: c.admin.describe_new_topics(t, timeout_s=s),
        (mapping(names | anything, configs), seconds),
    ),
    "alter_configs": (
        lambda c, r, s: c.admin.alter_configs(r, timeout_s=s),
        (mapping(resources, configs), seconds),
    ),
    "incremental_alter_configs": (
        lambda c, r, s: c.admin.incremental_alter_configs(r, timeout_s=s),
        (mapping(resources, st.lists(made(AlterConfigOp, st.text(max_size=5), anything))), seconds),
    ),
    "authorize": (lambda c, o: c.admin.authorize(o), (anything,)),
    "admin_for": (lambda c, p: c.admin_for(p), (anything,)),
    "allocate_producer_ids": (lambda c, b: c.allocate_producer_ids(b), (not_brokers,)),
    "change_user_configs": (
        lambda c, n, to: c.change_user_configs(n, to),
        (st.text(max_size=5) | anything, st.builds(lambda configs: lambda _: configs, not_configs) | anything),
    ),
    "broker_epoch": (lambda c, b: c.broker_epoch(b), (anything,)),
    "reported_log": (lambda c, tp, b: c.reported_log(tp, b), (tps, anything)),
}


def futures_of(answer: Any) -> list[Future[Any]]:
    if isinstance(answer, Results):
        return [*answer.values(), answer.all()]
    return [answer] if isinstance(answer, Future) else []


def check(cluster: Cluster, name: str, arguments: tuple[Any, ...]) -> None:
    """Errors of the documented kinds only, and nothing else happens."""
    before = {key: value for key, value in cluster.keys().items() if key != TOKEN_KEY}
    try:
        answer = calls[name][0](cluster.controller, *arguments)
    except (TypeError, ValueError, ApiError):
        answer = None
    cluster.run()
    for future in futures_of(answer):
        error = future.exception(0)
        assert error is None or isinstance(error, ApiError) or name == "query", repr(error)
        assert error is None or not str(error).startswith("the controller failed"), str(error)
    assert {key: value for key, value in cluster.keys().items() if key != TOKEN_KEY} == before
    assert cluster.controller.is_active
    assert cluster.findings() == {}
    assert cluster.controller.describe().waiting_requests == 0


def test_every_public_call_with_arguments_gets_broken_input() -> None:
    takes = {
        name
        for kind in (Controller, Admin)
        for name, method in getmembers(kind, isfunction)
        if not name.startswith("_") and len(signature(method).parameters) > 1
    }
    assert takes - {"close", "poll_once"} == set(calls)  # one ends it, one waits


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return cluster_of_three()


@pytest.mark.slow
@pytest.mark.parametrize("name", calls)
@settings(max_examples=60)
@given(st.data())
def test_a_call_with_broken_input_gives_a_documented_error_and_writes_nothing(
    cluster: Cluster, name: str, data: st.DataObject
) -> None:
    """TypeError or ValueError in the caller, ApiError in the future."""
    check(cluster, name, data.draw(st.tuples(*calls[name][1])))


def test_after_all_that_the_controller_works(cluster: Cluster) -> None:
    assert cluster.done(cluster.move([4, 5, 6])).target_replicas == (4, 5, 6)
    assert cluster.done(cluster.move(None)).target_replicas is None


@pytest.mark.checklist(88)
@pytest.mark.parametrize("wrong", [None, 5, "t", [("t", 0)], [None]])
def test_a_listing_needs_a_set_or_all(wrong: Any) -> None:
    cluster = cluster_of_three()
    for arguments in ({"partitions": wrong}, {"topics": wrong}):
        with pytest.raises(TypeError):
            cluster.controller.admin.list_partition_reassignments(**arguments)
    with pytest.raises(ValueError, match="not both"):
        cluster.controller.admin.list_partition_reassignments([], topics=[])


T0, TOPIC = TopicPartition("t", 0), ConfigResource(ConfigResourceType.TOPIC, "t")
WRONG: list[Callable[[Any], object]] = [
    lambda admin: admin.reassign_partitions(None),
    lambda admin: admin.reassign_partitions({"t": [1]}),
    lambda admin: admin.reassign_partitions({T0: "12"}),
    lambda admin: admin.reassign_partitions({T0: None}),
    lambda admin: admin.reassign_partitions([T0]),
    lambda admin: admin.reassign_partitions({T0: [1]}, {"throttle": 1}),
    lambda _: ReassignPartitionsOptions(throttle=True),
    lambda _: ReassignPartitionsOptions(throttle=1.5),  # type: ignore[arg-type]
    lambda _: ReassignPartitionsOptions(validate_only=1),  # type: ignore[arg-type]
    lambda _: ReassignPartitionsOptions(timeout_s=None),  # type: ignore[arg-type]
    lambda admin: admin.alter_interbroker_throttled_rates(None),
    lambda admin: admin.alter_interbroker_throttled_rates({"1": ThrottledRate(1, 1)}),
    lambda admin: admin.alter_interbroker_throttled_rates({1: 5}),
    lambda admin: admin.alter_interbroker_throttled_rates({}, validate_only=1),
    lambda admin: admin.alter_interbroker_throttled_rates({}, family="both"),
    lambda admin: admin.alter_interbroker_throttled_replicas({T0: [1]}),
    lambda admin: admin.alter_interbroker_throttled_replicas([T0]),
    lambda _: ThrottledRate(1.5, 1),
    lambda _: ThrottledReplicas("12"),
    lambda _: ThrottledReplicas([True]),
    lambda admin: admin.describe_configs("t"),
    lambda admin: admin.describe_configs(["t"]),
    lambda admin: admin.alter_configs([TOPIC]),
    lambda admin: admin.alter_configs({TOPIC: "x"}),
    lambda admin: admin.alter_configs({TOPIC: {"retention.ms": 5}}),
    lambda admin: admin.alter_configs({"t": {}}),
    lambda admin: admin.incremental_alter_configs({TOPIC: "x"}),
    lambda admin: admin.incremental_alter_configs({TOPIC: ["x"]}),
    lambda _: ConfigResource("topic", "t"),  # type: ignore[arg-type]
    lambda _: ConfigResource(ConfigResourceType.TOPIC, 5),  # type: ignore[arg-type]
    lambda _: AlterConfigOp("retention.ms", 5),  # type: ignore[arg-type]
    lambda _: AlterConfigOp("retention.ms", "5", "set"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("wrong", WRONG)
def test_argument_of_a_wrong_kind_raises_in_the_caller(wrong: Callable[[Any], object], cluster: Cluster) -> None:
    before = cluster.keys()
    with pytest.raises((TypeError, ValueError)):
        wrong(cluster.controller.admin)
    assert cluster.keys() == before
