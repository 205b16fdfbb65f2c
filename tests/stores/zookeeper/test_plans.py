"""The operations of a transaction where a key must be absent and a node without data is there: only a mere parent may
be taken, and only as it was seen."""

from __future__ import annotations

import pytest

from kedge.stores import ABSENT, Check, Put
from kedge.stores.base import Op
from kedge.stores.zookeeper import transaction
from kedge.stores.zookeeper.plan import Plan, Seen, in_order
from kedge.stores.zookeeper.wire import Node

ACL = b"acl"
SEEN = 7  # the version of the node's data


def planned(*ops: Op) -> list[bytes]:
    """At /p is a node without data that had children."""
    parent = Node(None, SEEN, cversion=2, created=1, owner=0, child_count=0)
    return [step.data for step in Plan(ops, in_order(ops), Seen(hollow={"/p": parent}), "", ACL).steps]


def test_a_key_over_a_parent_is_written_at_the_version_that_was_seen() -> None:
    """Whatever another client writes there meanwhile has another version, and the transaction is refused."""
    assert planned(Put("/p", b"ours", ABSENT)) == [transaction.set_data("/p", b"ours", SEEN)]


def test_an_ephemeral_key_over_a_parent_replaces_the_node_that_was_seen() -> None:
    made = transaction.create("/p", b"ours", ACL, ephemeral=True)
    assert planned(Put("/p", b"ours", ABSENT, ephemeral=True)) == [transaction.delete("/p", SEEN), made]


def test_the_absence_of_a_key_at_a_parent_is_checked_at_the_version_that_was_seen() -> None:
    assert planned(Check("/p", ABSENT)) == [transaction.check("/p", SEEN)]


@pytest.mark.parametrize(
    "data, cversion, is_key", [(None, 0, True), (b"", 0, True), (b"", 2, True), (b"x", 0, True), (None, 2, False)]
)
def test_only_a_node_without_data_that_had_children_is_no_key(data: bytes | None, cversion: int, is_key: bool) -> None:
    assert Node(data, SEEN, cversion, created=1, owner=0, child_count=0).is_key is is_key
