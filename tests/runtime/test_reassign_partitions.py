"""`reassign_partitions` (KIP-179) where transcripts do not reach: futures, stand-bys, policies, a private number."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from kedge import (
    ApiError,
    ClusterAuthorizationFailed,
    ErrorCode,
    Hooks,
    InvalidThrottle,
    InvalidTopic,
    NotController,
    PolicyViolation,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
)
from tests.runtime.world import cluster_of_three

T, NOWHERE = TopicPartition("t", 0), TopicPartition("nowhere", 0)
RATE = 10_000


@pytest.mark.checklist(19)
def test_there_is_a_future_for_each_partition_and_all_fails_if_one_does() -> None:
    cluster = cluster_of_three()
    results = cluster.controller.admin.reassign_partitions({T: [4], NOWHERE: [4]})
    assert list(results) == [T, NOWHERE]
    assert isinstance(cluster.error(results.all()), InvalidTopic)
    assert cluster.error(results[T]) is None
    assert cluster.done(cluster.controller.admin.reassign_partitions({}).all()) == {}


@pytest.mark.checklist(22, 48, 54)
def test_a_stand_by_answers_that_it_does_not_lead() -> None:
    """And says who does, to all three requests, also to those that name nothing and so would give back."""
    cluster = cluster_of_three()
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


@pytest.mark.checklist(23, 24)
def test_who_may_not_and_what_the_policy_has_something_against_is_refused() -> None:
    """31 for all; 44 for the partition, with the policy's words."""
    hooks = Hooks(authorizer=lambda *_: False, alter_policy=lambda _, __: "not on Fridays")
    cluster = cluster_of_three(hooks=hooks)
    before, nobody = cluster.keys("/"), cluster.controller.admin_for("nobody")
    for refused in (nobody.reassign_partitions({T: [4]})[T], nobody.alter_interbroker_throttled_rates({}).all()):
        assert isinstance(cluster.error(refused), ClusterAuthorizationFailed)
    error = cluster.error(cluster.controller.admin.reassign_partitions({T: [4]})[T])
    assert isinstance(error, PolicyViolation)
    assert "not on Fridays" in error.message
    assert cluster.keys("/") == before


def test_the_private_number_is_none_of_kafkas() -> None:
    assert max(int(code) for code in ErrorCode if code is not ErrorCode.INVALID_THROTTLE) < ErrorCode.INVALID_THROTTLE
    assert ErrorCode.INVALID_THROTTLE < 2**15
    assert issubclass(InvalidThrottle, ApiError)
