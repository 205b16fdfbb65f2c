"""Plans of transactions, and commits whose transaction is refused for what the tree turned into meanwhile.

ZooKeeper's answers are given by the test, one for each transaction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

import pytest
from kazoo.exceptions import NodeExistsError, NoNodeError, RolledBackError, RuntimeInconsistency
from kazoo.protocol.serialization import CheckVersion, Create, Delete, SetData
from kazoo.security import OPEN_ACL_UNSAFE

from kedge.stores import ABSENT, Check, Commit, Conflict, OutcomeUnknown, Put, Version
from kedge.stores.base import Op
from kedge.stores.zookeeper.commit import Attempt
from kedge.stores.zookeeper.plan import Plan, Seen, in_order
from kedge.stores.zookeeper.transaction import Multi
from kedge.stores.zookeeper.wire import Node

NO_NODE, EXISTS, NOT_TRIED = NoNodeError(), NodeExistsError(), RuntimeInconsistency()
ROOT: Final = "/chroot"


class Server:
    """A connection to it, and its reads of many nodes. `answers`: to the transactions; `missing`: paths without a
    node, to the reads."""

    def __init__(self, missing: Sequence[str], answers: Sequence[list[Any]]) -> None:
        self.address = SimpleNamespace(chroot=ROOT)
        self.acl = OPEN_ACL_UNSAFE
        self.session = SimpleNamespace(session_id=1)
        self.ephemerals: set[str] = set()
        self.reads: list[list[str]] = []
        self._missing, self._answers = missing, list(answers)

    def demand_contact(self, *, write: bool) -> Any:
        assert write
        return self.session

    def send(self, multi: Multi) -> list[Any]:
        multi.serialize()
        return self._answers.pop(0)

    def wait(self, answer: list[Any], deadline_s: float) -> list[Any]:
        assert deadline_s > time.monotonic()
        return answer

    def nodes(self, paths: list[str], _: float) -> list[Node | None]:
        self.reads.append(paths)
        there = Node(b"", 0, cversion=0, created=1, owner=0, child_count=0)
        return [None if path in self._missing else there for path in paths]

    def commit(self, *ops: Op) -> Commit:
        """All answers are used up by it."""
        link: Any = self
        done = Attempt(link, link, ops, time.monotonic() + 60).run()
        assert self._answers == []
        return done


def test_a_parent_that_another_client_created_between_two_transactions_fails_no_commit() -> None:
    """The second one creates it, since it was seen to be absent, and is refused; the third one does without."""
    server = Server([f"{ROOT}/p"], [[NO_NODE], [EXISTS, NOT_TRIED], [0]])
    assert server.commit(Put("/p/q", b"ours", ABSENT)) == Commit((Version(1),))
    assert server.reads == [[ROOT, f"{ROOT}/p"]]


def test_a_parent_that_is_gone_again_is_looked_up_again() -> None:
    server = Server([f"{ROOT}/p"], [[NO_NODE], [EXISTS, NOT_TRIED], [NO_NODE], [0, 0]])
    assert server.commit(Put("/p/q", b"ours", ABSENT)) == Commit((Version(1),))


def test_a_key_that_another_client_created_is_a_conflict() -> None:
    """Not a parent that may be taken for granted."""
    answers = [[RolledBackError(), EXISTS, NOT_TRIED]]
    with pytest.raises(Conflict) as caught:
        Server([], answers).commit(*(Put(key, b"ours", ABSENT) for key in ("/a", "/p", "/z")))
    assert (caught.value.index, caught.value.key) == (1, "/p")


def test_an_answer_to_another_transaction_is_not_believed() -> None:
    """As many results as operations were sent."""
    with pytest.raises(OutcomeUnknown):
        Server([], [[0, 0]]).commit(Put("/p", b"ours", ABSENT))


# Where a key must be absent and a node without data is there: only a mere parent may be taken, and only as it was seen.

SEEN = 7  # the version of the node's data


def planned(*ops: Op) -> list[Any]:
    """At /p is a node without data that had children."""
    parent = Node(None, SEEN, cversion=2, created=1, owner=0, child_count=0)
    return [step.operation for step in Plan(ops, in_order(ops), Seen(hollow={"/p": parent}), "", OPEN_ACL_UNSAFE).steps]


def test_a_key_over_a_parent_is_written_at_the_version_that_was_seen() -> None:
    """Whatever another client writes there meanwhile has another version, and the transaction is refused."""
    assert planned(Put("/p", b"ours", ABSENT)) == [SetData("/p", b"ours", SEEN)]


def test_an_ephemeral_key_over_a_parent_replaces_the_node_that_was_seen() -> None:
    made = Create("/p", b"ours", OPEN_ACL_UNSAFE, 1)
    assert planned(Put("/p", b"ours", ABSENT, ephemeral=True)) == [Delete("/p", SEEN), made]


def test_the_absence_of_a_key_at_a_parent_is_checked_at_the_version_that_was_seen() -> None:
    assert planned(Check("/p", ABSENT)) == [CheckVersion("/p", SEEN)]


@pytest.mark.parametrize(
    "data, cversion, is_key", [(None, 0, True), (b"", 0, True), (b"", 2, True), (b"x", 0, True), (None, 2, False)]
)
def test_only_a_node_without_data_that_had_children_is_no_key(data: bytes | None, cversion: int, is_key: bool) -> None:
    assert Node(data, SEEN, cversion, created=1, owner=0, child_count=0).is_key is is_key
