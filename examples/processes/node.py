"""A process as in production: a controller and a broker, on the ZooKeeper or etcd that all processes share.

    python -m examples.processes.node etcd://127.0.0.1:2379/mine 1    # the store; the id of the controller and broker

One of the controllers is active, and calls the brokers of all processes. When its process dies, its session with the
store ends, and another controller continues. So two kinds of calls go from process to process: callbacks of the active
controller, and `alter_isr` of leaders. Here they are pickles over TCP; any network will do.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import closing, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from examples.processes.broker import Address, Broker
from kedge import (
    AcceptedIsr,
    BrokerRegistration,
    Controller,
    Description,
    HostResponse,
    LeaderAndIsrRequest,
    Results,
    StopReplicaRequest,
    UpdateMetadataRequest,
    open_store,
)

SECRET = b"in production from a file: who knows it can run code in these processes"
TIMEOUT_S = 10.0
STOPS = (signal.SIGTERM, signal.SIGINT)
Request = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


def call(address: Address, method: str, *arguments: object) -> Any:
    """What that method of the node at the address returns or raises. OSError or EOFError if the node is gone."""
    with Client(address, authkey=SECRET) as connection:
        connection.send((method, arguments))
        if not connection.poll(TIMEOUT_S):
            raise TimeoutError(f"{address} did not answer {method} within {TIMEOUT_S} s")
        answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


class Remote:
    """The host of the controller: each callback goes to the process that registered the broker. Where that raises, the
    request was not delivered, and the controller sends it again."""

    controller: Controller

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return self._send("leader_and_isr", request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self._send("update_metadata", request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._send("stop_replica", request)

    def _send(self, callback: str, request: Request) -> HostResponse:
        broker = self.controller.query(lambda view: view.brokers[request.broker_id]).result(TIMEOUT_S)
        response: HostResponse = call((broker.registration.host, broker.registration.port), callback, request)
        return response


class Node(Broker):
    """What other processes call: the callbacks of the broker, and the following for the controller beside it."""

    def __init__(self, broker_id: int, controller: Controller) -> None:
        super().__init__(broker_id, lambda active, *arguments: call(active, "alter_isr", *arguments))
        self.controller = controller

    def alter_isr(self, *arguments: Any) -> AcceptedIsr:
        """For leaders of all processes."""
        return self.controller.alter_isr(*arguments).result(TIMEOUT_S)

    def admin(self, method: str, *arguments: Any) -> Any:
        """A request of an operator, as in docs/admin-api.md."""
        found = getattr(self.controller.admin, method)(*arguments)
        return (found.all() if isinstance(found, Results) else found).result(TIMEOUT_S)

    def describe(self) -> Description:
        return self.controller.describe()

    def serve(self, listener: Listener) -> None:
        """For ever: answer each connection on a thread of its own."""
        while True:
            with suppress(OSError, EOFError, AuthenticationError):  # the caller died, or does not know the secret
                threading.Thread(target=self._answer, args=(listener.accept(),), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection, suppress(OSError, EOFError):
            method, arguments = connection.recv()
            try:
                answer = getattr(self, method)(*arguments)
            except Exception as error:  # noqa: BLE001 - the caller raises it
                answer = error
            connection.send(answer)


def main(url: str, broker_id: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # before there are threads, so that none of them gets the signal
    host = Remote()
    with closing(open_store(url)) as store, Listener(("127.0.0.1", 0), authkey=SECRET) as listener:
        host.controller = Controller(store, broker_id, host)
        node = Node(broker_id, host.controller)
        for work in (node.lead, lambda: node.serve(listener)):
            threading.Thread(target=work, daemon=True).start()
        with host.controller.running():
            address, port = listener.address
            host.controller.register_broker(BrokerRegistration(broker_id, address, port))
            print(address, port, flush=True)
            signal.sigwait(STOPS)  # then it hands over; after kill -9, others continue when its session has expired


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
