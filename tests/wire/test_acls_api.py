"""Requests about ACLs: each is answered, with an error, because the cluster keeps none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire.served import RawClient, Served

SECURITY_DISABLED, CLUSTER_REFUSED = 54, 31
ANY, TOPIC, LITERAL, READ, ALLOW = 1, 2, 3, 3, 3
NAMES = dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter"))
LISTED = {"resource_type_filter": ANY, "pattern_type_filter": ANY, "operation": ANY, "permission_type": ANY, **NAMES}
"""As sarama's `ListAcls(AclFilter{...})`, and so kafkactl, asks for all of them: with null for each name."""
WHO = {"principal": "User:alice", "host": "*", "operation": READ, "permission_type": ALLOW}
CREATED = {"resource_type": TOPIC, "resource_name": "orders", "resource_pattern_type": LITERAL, **WHO}
DELETED = {**LISTED, "resource_type_filter": TOPIC, "pattern_type_filter": LITERAL}


@pytest.fixture(scope="module")
def denied() -> set[str]:
    """The operations that no client may do."""
    return set()


@pytest.fixture(scope="module")
def served(denied: set[str]) -> Iterator[Served]:
    with Served(authorizer=lambda _, operation, __: operation not in denied) as opened:
        yield opened


@pytest.fixture
def client(served: Served, denied: set[str]) -> Iterator[RawClient]:
    denied.clear()
    with RawClient(served.address) as opened:
        yield opened


def listed(client: RawClient, version: int) -> Any:
    return client.ask("DescribeAcls", version, **LISTED)


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_not_listed_and_the_connection_stays(client: RawClient, version: int) -> None:
    for _ in range(2):
        answer = listed(client, version)
        assert (answer.error_code, list(answer.resources)) == (SECURITY_DISABLED, [])
        assert "--acls" in answer.error_message


@pytest.mark.parametrize("version", range(1, 4))
def test_each_acl_that_is_created_or_deleted_is_refused(client: RawClient, version: int) -> None:
    created = client.ask("CreateAcls", version, creations=[CREATED, CREATED]).results
    assert [row.error_code for row in created] == [SECURITY_DISABLED] * 2
    deleted = client.ask("DeleteAcls", version, filters=[DELETED]).filter_results
    assert [(row.error_code, list(row.matching_acls)) for row in deleted] == [(SECURITY_DISABLED, [])]


def test_a_client_without_the_right_gets_that_error(client: RawClient, denied: set[str]) -> None:
    denied |= {"DESCRIBE", "ALTER"}
    assert listed(client, 3).error_code == CLUSTER_REFUSED
    assert client.ask("CreateAcls", 3, creations=[CREATED]).results[0].error_code == CLUSTER_REFUSED
    assert client.ask("DeleteAcls", 3, filters=[DELETED]).filter_results[0].error_code == CLUSTER_REFUSED
