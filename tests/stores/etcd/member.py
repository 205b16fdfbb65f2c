"""A server in this process that speaks as much of etcd's protocol as a client needs that watches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc

from kedge.stores.etcd.rpc import etcdrpc

OLD, NEW = 10, 11
KEY: Final = b"/k"


class Member:
    """It lags: plain reads find KEY with the value b"10" of revision 10, all others b"11" of revision 11. `plain`: for
    each read, whether it was plain. `refuses`: another client has written the key before each commit. `lease`: the one
    that is alive; leases are numbered from 7 up."""

    def __init__(self) -> None:
        self.plain: list[bool] = []
        self.refuses = False
        self.lease = 6
        self._server = grpc.server(ThreadPoolExecutor(8))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        for service, method, handler, request in (
            ("KV", "Range", self._range, etcdrpc.RangeRequest),
            ("KV", "Txn", self._txn, etcdrpc.TxnRequest),
            ("Lease", "LeaseGrant", self._grant, etcdrpc.LeaseGrantRequest),
            ("Lease", "LeaseRevoke", lambda *_: etcdrpc.LeaseRevokeResponse(), etcdrpc.LeaseRevokeRequest),
            ("Lease", "LeaseKeepAlive", self._keep_alive, etcdrpc.LeaseKeepAliveRequest),
            ("Watch", "Watch", self._watch, etcdrpc.WatchRequest),
        ):
            streams = method in {"LeaseKeepAlive", "Watch"}
            made = grpc.stream_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
            method_handler = made(handler, request.FromString, lambda answer: answer.SerializeToString())
            of_service = grpc.method_handlers_generic_handler(f"etcdserverpb.{service}", {method: method_handler})
            self._server.add_generic_rpc_handlers([of_service])
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait()

    def _range(self, request: Any, _: object) -> Any:
        revision = OLD if request.serializable else NEW
        self.plain.append(request.serializable)
        kv = etcdrpc.KeyValue(key=KEY, value=b"%d" % revision, mod_revision=revision, version=1)
        holds = request.key == KEY or request.key < KEY < request.range_end
        return etcdrpc.RangeResponse(header=etcdrpc.ResponseHeader(revision=revision), kvs=[kv] if holds else [])

    def _txn(self, request: Any, context: object) -> Any:
        reads = [op.request_range for op in request.success if op.HasField("request_range")]
        if reads and not request.compare:
            found = [self._range(read, context) for read in reads]
            responses = [etcdrpc.ResponseOp(response_range=response) for response in found]
            return etcdrpc.TxnResponse(header=found[0].header, succeeded=True, responses=responses)
        looked = [self._range(op.request_range, context) for op in request.failure] if self.refuses else []
        responses = [etcdrpc.ResponseOp(response_range=response) for response in looked]
        header = etcdrpc.ResponseHeader(revision=NEW)
        return etcdrpc.TxnResponse(header=header, succeeded=not self.refuses, responses=responses)

    def _grant(self, request: Any, _: object) -> Any:
        self.lease += 1
        return etcdrpc.LeaseGrantResponse(ID=self.lease, TTL=request.TTL)

    def _keep_alive(self, requests: Iterator[Any], _: object) -> Iterator[Any]:
        for request in requests:
            yield etcdrpc.LeaseKeepAliveResponse(ID=request.ID, TTL=10 if self.lease == request.ID else 0)

    def _watch(self, requests: Iterator[Any], _: object) -> Iterator[Any]:
        for _request in requests:  # nothing is watched; the stream lasts until the client ends it
            yield from ()
