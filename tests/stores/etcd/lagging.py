"""A member of a cluster of etcd that lags behind the others: what it answers by itself is from before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kedge.stores import MetadataStore
from kedge.stores.etcd.store import EtcdStore


class Lagging:
    """Between a connected client and its server. Plain reads are answered as they were when they were made first, once
    `lags` is set; what the other members have to agree on (linearizable reads, writes) is passed on."""

    def __init__(self, store: MetadataStore) -> None:
        assert isinstance(store, EtcdStore)
        kv = store._session._link.kv  # type: ignore[union-attr]  # noqa: SLF001 - no real member lags at will
        self.lags = False
        self._answers: dict[bytes, Any] = {}
        kv.Range = _Method(self, kv.Range, lambda request: request.serializable)
        kv.Txn = _Method(self, kv.Txn, _is_plain)

    def ask(self, request: Any, send: Callable[[], Any]) -> Any:
        """The answer to a plain read."""
        asked = request.SerializeToString()
        if self.lags:
            return self._answers[asked]
        return self._answers.setdefault(asked, send())


def _is_plain(request: Any) -> bool:
    """Whether a transaction is a plain read of many keys."""
    return not request.compare and all(op.request_range.serializable for op in request.success)


class _Method:
    """As a method of gRPC."""

    def __init__(self, member: Lagging, inner: Any, is_plain: Callable[[Any], bool]) -> None:
        self._member, self._inner, self._is_plain = member, inner, is_plain

    def __call__(self, request: Any, timeout_s: float, metadata: Any) -> Any:
        if not self._is_plain(request):
            return self._inner(request, timeout_s, metadata=metadata)
        return self._member.ask(request, lambda: self._inner(request, timeout_s, metadata=metadata))

    def future(self, request: Any, timeout_s: float, metadata: Any) -> _Future:
        return _Future(self(request, timeout_s, metadata))


class _Future:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def result(self) -> Any:
        return self._answer

    def cancel(self) -> None:
        """It has been answered."""
