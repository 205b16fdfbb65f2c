"""Linearizability: four clients at once on a few registers, and the history checked afterwards."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable

from stores.base import PRESENT, Conflict, Entry, Expect, MetadataStore, OutcomeUnknown, StoreError, Unavailable
from stores.suite.backend import Backend, Hook, case, eventually, fill, get, put
from stores.suite.checker import UNKNOWN_END, Operation, unlinearizable

CLIENTS = 4
OPERATIONS = 300
REGISTERS = tuple(f"/register/{number}" for number in range(5))


class _Client:
    """One client that works on the registers and writes down what it did. Ticks come from one counter, whose `next` is
    atomic: an order of events that no clock's resolution can blur."""

    def __init__(self, store: MetadataStore, ticks: itertools.count[int], number: int) -> None:
        self.history: list[Operation] = []
        self.failure: BaseException | None = None
        self._store = store
        self._ticks = ticks
        self._number = number
        self._random = random.Random(number)  # noqa: S311 - seeded randomness is the aim
        self._seen: dict[str, Entry] = {}

    def work(self, operations: int = OPERATIONS) -> None:
        """Do that many operations."""
        try:
            for step in range(operations):
                register = self._random.choice(REGISTERS)
                value = b"%d-%d" % (self._number, step)
                draw = self._random.random()
                if draw < 0.4:
                    self._read(register)
                elif draw < 0.6 or register not in self._seen:
                    self._write(register, value, PRESENT, None)
                else:
                    seen = self._seen[register]
                    self._write(register, value, seen.version, seen.value)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.failure = error

    def _read(self, register: str) -> None:
        start = next(self._ticks)
        try:
            entry = get(self._store, register)
        except (Unavailable, OutcomeUnknown):
            return  # a read without an answer says nothing
        end = next(self._ticks)
        assert entry is not None
        self._seen[register] = entry
        self.history.append(Operation(register, "read", entry.value, start, end))

    def _write(self, register: str, value: bytes, expect: Expect, expected: bytes | None) -> None:
        kind = "write" if expected is None else "cas"
        start = next(self._ticks)
        try:
            put(self._store, register, value, expect)
        except Conflict:
            self.history.append(Operation(register, "miss", None, start, next(self._ticks), expected))
            return
        except OutcomeUnknown:
            end = UNKNOWN_END
        except Unavailable:
            return
        else:
            end = next(self._ticks)
        self.history.append(Operation(register, "write" if kind == "write" else "cas", value, start, end, expected))


def _history(backend: Backend, disturb: Callable[[list[MetadataStore], threading.Event], None]) -> list[Operation]:
    observer = backend.open()
    fill(observer, REGISTERS, b"initial")
    ticks = itertools.count(1)
    stores = [backend.open() for _ in range(CLIENTS)]
    clients = [_Client(store, ticks, number) for number, store in enumerate(stores)]
    threads = [threading.Thread(target=client.work) for client in clients]
    ended = threading.Event()
    disturber = threading.Thread(target=disturb, args=(stores, ended))
    for thread in (*threads, disturber):
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    disturber.join()
    for client in clients:
        if client.failure is not None:
            raise client.failure
    last = _Client(observer, ticks, CLIENTS)
    for register in REGISTERS:
        last._read(register)  # noqa: SLF001 - same module
    return [operation for client in (*clients, last) for operation in client.history]


@case("linearizability")
def four_clients_on_registers(backend: Backend) -> None:
    """4 clients x 300 reads, writes and compare-and-sets on 5 registers: some order explains every answer."""
    history = _history(backend, lambda _stores, _ended: None)
    assert len(history) == CLIENTS * OPERATIONS + len(REGISTERS)
    assert {operation.kind for operation in history} == {"read", "write", "cas", "miss"}
    assert unlinearizable(history, b"initial") is None


@case("linearizability", Hook.BLACKOUT)
def four_clients_while_replies_get_lost(backend: Backend) -> None:
    """The same while replies get lost: an operation whose outcome is unknown may take effect at any later time."""

    def disturb(stores: list[MetadataStore], ended: threading.Event) -> None:
        for store in itertools.cycle(stores):
            with backend.blackout(store):
                if ended.wait(0.005):
                    return
            if ended.wait(0.02):
                return

    history = _history(backend, disturb)
    assert unlinearizable(history, b"initial") is None


@case("linearizability", Hook.DISCONNECT)
def four_clients_while_some_are_cut_off(backend: Backend) -> None:
    """The same while clients are cut off for a moment, one after another."""

    def disturb(stores: list[MetadataStore], ended: threading.Event) -> None:
        for store in itertools.cycle(stores):
            backend.disconnect(store)
            over = ended.wait(0.002)
            backend.reconnect(store)
            if over or ended.wait(0.005):
                return

    def calm(store: MetadataStore) -> bool:
        try:
            return get(store, REGISTERS[0]) is not None
        except StoreError:
            return False

    history = _history(backend, disturb)
    store = backend.open()
    eventually(backend, "all is calm", lambda: calm(store))
    assert unlinearizable(history, b"initial") is None
