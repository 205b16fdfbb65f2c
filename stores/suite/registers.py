"""Linearizability: four concurrent clients on a few registers, and a check of their history.

If too many operations of a history are open, it decides nothing (`Undecided`). Another history is then recorded, on
other registers, since open operations may still take effect.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import attrs

from ..base import PRESENT, Conflict, Entry, Expect, MetadataStore, OutcomeUnknown, SessionExpired, Unavailable
from .backend import Backend, Hook, await_contact, case, fill, get, put
from .checker import UNKNOWN_END, Operation, Unanswered, Undecided, unlinearizable

CLIENTS = 4
OPERATIONS = 300
FAULTS = 3  # per run, evenly spread
PAUSE_S = 0.3
RETRY_S = 0.005
REGISTERS = 5
HISTORIES = 3


class _Client:
    """A client that works on the registers and records its operations. Ticks come from one counter with an atomic
    `next`, which orders events more exactly than a clock. A request that was certainly not sent is not recorded and is
    replaced by another one."""

    def __init__(
        self, store: MetadataStore, ticks: itertools.count[int], number: int, registers: tuple[str, ...]
    ) -> None:
        self.history: list[Operation] = []
        self.failure: BaseException | None = None
        self.done = 0
        self._store = store
        self._ticks = ticks
        self._number = number
        self._registers = registers
        self._random = random.Random(number)  # noqa: S311 - seeded randomness is the aim
        self._seen: dict[str, Entry] = {}
        self._again = threading.Event()  # never set: the wait before the next attempt

    def work(self, deadline_s: float, operations: int = OPERATIONS) -> None:
        try:
            for step in itertools.count():
                if self.done >= operations:
                    return
                assert time.monotonic() < deadline_s, f"{self.done} of {operations} operations were sent"
                if self._step(b"%d-%d" % (self._number, step)):
                    self.done += 1
                else:
                    self._again.wait(RETRY_S)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.failure = error

    def _step(self, value: bytes) -> bool:
        """Do one operation; return whether it was sent."""
        register = self._random.choice(self._registers)
        draw = self._random.random()
        if draw < 0.4:
            return self.read(register)
        if draw < 0.6 or register not in self._seen:
            return self._write(register, value, PRESENT, None)
        seen = self._seen[register]
        return self._write(register, value, seen.version, seen.value)

    def read(self, register: str) -> bool:
        """Read it; return whether an answer may have been under way."""
        start = next(self._ticks)
        try:
            entry = get(self._store, register)
        except OutcomeUnknown:
            return True  # a read without an answer proves nothing
        except (Unavailable, SessionExpired):
            return False
        end = next(self._ticks)
        assert entry is not None
        self._seen[register] = entry
        self.history.append(Operation(register, "read", entry.value, start, end))
        return True

    def _write(self, register: str, value: bytes, expect: Expect, expected: bytes | None) -> bool:
        start = next(self._ticks)
        try:
            put(self._store, register, value, expect)
        except Conflict:
            self.history.append(Operation(register, "miss", None, start, next(self._ticks), expected))
            return True
        except (Unavailable, SessionExpired):
            return False
        except OutcomeUnknown:
            end = UNKNOWN_END
        else:
            end = next(self._ticks)
        self.history.append(Operation(register, "write" if expected is None else "cas", value, start, end, expected))
        return True


@attrs.frozen
class _Run:
    """Clients at work, for the function that injects faults. `ended`: they are done."""

    stores: list[MetadataStore]
    clients: list[_Client]
    ended: threading.Event

    def wait_until_done(self, operations: int) -> bool:
        """Wait until all clients together have done this many; False if they ended before."""
        while sum(client.done for client in self.clients) < operations:
            if self.ended.wait(RETRY_S):
                return False
        return True


def _history(backend: Backend, disturb: Callable[[_Run], None], attempt: int) -> list[Operation]:
    registers = tuple(f"/register/{attempt}-{number}" for number in range(REGISTERS))
    observer = backend.open()
    fill(observer, registers, b"initial")
    ticks = itertools.count(1)
    stores = [backend.open() for _ in range(CLIENTS)]
    clients = [_Client(store, ticks, number, registers) for number, store in enumerate(stores)]
    deadline_s = time.monotonic() + backend.wait_s * 3
    threads = [threading.Thread(target=client.work, args=(deadline_s,)) for client in clients]
    run = _Run(stores, clients, threading.Event())
    failures: list[BaseException] = []
    disturber = threading.Thread(target=_disturb, args=(disturb, run, failures))
    for thread in (*threads, disturber):
        thread.start()
    for thread in threads:
        thread.join()
    run.ended.set()
    disturber.join()
    for failure in (*failures, *(client.failure for client in clients)):
        if failure is not None:
            raise failure
    await_contact(backend, observer)
    last = _Client(observer, ticks, CLIENTS, registers)
    for register in registers:
        assert last.read(register)
    assert len(last.history) == REGISTERS
    return [operation for client in (*clients, last) for operation in client.history]


def _explained(backend: Backend, disturb: Callable[[_Run], None]) -> list[Operation]:
    """A history that some order explains."""
    for attempt in range(HISTORIES):
        history = _history(backend, disturb, attempt)
        with suppress(Undecided):
            name = unlinearizable(history, b"initial")
            assert name is None, f"no order of the operations explains what was seen of {name}"
            return history
    raise Undecided(f"too many operations are open in each of {HISTORIES} histories")


def _disturb(disturb: Callable[[_Run], None], run: _Run, failures: list[BaseException]) -> None:
    try:
        disturb(run)
    except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
        failures.append(error)


@case("linearizability")
def four_clients_on_registers(backend: Backend) -> None:
    """4 clients x 300 reads, writes and compare-and-sets on 5 registers: some order explains every answer."""
    history, asked = _explained(backend, lambda _: None), CLIENTS * OPERATIONS + REGISTERS
    if len(history) != asked:
        raise Unanswered(f"{asked - len(history)} of {asked} operations were not answered")
    assert {operation.kind for operation in history} == {"read", "write", "cas", "miss"}


@case("linearizability", Hook.BLACKOUT)
def four_clients_while_replies_get_lost(backend: Backend) -> None:
    """The same while replies are lost: an operation with an unknown outcome may take effect at any later time."""

    def disturb(run: _Run) -> None:
        for store in itertools.cycle(run.stores):
            with backend.blackout(store):
                if run.ended.wait(0.005):
                    return
            if run.ended.wait(0.02):
                return

    _explained(backend, disturb)


@case("linearizability", Hook.DISCONNECT)
def four_clients_while_some_are_cut_off(backend: Backend) -> None:
    """The same while clients are disconnected for a moment, one after another."""

    def disturb(run: _Run) -> None:
        for store in itertools.cycle(run.stores):
            backend.disconnect(store)
            over = run.ended.wait(0.002)
            backend.reconnect(store)
            if over or run.ended.wait(0.005):
                return

    _explained(backend, disturb)


@case("linearizability", Hook.PAUSE)
def four_clients_while_the_server_stands_still(backend: Backend) -> None:
    """The same while the server is paused now and then: open requests are answered late, and once."""

    def disturb(run: _Run) -> None:
        for share in range(1, FAULTS + 1):
            if not run.wait_until_done(share * CLIENTS * OPERATIONS // (FAULTS + 1)):
                return
            backend.pause()
            run.ended.wait(PAUSE_S)
            backend.resume()

    _explained(backend, disturb)


@case("linearizability", Hook.RESTART)
def four_clients_while_the_server_is_killed(backend: Backend) -> None:
    """The same while the server is killed and started again: it knows all that it acknowledged, and of the rest all or
    nothing."""
    killed = 0

    def disturb(run: _Run) -> None:
        nonlocal killed
        for share in range(1, FAULTS + 1):
            if not run.wait_until_done(share * CLIENTS * OPERATIONS // (FAULTS + 1)):
                return
            backend.restart()
            killed += 1

    _explained(backend, disturb)
    assert killed % FAULTS == 0
    assert killed
