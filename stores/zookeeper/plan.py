"""Translates the ops of a commit to the operations of one ZooKeeper transaction. Pure; knowledge of the tree is passed
in.

Rules
* Ops keep the caller's order, so that the first operation that fails is the caller's first (mostly the fence). Only
  keys that are below each other are moved: creations go from the top down, deletions from the bottom up.
* A node needs its parents. Missing ones are created without data directly before the first op that needs them.
* A node without data that ever had children is not a key but a mere parent. So a key is created over it by a write at
  the version that was seen. A key with nodes below it is deleted by removing its data:
  parents are deleted only by ops of their own, which the controller adds where it deletes the keys of a topic.
* ZooKeeper has no operation for "absent": the node is created and deleted again. If its parents are missing, this is
  done to the topmost missing one, which proves that nothing is below.
* The tree may have changed when the transaction arrives. Then it is refused as a whole, and a new plan is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
from kazoo.protocol.serialization import CheckVersion, Create, SetData, Transaction
from kazoo.protocol.serialization import Delete as DeleteNode

from ..base import ABSENT, PRESENT, Check, Delete, Expect, Op, Put, Version
from .wire import Node

_VERSION_MAX: Final = 2**31 - 1
_ANY: Final = -1
_EPHEMERAL: Final = 1  # the flag of a create


@attrs.define
class Seen:
    """What is known of the tree; paths include the chroot."""

    missing: set[str] = attrs.Factory(set)  # ancestors that do not exist
    hollow: dict[str, Node] = attrs.Factory(dict)  # nodes that are not keys, where a key must be absent
    above: set[str] = attrs.Factory(set)  # keys to be deleted whose nodes stay, since there are nodes below them
    pinned: dict[str, int] = attrs.Factory(dict)  # versions of own ephemeral keys that are rewritten


@attrs.frozen
class Step:
    """One operation of kazoo's. `index`: the op of the caller (None: a missing parent)."""

    index: int | None
    operation: Any

    @property
    def path(self) -> str:
        path: str = self.operation.path
        return path


def ancestors(path: str) -> Iterator[str]:
    """The paths above `path`, from the top down, without the root."""
    place = path.find("/", 1)
    while place > 0:
        yield path[:place]
        place = path.find("/", place + 1)


def node_version(expect: Expect) -> int:
    """ZooKeeper's version for the expectation of an existing key."""
    if expect is PRESENT:
        return _ANY
    assert expect is not ABSENT
    return min(expect - 1, _VERSION_MAX)  # no node reaches the highest one, so a larger Version conflicts as it should


def version(of_node: int) -> Version:
    """The contract's version, which is never 0."""
    return Version(of_node + 1)


def creates(op: Op) -> bool:
    """Whether the key of `op` must not exist."""
    return op.expect is ABSENT


def in_order(ops: Sequence[Op]) -> list[int]:
    """The indices of `ops` in the order of the transaction."""
    order = list(range(len(ops)))
    _move(order, [i for i, op in enumerate(ops) if isinstance(op, Put) and op.expect is ABSENT], ops, deepest_last=True)
    _move(order, [i for i, op in enumerate(ops) if isinstance(op, Delete)], ops, deepest_last=False)
    return order


def _move(order: list[int], among: list[int], ops: Sequence[Op], *, deepest_last: bool) -> None:
    """Sort those of `among` that are below each other by depth, within the places that they occupy."""
    keys = {ops[index].key: index for index in among}
    nested: set[int] = set()
    if len(keys) > 1:
        for key, index in keys.items():
            over = [keys[path] for path in ancestors(key) if path in keys]
            if over:
                nested.update(over, (index,))
    places = sorted(nested)
    for place, index in zip(places, sorted(places, key=lambda i: ops[i].key.count("/") * (1 if deepest_last else -1)),
                            strict=True):  # fmt: skip
        order[place] = index


class Plan:
    """The steps of one attempt, from the ops and from what is known so far, and their encoded `body`."""

    def __init__(self, ops: Sequence[Op], order: Sequence[int], seen: Seen, chroot: str, acl: Sequence[Any]) -> None:
        self.steps: list[Step] = []
        self._seen = seen
        self._acl = acl
        self._made: set[str] = set()
        for index in order:
            op = ops[index]
            path = chroot + op.key
            if isinstance(op, Put):
                self._put(index, path, op)
            elif isinstance(op, Delete):
                self._delete(index, path, op)
            else:
                self._check(index, path, op)
        self.body: Final = bytes(Transaction([step.operation for step in self.steps]).serialize())

    def _put(self, index: int, path: str, op: Put) -> None:
        hollow = self._seen.hollow.get(path)
        if op.expect is not ABSENT:
            pinned = self._seen.pinned.get(path, _ANY)
            self._add(index, SetData(path, op.value, pinned if op.expect is PRESENT else node_version(op.expect)))
        elif hollow is not None and not op.ephemeral:
            self._add(index, SetData(path, op.value, hollow.version))
        else:
            if hollow is not None:
                self._add(index, DeleteNode(path, hollow.version))
            self._parents(path)
            self._add(index, Create(path, op.value, self._acl, _EPHEMERAL if op.ephemeral else 0))

    def _parents(self, path: str) -> None:
        if not self._seen.missing:
            return
        for above in ancestors(path):
            if above in self._seen.missing and above not in self._made:
                self._made.add(above)
                self._add(None, Create(above, None, self._acl, 0))

    def _delete(self, index: int, path: str, op: Delete) -> None:
        version = node_version(op.expect)
        stays = path in self._seen.above
        self._add(index, SetData(path, None, version) if stays else DeleteNode(path, version))

    def _check(self, index: int, path: str, op: Check) -> None:
        hollow = self._seen.hollow.get(path)
        if op.expect is not ABSENT:
            self._add(index, CheckVersion(path, node_version(op.expect)))
        elif hollow is not None:
            self._add(index, CheckVersion(path, hollow.version))
        else:
            topmost = next((above for above in ancestors(path) if above in self._seen.missing), path)
            if topmost not in self._made:  # otherwise this transaction created it, so it did not exist
                self._add(index, Create(topmost, None, self._acl, 0))
                self._add(index, DeleteNode(topmost, _ANY))

    def _add(self, index: int | None, operation: Any) -> None:
        self.steps.append(Step(index, operation))
