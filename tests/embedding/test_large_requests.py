"""Requests with very many entries, one of them twice: none takes more than its share of time for each entry. A cost
that grows with the square of a list's length would take an hour; the limit of each test is a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from kedge import (
    ALL,
    Admin,
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    InvalidReplicaAssignment,
    InvalidRequest,
    NewTopic,
    ThrottledReplicas,
    TopicPartition,
    UnknownTopicOrPartition,
)
from kedge.stores.reading import TwiceError, parse_json
from tests.runtime.world import cluster_of_three

MANY: Final = 50_000
LAST: Final = TopicPartition("t", MANY - 1)
NAMES: Final = [f"n{i}" for i in range(MANY)]
PARTITIONS: Final = [TopicPartition("t", i) for i in range(MANY)]
TOPIC: Final = ConfigResource(ConfigResourceType.TOPIC, "t")


def _replicas(admin: Admin) -> Any:
    return admin.create_topics({"u": NewTopic(replica_assignments=[[*range(MANY), MANY - 1]])})["u"]


REQUESTS: Final[dict[str, tuple[Callable[[Admin], Any], type[Exception]]]] = {
    "targets": (
        lambda admin: admin.reassign_partitions([*((tp, (4, 5, 6)) for tp in PARTITIONS), (LAST, (4, 5, 6))])[LAST],
        InvalidRequest,
    ),
    "moves": (
        lambda admin: admin.alter_partition_reassignments(dict.fromkeys(PARTITIONS, (4, 5, 6)))[LAST],
        UnknownTopicOrPartition,
    ),
    "throttled replicas": (
        lambda admin: admin.alter_interbroker_throttled_replicas(
            dict.fromkeys(PARTITIONS, ThrottledReplicas((1,), (4,)))
        )[LAST],
        UnknownTopicOrPartition,
    ),
    "configs": (
        lambda admin: admin.incremental_alter_configs(
            {TOPIC: [AlterConfigOp(name, "1") for name in [*NAMES, NAMES[-1]]]}
        )[TOPIC],
        InvalidRequest,
    ),
    "topics": (lambda admin: admin.delete_topics([*NAMES, NAMES[-1]])[NAMES[-1]], UnknownTopicOrPartition),
    "replicas": (_replicas, InvalidReplicaAssignment),
}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("request_of, error", REQUESTS.values(), ids=REQUESTS)
def test_an_entry_of_many_is_refused(request_of: Callable[[Admin], Any], error: type[Exception]) -> None:
    cluster = cluster_of_three()
    assert type(cluster.error(request_of(cluster.controller.admin))) is error


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_elections_of_many_partitions_are_answered_together() -> None:
    cluster = cluster_of_three()
    answers = cluster.done(cluster.controller.admin.elect_leaders(ElectionType.PREFERRED, [*PARTITIONS, LAST]))
    assert len(answers) == MANY
    assert cluster.done(cluster.controller.admin.elect_leaders(ElectionType.PREFERRED, ALL)) == {}


@pytest.mark.timeout(60)
def test_a_name_that_is_twice_in_a_large_file_is_found() -> None:
    with pytest.raises(TwiceError, match=NAMES[-1]):
        parse_json("{" + ",".join(f'"{name}":1' for name in [*NAMES, NAMES[-1]]) + "}")
