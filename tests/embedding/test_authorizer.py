"""Who may do what: every request of the admin API against principals that may nothing, describe, or alter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Final

import pytest

from kedge import (
    Admin,
    AlterConfigOp,
    ApiError,
    ConfigResource,
    ConfigResourceType,
    DeletePartitions,
    ElectionType,
    Hooks,
    NewPartitions,
    NewTopic,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
    TopicPartitionReplica,
)
from tests.runtime.world import cluster_of_three

T0: Final = TopicPartition("t", 0)
TOPIC: Final = ConfigResource(ConfigResourceType.TOPIC, "t")
Ask = Callable[[Admin], "Iterable[Future[Any]]"]
ASKED: Final[dict[str, tuple[str, Ask]]] = {
    "alter_partition_reassignments": (
        "ALTER",
        lambda a: a.alter_partition_reassignments({T0: [1, 2, 3]}).values(),
    ),
    "rollback_partition_reassignments": ("ALTER", lambda a: a.rollback_partition_reassignments([T0]).values()),
    "cancel_partition_reassignments": ("ALTER", lambda a: [a.cancel_partition_reassignments()]),
    "list_partition_reassignments": ("DESCRIBE", lambda a: [a.list_partition_reassignments()]),
    "reassign_partitions": ("ALTER", lambda a: a.reassign_partitions({T0: [1, 2, 3]}).values()),
    "alter_interbroker_throttled_rates": (
        "ALTER",
        lambda a: a.alter_interbroker_throttled_rates({1: ThrottledRate(5000, 5000)}).values(),
    ),
    "alter_interbroker_throttled_replicas": (
        "ALTER",
        lambda a: a.alter_interbroker_throttled_replicas({T0: ThrottledReplicas()}).values(),
    ),
    "list_topics": ("DESCRIBE", lambda a: [a.list_topics()]),
    "describe_topics": ("DESCRIBE", lambda a: a.describe_topics(["t", "u"]).values()),
    "describe_replica_log_dirs": (
        "DESCRIBE",
        lambda a: a.describe_replica_log_dirs([TopicPartitionReplica("t", 0, 1)]).values(),
    ),
    "create_topics": ("CREATE", lambda a: a.create_topics({"x": NewTopic(1, 1)}).values()),
    "create_partitions": ("ALTER", lambda a: a.create_partitions({"t": NewPartitions(9)}).values()),
    "delete_topics": ("DELETE", lambda a: a.delete_topics(["t"]).values()),
    "delete_partitions": ("ALTER", lambda a: a.delete_partitions({"t": DeletePartitions(1)}).values()),
    "forget_broker": ("ALTER", lambda a: [a.forget_broker(99)]),
    "elect_leaders": ("ALTER", lambda a: [a.elect_leaders(ElectionType.PREFERRED, [T0])]),
    "describe_configs": ("DESCRIBE_CONFIGS", lambda a: a.describe_configs([TOPIC]).values()),
    "describe_new_topics": ("DESCRIBE_CONFIGS", lambda a: [a.describe_new_topics({"x": {}})]),
    "alter_configs": ("ALTER_CONFIGS", lambda a: a.alter_configs({TOPIC: {}}).values()),
    "incremental_alter_configs": (
        "ALTER_CONFIGS",
        lambda a: a.incremental_alter_configs({TOPIC: [AlterConfigOp("retention.ms", "5")]}).values(),
    ),
}


def test_every_request_of_the_api_is_in_the_table() -> None:
    public = {name for name in dir(Admin) if not name.startswith("_") and callable(getattr(Admin, name))}
    assert public == {*ASKED, "authorize"}  # which asks for nothing itself


@pytest.mark.checklist(90, 91, 233)
@pytest.mark.parametrize("name", ASKED)
def test_a_request_needs_its_operation_and_no_other(name: str) -> None:
    """31, and nothing is written, for a principal with every operation but this one; none with this one alone."""
    needed, ask = ASKED[name]

    def allow(principal: str, operation: str, resource: str) -> bool:
        assert resource == "CLUSTER"
        return (operation == needed) == (principal == "with it")

    cluster = cluster_of_three(hooks=Hooks(authorizer=allow))
    before = cluster.keys()
    for future in ask(cluster.controller.admin_for("all others")):
        error = cluster.error(future)
        assert isinstance(error, ApiError)
        assert error.code == 31
        assert "all others" in error.message
    assert cluster.keys() == before
    for future in ask(cluster.controller.admin_for("with it")):
        cluster.run()
        found = future.exception(0)
        assert getattr(found, "code", None) != 31
