"""A controller in a process of its own, to be killed: `python -m tests.real.controller_process URL NODE_ID DESCRIPTOR`.

It speaks over the socket that it inherited under DESCRIPTOR (see `tests.real.messages`), and ends with it, so that none
outlives the test that started it.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

from kedge import Controller, HostResponse, Results
from kedge.controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge.stores import MetadataStore, Unavailable, open_store
from tests.real.messages import Answer, Ask, Call, Leads, Notice, Request, Return

LOOK_S = 0.02  # how often it is looked at whether the controller leads
CALLBACK_S = 60.0
OPEN_S = 60.0


class WiredHost:
    """Brokers at the other end of the wire. What is said waits in a queue for a thread of its own: the reader never
    waits for the other end to read, or both would wait for ever once the wire is full."""

    def __init__(self, wire: Connection) -> None:
        self._wire = wire
        self._said: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._send, name="wire", daemon=True).start()
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[HostResponse]] = {}

    def say(self, message: object) -> None:
        self._said.put(bytes(ForkingPickler.dumps(message)))

    def _send(self) -> None:
        """The reader finds out that the other end is gone."""
        with suppress(ConnectionError):
            while True:
                self._wire.send_bytes(self._said.get())

    def returned(self, message: Return) -> None:
        self._waiting.pop(message.number).set_result(message.response)

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return self._call(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self._call(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._call(request)

    def config_changed(self, *arguments: object) -> None:
        self.say(Notice("config_changed", arguments))

    def _call(self, request: Request) -> HostResponse:
        number = next(self._numbers)
        future = self._waiting[number] = Future()
        self.say(Call(number, request))
        return future.result(CALLBACK_S)


class TestOver(Exception):
    """The other end of the wire is gone."""


def serve(wire: Connection, url: str, node_id: int) -> None:
    """Until the other end is closed."""
    host = WiredHost(wire)
    controller = Controller(opened(url), node_id, host)
    controller.start()
    obey_all(wire, host, controller)


def obey_all(wire: Connection, host: WiredHost, controller: Controller) -> None:
    """Whatever is said is heard, and done, until the other end is closed."""
    host.say(Leads(None))
    led: int | None = None
    while True:
        message = heard(wire)
        if isinstance(message, Return):
            host.returned(message)
        elif message is not None:
            obey(controller, message, host.say)
        epoch = controller.controller_epoch if controller.is_active else None
        if epoch != led:
            led = epoch
            host.say(Leads(led))


def opened(url: str) -> MetadataStore:
    """Asked for again while nothing answers, as a supervisor of processes would start it again."""
    deadline_s = time.monotonic() + OPEN_S
    while True:
        try:
            return open_store(url)
        except Unavailable:
            if time.monotonic() >= deadline_s:
                raise


def heard(wire: Connection) -> Return | Ask | None:
    """What was said, waited for up to LOOK_S. Raises TestOver."""
    try:
        message: Return | Ask | None = wire.recv() if wire.poll(LOOK_S) else None
    except (EOFError, ConnectionError) as error:
        raise TestOver from error
    return message


def obey(controller: Controller, ask: Ask, say: Callable[[object], None]) -> None:
    """Call the method; the answer goes out when it is there."""
    try:
        of = controller.admin if hasattr(controller.admin, ask.method) else controller
        found = getattr(of, ask.method)(*ask.arguments, **ask.options)
    except Exception as error:  # noqa: BLE001 - it is the answer
        say(Answer(ask.number, error=error))
        return
    if isinstance(found, Results):
        whole = found.all()
        whole.add_done_callback(lambda _: say(Answer(ask.number, {key: _outcome(f) for key, f in found.items()})))
    elif isinstance(found, Future):
        found.add_done_callback(lambda future: say(_answer(ask.number, future)))
    else:
        say(Answer(ask.number, found))


def _answer(number: int, future: Future[Any]) -> Answer:
    outcome = _outcome(future)
    return Answer(number, error=outcome) if isinstance(outcome, Exception) else Answer(number, outcome)


def _outcome(future: Future[Any]) -> Any:
    error = future.exception()
    return future.result() if error is None else error


def main(arguments: list[str], serve: Callable[[Connection, str, int], None] = serve) -> int:
    """Ends at once when the test is over: a controller that hands over in order would change what the test looks at.
    Whatever else ends it stands in its output, with exit code 1."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s: %(message)s"
    )  # why it lost its term, and such
    try:
        serve(Connection(int(arguments[2])), arguments[0], int(arguments[1]))
    except TestOver:
        os._exit(0)
    except BaseException:  # noqa: BLE001 - it is said
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
