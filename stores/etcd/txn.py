"""A commit as a transaction of etcd, and the meaning of its answer.

Rules
* Expectations are compares: ABSENT is version 0, PRESENT version above 0, a Version mod_revision. The per-key version
  is never compared, since it begins again when a key is created again.
* A plain put detaches a key's lease. So an own ephemeral key is put with its lease each time, and any other key that is
  rewritten keeps its lease.
* The failure branch reads each key, so that the answer names the first op that failed, as of the same instant.
* A failed expectation is reported before an Invalid op.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from ..base import (
    ABSENT,
    PRESENT,
    Commit,
    Conflict,
    Corrupt,
    Delete,
    Expect,
    Invalid,
    Op,
    Put,
    StoreError,
    TooLarge,
    Version,
)
from ..checks import parent
from .ephemerals import Known
from .keys import Keys
from .rpc import etcdrpc

ETCD_OPS_MAX: Final = 128  # --max-txn-ops: the limit for compares and for the ops of each branch
_INT64_MAX: Final = 2**63 - 1  # no revision is this high, so a larger Version conflicts like any wrong one
_VERSION, _MOD, _LEASE = etcdrpc.Compare.VERSION, etcdrpc.Compare.MOD, etcdrpc.Compare.LEASE
_EQUAL, _NOT_EQUAL = etcdrpc.Compare.EQUAL, etcdrpc.Compare.NOT_EQUAL
_LESS, _GREATER = etcdrpc.Compare.LESS, etcdrpc.Compare.GREATER

_Fields: TypeAlias = dict[str, Any]


class Transaction:
    """The request for `ops` under the lease and the markers of `known`. Raises Invalid for an ephemeral key with keys
    below it in the same commit, TooLarge if ephemeral keys need more compares than etcd takes."""

    def __init__(self, keys: Keys, ops: Sequence[Op], known: Known) -> None:
        self._keys = keys
        self._ops = ops
        self._known = known
        self._raws = [keys.of(op.key) for op in ops]
        self.ephemeral: Final = frozenset(op.key for op in ops if isinstance(op, Put) and op.ephemeral)
        self.deleted: Final = frozenset(op.key for op in ops if isinstance(op, Delete))
        self._creating = [op.key for op in ops if isinstance(op, Put) and op.expect is ABSENT]
        if self.ephemeral:
            self._refuse_below_own()
        compares = [*self._expectations(), *self._ownership(), *self._emptiness(), *self._ancestry()]
        success = [*self._changes(), *self._markers()]
        if max(len(compares), len(success)) > ETCD_OPS_MAX:
            raise TooLarge(f"{len(ops)} ops with ephemeral keys, which count up to three times, exceed {ETCD_OPS_MAX}")
        self.request: Final = etcdrpc.TxnRequest(compare=compares, success=success, failure=self._looks())

    def commit(self, answer: Any) -> Commit:
        """The versions after success: the revision of the answer for every Put."""
        version = Version(answer.header.revision)
        return Commit(tuple(version if isinstance(op, Put) else None for op in self._ops))

    @property
    def marked_after(self) -> frozenset[str]:
        """The markers after a guarded success: the known ones, since none was newer, and the new ones of this
        commit."""
        created = frozenset(self._creating) & self.ephemeral
        return self._known.marked | created if created else self._known.marked

    @property
    def guarded(self) -> bool:
        """Whether the transaction compares that no marker is newer than known."""
        return bool(self._creating)

    def younger_markers(self, answer: Any) -> tuple[int, frozenset[str]] | None:
        """After failure: (revision, markers) if some are newer than known, which is enough to fail."""
        if not self._creating:
            return None
        kvs = answer.responses[-1].response_range.kvs
        if all(kv.mod_revision <= self._known.revision for kv in kvs):
            return None
        return answer.header.revision, frozenset(self._keys.marked(kv.key) for kv in kvs)

    def conflict(self, answer: Any) -> StoreError | None:
        """After failure: the Conflict of the first op whose expectation failed, or the reason why an op is Invalid."""
        found = [next(iter(response.response_range.kvs), None) for response in answer.responses[: len(self._ops)]]
        for index, (op, kv) in enumerate(zip(self._ops, found, strict=True)):
            if not _holds(op.expect, kv):
                state = "absent" if kv is None else f"at version {kv.mod_revision}"
                return Conflict(f"{op.key}: expected {op.expect}, found {state}", key=op.key, index=index)
        return next(self._invalid(found), None)

    def refusal(self) -> StoreError:
        """After failure for no other reason: a key below an ephemeral one, or a contradiction."""
        if not self._creating:
            return Corrupt("etcd refused a transaction although all its compares hold")
        return Invalid("a key of the commit is below an ephemeral key, or is ephemeral with keys below it")

    def _invalid(self, found: list[Any]) -> Iterator[StoreError]:
        lease_id = self._known.lease_id
        for op, kv in zip(self._ops, found, strict=True):
            if not isinstance(op, Put) or kv is None:
                continue
            if op.ephemeral and kv.lease != lease_id:
                yield Invalid(f"{op.key}: put as ephemeral, but it is ordinary or another session's", key=op.key)
            elif not op.ephemeral and kv.lease == lease_id:
                yield Invalid(f"{op.key}: an ephemeral key of this session, put as an ordinary one", key=op.key)

    # Compares, as dicts: the request made from them takes half the time of one message each.

    def _expectations(self) -> Iterator[_Fields]:
        for op, raw in zip(self._ops, self._raws, strict=True):
            if op.expect is ABSENT:
                yield {"target": _VERSION, "result": _EQUAL, "key": raw, "version": 0}
            elif op.expect is PRESENT:
                yield {"target": _VERSION, "result": _GREATER, "key": raw, "version": 0}
            else:
                yield {"target": _MOD, "result": _EQUAL, "key": raw, "mod_revision": min(op.expect, _INT64_MAX)}

    def _ownership(self) -> Iterator[_Fields]:
        """A key rewritten as ephemeral is this session's; a key rewritten as ordinary is not."""
        for op, raw in zip(self._ops, self._raws, strict=True):
            if isinstance(op, Put) and op.expect is not ABSENT and (op.ephemeral or op.key in self._known.mine):
                result = _EQUAL if op.ephemeral else _NOT_EQUAL
                yield {"target": _LEASE, "result": result, "key": raw, "lease": self._known.lease_id}

    def _emptiness(self) -> Iterator[_Fields]:
        """No key is below a new ephemeral key."""
        for key in self._creating:
            if key in self.ephemeral:
                first, end = self._keys.below(key)
                yield {"target": _VERSION, "result": _EQUAL, "key": first, "range_end": end, "version": 0}

    def _ancestry(self) -> Iterator[_Fields]:
        """No new key is below an ephemeral one: see `ephemerals.py`."""
        if not self._creating:
            return
        first, end = self._keys.markers
        younger = self._known.revision + 1
        yield {"target": _MOD, "result": _LESS, "key": first, "range_end": end, "mod_revision": younger}
        if self._known.marked:
            for key in sorted((_ancestors(self._creating) & self._known.marked) - self.deleted):
                yield {"target": _LEASE, "result": _EQUAL, "key": self._keys.of(key), "lease": 0}

    def _refuse_below_own(self) -> None:
        for op in self._ops:
            above = self.ephemeral & _ancestors([op.key]) if isinstance(op, Put) else ()
            if above:
                raise Invalid(f"{op.key}: below the ephemeral key {min(above)} of the same commit", key=op.key)

    # Branches

    def _changes(self) -> Iterator[_Fields]:
        for op, raw in zip(self._ops, self._raws, strict=True):
            if isinstance(op, Delete):
                yield {"request_delete_range": {"key": raw}}
            elif isinstance(op, Put):
                put: _Fields = {"key": raw, "value": op.value}
                if op.ephemeral:
                    put["lease"] = self._known.lease_id
                elif op.expect is not ABSENT:
                    put["ignore_lease"] = True
                yield {"request_put": put}

    def _markers(self) -> Iterator[_Fields]:
        for key in self._creating:
            if key in self.ephemeral:
                yield {"request_put": {"key": self._keys.marker(key), "lease": self._known.lease_id}}
        for key in sorted(self.deleted & self._known.mine):
            yield {"request_delete_range": {"key": self._keys.marker(key)}}

    def _looks(self) -> list[_Fields]:
        looks: list[_Fields] = [{"key": raw, "keys_only": True} for raw in self._raws]
        if self._creating:
            first, end = self._keys.markers
            looks.append({"key": first, "range_end": end, "keys_only": True})
        return [{"request_range": look} for look in looks]


def _holds(expect: Expect, kv: Any) -> bool:
    if expect is ABSENT or expect is PRESENT:
        return (kv is None) is (expect is ABSENT)
    return kv is not None and bool(kv.mod_revision == expect)


def _ancestors(keys: Iterable[str]) -> set[str]:
    """All ancestors of `keys`."""
    above: set[str] = set()
    for key in keys:
        while (key := parent(key)) != "/" and key not in above:
            above.add(key)
    return above
