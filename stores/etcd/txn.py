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

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
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
from .keys import Keys
from .rpc import etcdrpc

ETCD_OPS_MAX: Final = 128  # --max-txn-ops: the limit for compares and for the ops of each branch
_INT64_MAX: Final = 2**63 - 1  # no revision is this high, so a larger Version conflicts like any wrong one
_VERSION, _MOD, _LEASE = etcdrpc.Compare.VERSION, etcdrpc.Compare.MOD, etcdrpc.Compare.LEASE
_EQUAL, _NOT_EQUAL = etcdrpc.Compare.EQUAL, etcdrpc.Compare.NOT_EQUAL
_LESS, _GREATER = etcdrpc.Compare.LESS, etcdrpc.Compare.GREATER

_Fields: TypeAlias = dict[str, Any]


class Transaction:
    """The request for `ops` under a lease. `mine`: the keys that the lease may hold. Raises TooLarge if ephemeral keys
    need more compares than etcd takes."""

    def __init__(self, keys: Keys, ops: Sequence[Op], lease_id: int, mine: AbstractSet[str]) -> None:
        self._ops = ops
        self._lease_id = lease_id
        self._raws = [keys.of(op.key) for op in ops]
        self.ephemeral: Final = frozenset(op.key for op in ops if isinstance(op, Put) and op.ephemeral)
        self.deleted: Final = frozenset(op.key for op in ops if isinstance(op, Delete))
        compares = [*self._expectations(), *self._ownership(mine)]
        if len(compares) > ETCD_OPS_MAX:
            raise TooLarge(f"{len(ops)} ops, of which rewritten ephemeral keys count twice, exceed {ETCD_OPS_MAX}")
        self.request: Final = etcdrpc.TxnRequest(compare=compares, success=self._changes(), failure=self._looks())

    def commit(self, answer: Any) -> Commit:
        """The versions after success: the revision of the answer for every Put."""
        version = Version(answer.header.revision)
        return Commit(tuple(version if isinstance(op, Put) else None for op in self._ops))

    def refusal(self, answer: Any) -> StoreError:
        """After failure: the Conflict of the first op whose expectation failed, or the reason why an op is Invalid."""
        found = [next(iter(response.response_range.kvs), None) for response in answer.responses[: len(self._ops)]]
        for index, (op, kv) in enumerate(zip(self._ops, found, strict=True)):
            if not _holds(op.expect, kv):
                state = "absent" if kv is None else f"at version {kv.mod_revision}"
                return Conflict(f"{op.key}: expected {op.expect}, found {state}", key=op.key, index=index)
        contradiction = Corrupt("etcd refused a transaction although all its compares hold")
        return next(self._invalid(found), contradiction)

    def _invalid(self, found: list[Any]) -> Iterator[StoreError]:
        for op, kv in zip(self._ops, found, strict=True):
            if not isinstance(op, Put) or kv is None:
                continue
            if op.ephemeral and kv.lease != self._lease_id:
                yield Invalid(f"{op.key}: put as ephemeral, but it is ordinary or another session's", key=op.key)
            elif not op.ephemeral and kv.lease == self._lease_id:
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

    def _ownership(self, mine: AbstractSet[str]) -> Iterator[_Fields]:
        """A key rewritten as ephemeral is this session's; a key rewritten as ordinary is not."""
        for op, raw in zip(self._ops, self._raws, strict=True):
            if isinstance(op, Put) and op.expect is not ABSENT and (op.ephemeral or op.key in mine):
                result = _EQUAL if op.ephemeral else _NOT_EQUAL
                yield {"target": _LEASE, "result": result, "key": raw, "lease": self._lease_id}

    # Branches

    def _changes(self) -> Iterator[_Fields]:
        for op, raw in zip(self._ops, self._raws, strict=True):
            if isinstance(op, Delete):
                yield {"request_delete_range": {"key": raw}}
            elif isinstance(op, Put):
                put: _Fields = {"key": raw, "value": op.value}
                if op.ephemeral:
                    put["lease"] = self._lease_id
                elif op.expect is not ABSENT:
                    put["ignore_lease"] = True
                yield {"request_put": put}

    def _looks(self) -> Iterator[_Fields]:
        return ({"request_range": {"key": raw, "keys_only": True}} for raw in self._raws)


def _holds(expect: Expect, kv: Any) -> bool:
    if expect is ABSENT or expect is PRESENT:
        return (kv is None) is (expect is ABSENT)
    return kv is not None and bool(kv.mod_revision == expect)
