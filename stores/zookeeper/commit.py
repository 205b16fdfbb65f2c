"""One commit: a transaction is planned and sent. If ZooKeeper refuses it for something that the plan could not know, it
is planned again.

Rules
* A refused transaction has changed nothing, so another one is not a retry of the first. A request without an answer is
  never sent again.
* A refusal for the caller's expectation (a version, an absent or present key) is a Conflict. A refusal for ZooKeeper's
  tree (a missing parent, a node without data, children) is examined and planned for.
* If many parents are needed, they are looked up first, which takes two round trips instead of three.
* ZooKeeper would rewrite an ephemeral node as an ordinary one and the reverse, so the owner is looked up before. The
  version that was found is pinned: the write expects it, so the transaction is refused if the key changed hands in
  between. Only commits that need the lookup pay for it: a Put of an existing ephemeral key, and an ordinary Put of a
  key that this session may have put as an ephemeral one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from kazoo import exceptions as kazoo_errors
from kazoo.protocol.serialization import Create, Exists, Transaction

from ..base import (
    ABSENT,
    PRESENT,
    Commit,
    Conflict,
    Delete,
    Invalid,
    Op,
    OutcomeUnknown,
    Put,
    TooLarge,
    Unavailable,
    Version,
)
from ..checks import parent
from .bulk import Bulk
from .errors import translate
from .link import Link
from .plan import Plan, Seen, ancestors, creates, in_order, version
from .transaction import FRAME_BYTES_MAX, Multi, is_refusal

_ROUNDS_MAX: Final = 30
_LOOK_FIRST: Final = 4  # distinct parents of created keys, from which on they are looked up first
_FRAME_OVERHEAD: Final = 64
_PARENTS_AT_ONCE: Final = 100
_NO_NODE, _BAD_VERSION = kazoo_errors.NoNodeError, kazoo_errors.BadVersionError
_EXISTS, _NOT_EMPTY = kazoo_errors.NodeExistsError, kazoo_errors.NotEmptyError


class Attempt:
    """One commit; used for one call."""

    def __init__(self, link: Link, bulk: Bulk, ops: Sequence[Op], deadline_s: float) -> None:
        self._link = link
        self._bulk = bulk
        self._ops = ops
        self._deadline_s = deadline_s
        self._chroot = link.address.chroot
        self._order = in_order(ops)
        self._seen = Seen(above=_deleted_above(ops, self._chroot))
        self._session = link.demand_contact(write=True)

    def run(self) -> Commit:
        """The result of the commit. Raises the contract's errors."""
        self._demand_kinds()
        parents = {parent(op.key) for op in self._ops if creates(op)}
        if len(parents) >= _LOOK_FIRST:
            self._look_at_parents()
        for _ in range(_ROUNDS_MAX):
            plan = self._plan()
            results = self._send(plan)
            failed = next((index for index, result in enumerate(results) if is_refusal(result)), None)
            if failed is None:
                return self._done(plan, results)
            self._learn(plan, failed, results[failed])
            if time.monotonic() >= self._deadline_s:
                break
        raise Unavailable("the tree changed under every plan of the commit; nothing was applied")

    def _demand_kinds(self) -> None:
        """Raise Invalid if an op would make an ephemeral key ordinary or the reverse; pin the versions of the keys."""
        for op in self._ops:
            if isinstance(op, Put) and op.expect is not ABSENT and (op.ephemeral or op.key in self._link.ephemerals):
                stat = self._stat(op.key)
                if stat is None:  # the transaction reports that in its order
                    self._seen.pinned.pop(self._chroot + op.key, None)
                    continue
                self._seen.pinned[self._chroot + op.key] = stat.version
                is_mine = stat.ephemeralOwner == self._session.session_id
                if op.ephemeral and not is_mine:
                    raise Invalid(f"{op.key}: not an ephemeral key of this session, and cannot become one", key=op.key)
                if is_mine and not op.ephemeral:
                    raise Invalid(f"{op.key}: an ephemeral key of this session must stay ephemeral", key=op.key)
        self._link.ephemerals.update(op.key for op in self._ops if isinstance(op, Put) and op.ephemeral)

    def _stat(self, key: str) -> Any:
        try:
            return self._link.wait(self._link.send(Exists(self._chroot + key, None)), self._deadline_s)
        except Exception as error:
            raise self._link.failed(error, sent=False, key=key) from error

    # Sending

    def _plan(self) -> Plan:
        plan = Plan(self._ops, self._order, self._seen, self._chroot, self._link.acl)
        if len(plan.body) + _FRAME_OVERHEAD <= FRAME_BYTES_MAX:
            return plan
        if any(step.index is None for step in plan.steps):
            self._make_parents()
            return self._plan()
        raise TooLarge("the commit exceeds 1 MB, ZooKeeper's limit for a request")

    def _send(self, plan: Plan) -> list[Any]:
        if not plan.steps:
            return []  # only expected absences, which the missing parents have shown already
        session_id = self._session.session_id
        multi = Multi(plan.body, lambda: self._link.session.session_id == session_id)
        answer = self._link.send(multi)
        try:
            results: list[Any] = self._link.wait(answer, self._deadline_s)
        except Exception as error:
            raise self._link.failed(error, sent=not multi.cancel()) from error
        if not multi.sent:
            raise self._link.stale()
        if len(results) != len(plan.steps):
            raise OutcomeUnknown(f"the answer has {len(results)} results for {len(plan.steps)} operations")
        return results

    def _done(self, plan: Plan, results: list[Any]) -> Commit:
        versions: list[Version | None] = [None] * len(self._ops)
        for step, result in zip(plan.steps, results, strict=True):
            if step.index is not None and isinstance(self._ops[step.index], Put):
                versions[step.index] = version(getattr(result, "version", 0))  # only a write has a stat
        self._link.ephemerals.difference_update(op.key for op in self._ops if isinstance(op, Delete))
        return Commit(tuple(versions))

    # Learning from a refusal

    def _learn(self, plan: Plan, failed: int, error: Exception) -> None:
        """Record why the transaction was refused. Raises if the caller has to know."""
        step = plan.steps[failed]
        op = None if step.index is None else self._ops[step.index]
        kind = type(error)
        if kind is kazoo_errors.NoChildrenForEphemeralsError:
            raise Invalid(f"{step.path}: a key cannot be below an ephemeral key", key=None if op is None else op.key)
        if op is None:
            self._learn_of_parent(step.path, error)
        elif creates(op):
            self._learn_of_absence(step.index, op, step.path, error)
        elif isinstance(op, Delete) and kind is _NOT_EMPTY:
            self._look_below_deleted()
        elif kind is _BAD_VERSION and op.expect is PRESENT and step.path in self._seen.pinned:
            self._demand_kinds()
        elif kind in {_NO_NODE, _BAD_VERSION}:
            raise self._conflict(step.index, op, "is absent" if kind is _NO_NODE else "has another version")
        else:
            raise translate(error, sent=True, key=op.key)

    def _learn_of_parent(self, path: str, error: Exception) -> None:
        if isinstance(error, _EXISTS):
            self._seen.missing.discard(path)
        elif isinstance(error, _NO_NODE):
            self._look_at_parents()
        else:
            raise translate(error, sent=True, key=path.removeprefix(self._chroot) or "/")

    def _learn_of_absence(self, index: int | None, op: Op, path: str, error: Exception) -> None:
        own, kind = self._chroot + op.key, type(error)
        if kind is _NO_NODE and own not in self._seen.hollow:
            self._look_at_parents()
        elif kind is _EXISTS and path != own:
            self._seen.missing.discard(path)
        elif kind is _NOT_EMPTY:
            raise Invalid(f"{op.key}: an ephemeral key cannot have keys below it", key=op.key)
        elif kind in {_NO_NODE, _BAD_VERSION, _EXISTS}:
            self._look_at_hollows()
            node = self._seen.hollow.get(own)
            if kind is _EXISTS and node is None and self._exists(own):
                raise self._conflict(index, op, "exists")
            if node is not None and isinstance(op, Put) and op.ephemeral and node.child_count:
                raise Invalid(f"{op.key}: an ephemeral key cannot have keys below it", key=op.key)
        else:
            raise translate(error, sent=True, key=op.key)

    def _conflict(self, index: int | None, op: Op, found: str) -> Conflict:
        assert index is not None
        return Conflict(f"{op.key}: expected {op.expect!r}, but it {found}", key=op.key, index=index)

    # Looking up nodes

    def _look_at_parents(self) -> None:
        """Find all missing ancestors of keys to be created or absent, except those that the caller creates."""
        put = {self._chroot + op.key for op in self._ops if isinstance(op, Put) and op.expect is ABSENT}
        direct = {self._chroot + parent(op.key) for op in self._ops if creates(op) and parent(op.key) != "/"}
        wanted = {above for path in direct for above in (*ancestors(path), path)} | set(ancestors(self._chroot + "/"))
        paths = sorted(wanted - put)
        nodes = self._bulk.nodes(paths, self._deadline_s)
        self._seen.missing = {path for path, node in zip(paths, nodes, strict=True) if node is None}

    def _look_at_hollows(self) -> None:
        paths = [self._chroot + op.key for op in self._ops if creates(op)]
        nodes = self._bulk.nodes(paths, self._deadline_s)
        pairs = zip(paths, nodes, strict=True)
        self._seen.hollow = {path: node for path, node in pairs if node is not None and not node.is_key}
        self._seen.missing.difference_update(self._seen.hollow)

    def _look_below_deleted(self) -> None:
        """Find all deleted keys below which nodes stay, from the bottom up: their own nodes stay, too."""
        paths = sorted((self._chroot + op.key for op in self._ops if isinstance(op, Delete)), reverse=True)
        going = Counter[str]()
        for path, node in zip(paths, self._bulk.nodes(paths, self._deadline_s), strict=True):
            if node is not None and node.child_count > going[path]:
                self._seen.above.add(path)
            elif path not in self._seen.above:
                going[parent(path)] += 1

    def _exists(self, path: str) -> bool:
        return self._bulk.nodes([path], self._deadline_s)[0] is not None

    def _make_parents(self) -> None:
        """Create the missing parents before the commit, whose request has no room for them."""
        paths = sorted(self._seen.missing)
        for start in range(0, len(paths), _PARENTS_AT_ONCE):
            part = paths[start : start + _PARENTS_AT_ONCE]
            requests = [Transaction([Create(path, None, self._link.acl, 0)]) for path in part]
            for answer in [self._link.send(request) for request in requests]:
                try:
                    self._link.wait(answer, self._deadline_s)  # refused: another client created it; looked up below
                except Exception as error:
                    raise self._link.failed(error, sent=False) from error
        self._look_at_parents()


def _deleted_above(ops: Sequence[Op], chroot: str) -> set[str]:
    """Deleted keys below which the same commit creates a key: their nodes stay."""
    deleted = {chroot + op.key for op in ops if isinstance(op, Delete)}
    if not deleted:
        return set()
    created = [chroot + op.key for op in ops if isinstance(op, Put) and op.expect is ABSENT]
    return {above for path in created for above in ancestors(path) if above in deleted}
