"""A server in this process that speaks as much of etcd's protocol as a client needs that watches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import grpc

from kedge.stores import MetadataStore, open_store
from kedge.stores.etcd.rpc import etcdrpc

OLD, NEW = 10, 11
KEY: Final = "/k"
CALL_S: Final = 10.0


class Member:
    """Plain reads are answered at revision 10, whatever it has to agree on with the others at 11. `refuses`: another
    client has written the key before each commit. `lease`: the one that is alive; leases are numbered from 7 up."""

    def __init__(self) -> None:
        self.refuses = False
        self.lease = 6
        self._server = grpc.server(ThreadPoolExecutor(8))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        made = grpc.unary_unary_rpc_method_handler
        services = {
            "KV": {
                "Range": made(self._range, *_bytes(etcdrpc.RangeRequest)),
                "Txn": made(self._txn, *_bytes(etcdrpc.TxnRequest)),
            },
            "Lease": {
                "LeaseGrant": made(self._grant, *_bytes(etcdrpc.LeaseGrantRequest)),
                "LeaseRevoke": made(self._revoke, *_bytes(etcdrpc.LeaseRevokeRequest)),
                "LeaseKeepAlive": grpc.stream_stream_rpc_method_handler(
                    self._keep_alive, *_bytes(etcdrpc.LeaseKeepAliveRequest)
                ),
            },
            "Watch": {
                "Watch": grpc.stream_stream_rpc_method_handler(self._watch, *_bytes(etcdrpc.WatchRequest)),
            },
        }
        named = [grpc.method_handlers_generic_handler(f"etcdserverpb.{name}", of) for name, of in services.items()]
        self._server.add_generic_rpc_handlers(named)
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait(CALL_S)

    def _range(self, asked: Any, _: object) -> Any:
        return _found(asked.key, OLD if asked.serializable else NEW)

    def _txn(self, asked: Any, _: object) -> Any:
        branch = asked.failure if self.refuses else asked.success
        found = [_answer(op) for op in branch]
        header = etcdrpc.ResponseHeader(revision=NEW)
        return etcdrpc.TxnResponse(header=header, succeeded=not self.refuses, responses=found)

    def _grant(self, asked: Any, _: object) -> Any:
        self.lease += 1
        return etcdrpc.LeaseGrantResponse(ID=self.lease, TTL=asked.TTL)

    def _revoke(self, _: object, __: object) -> Any:
        return etcdrpc.LeaseRevokeResponse()

    def _keep_alive(self, asked: Iterator[Any], _: object) -> Iterator[Any]:
        for one in asked:
            yield etcdrpc.LeaseKeepAliveResponse(ID=one.ID, TTL=10 if self.lease == one.ID else 0)

    def _watch(self, asked: Iterator[Any], _: object) -> Iterator[Any]:
        for _one in asked:  # nothing is watched; the stream stands until the client ends it
            yield from ()


def _bytes(request: Any) -> tuple[Any, Any]:
    """How gRPC reads a request, and writes an answer."""
    return request.FromString, lambda answer: answer.SerializeToString()


def _found(key: bytes, revision: int) -> Any:
    kv = etcdrpc.KeyValue(key=key, value=str(revision).encode(), mod_revision=revision, version=1)
    return etcdrpc.RangeResponse(header=etcdrpc.ResponseHeader(revision=revision), kvs=[kv])


def _answer(op: Any) -> Any:
    if op.HasField("request_put"):
        return etcdrpc.ResponseOp(response_put=etcdrpc.PutResponse())
    found = _found(op.request_range.key, NEW) if op.request_range.key == KEY.encode() else etcdrpc.RangeResponse()
    return etcdrpc.ResponseOp(response_range=found)


@contextmanager
def running() -> Iterator[Member]:
    """A member that answers."""
    made = Member()
    try:
        yield made
    finally:
        made.close()


@contextmanager
def connected(member: Member) -> Iterator[MetadataStore]:
    """A client of it."""
    store = open_store(f"etcd://127.0.0.1:{member.port}")
    try:
        yield store
    finally:
        store.close()
