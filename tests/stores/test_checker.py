"""The suite's own judgement: which histories it explains, and that its cases and helpers can fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.stores import ABSENT, PRESENT, Changed, Commit, Conflict, Depth, Entry, MemoryServer, MemoryStore, Op, Resync
from kedge.stores.suite import Backend, Operation, unlinearizable
from kedge.stores.suite.backend import events_until, eventually, hints, raises
from kedge.stores.suite.checker import UNKNOWN_END, Undecided
from kedge.stores.suite.registers import four_clients_on_registers

Kind = Literal["read", "write", "cas", "miss"]


def op(kind: Kind, value: bytes | None, start: float, end: float, expected: bytes | None = None) -> Operation:
    return Operation("r", kind, value, start, end, expected)


LATE = op("write", b"1", 3, UNKNOWN_END)
CAS = op("cas", b"1", 0, UNKNOWN_END, b"5")


@pytest.mark.parametrize(
    "history, is_explained",
    [
        ([op("read", None, 1, 2), op("write", b"1", 3, 4), op("cas", b"2", 5, 6, b"1"), op("read", b"2", 7, 8)], True),
        ([op("write", b"1", 1, 2), op("read", None, 3, 4)], False),
        ([op("write", b"1", 1, 3), op("read", None, 2, 4)], True),
        ([op("write", b"1", 1, 10), op("read", b"1", 2, 3), op("read", None, 4, 5)], False),
        ([op("write", b"1", 1, 10), op("read", None, 2, 3), op("read", b"1", 4, 5)], True),
        ([op("write", b"0", 1, 2), op("cas", b"1", 3, 6, b"0"), op("cas", b"2", 4, 7, b"0")], False),
        ([op("write", b"0", 1, 2), op("miss", None, 3, 4, b"0")], False),
        ([LATE, op("read", None, 5, 6), op("read", b"1", 7, 8)], True),
        ([LATE, op("read", b"1", 1, 2)], False),
        ([CAS, op("write", b"2", 0, UNKNOWN_END), op("miss", None, 1, 2)], True),
        ([CAS, op("miss", None, 1, 2)], False),
    ],
    ids=[
        "one after another",
        "a stale read",
        "a concurrent read",
        "a read that goes back",
        "a read that goes on",
        "a lost update",
        "a false conflict",
        "an unknown write that is late",
        "an unknown write that is read before",
        "an unknown write explains a miss",
        "an unknown cas that cannot",
    ],
)
def test_history_is_explained_or_not(history: list[Operation], is_explained: bool) -> None:
    """A register is named; others of the history are independent."""
    other = [attrs.evolve(o, register="a") for o in (op("write", b"1", 1, 2), op("read", b"1", 3, 4))]
    assert unlinearizable([*history, *other]) == (None if is_explained else "r")


def simulated(seed: int, steps: int = 300, clients: int = 4) -> list[Operation]:
    """A history that is linearizable by construction: each operation takes effect at one drawn instant."""
    chance = random.Random(seed)
    free = [0.0] * clients
    planned: list[tuple[float, float, float, int]] = []
    for number in range(steps):
        client = number % clients
        start = free[client] + chance.random()
        effect = start + chance.random() * 3
        free[client] = effect + chance.random() * 3
        planned.append((effect, start, free[client], number))
    value: bytes | None = None
    seen: list[bytes | None] = [None]
    history: list[Operation] = []
    for _effect, start, end, number in sorted(planned):
        draw, new, expected = chance.random(), b"%d" % number, chance.choice(seen[-3:])
        if draw < 0.5:
            history.append(op("read", value, start, end))
            seen.append(value)
        elif draw < 0.7:
            history.append(op("write", new, start, UNKNOWN_END if chance.random() < 0.1 else end))
            value = new
        elif expected == value:
            history.append(op("cas", new, start, end, expected))
            value = new
        else:
            history.append(op("miss", None, start, end, expected))
    return history


def with_stale_read(history: list[Operation], chance: random.Random) -> list[Operation]:
    """A read that finds a value which was overwritten, for all to see, before it began."""
    reads = [o for o in history if o.kind == "read" and o.value is not None]
    victim = chance.choice(reads[len(reads) // 2 :])
    old = next(o.value for o in reads if o.value != victim.value and o.end < victim.start)
    return [attrs.evolve(o, value=old) if o is victim else o for o in history]


@pytest.mark.parametrize("seed", range(5))
def test_long_histories_are_judged(seed: int) -> None:
    """300 operations of 4 clients, and as many writes without an end: clients that were cut off leave hundreds."""
    history = simulated(seed)
    lost = [op("write", b"lost %d" % number, number, UNKNOWN_END) for number in range(300)]
    assert unlinearizable([*history, *lost], states_max=5000) is None
    assert unlinearizable([*with_stale_read(history, random.Random(seed)), *lost], states_max=100_000) == "r"


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Few operations that overlap much, of which many have no end, with answers that may be wrong."""
    values = [None, *(b"%d" % number for number in range(draw(st.integers(1, 7))))]
    history: list[Operation] = []
    for number in range(1, len(values)):
        kind: Kind = draw(st.sampled_from(["read", "write", "cas", "miss"]))
        start = draw(st.integers(0, 6))
        end = start + draw(st.integers(1, 4))
        is_open = kind in ("write", "cas") and draw(st.booleans())
        value = (
            values[number] if kind in ("write", "cas") else draw(st.sampled_from(values)) if kind == "read" else None
        )
        expected = draw(st.sampled_from(values)) if kind in ("cas", "miss") else None
        history.append(op(kind, value, start, UNKNOWN_END if is_open else end, expected))
    return history


def has_an_order(history: list[Operation], value: bytes | None) -> bool:
    """Every order is tried."""
    if all(o.end == UNKNOWN_END for o in history):
        return True
    bound = min(o.end for o in history)
    for number, o in enumerate(history):
        is_refused = {
            "read": o.value != value,
            "write": False,
            "cas": o.expected != value,
            "miss": o.expected == value,
        }[o.kind]
        after = o.value if o.kind in ("write", "cas") else value
        if o.start <= bound and not is_refused and has_an_order(history[:number] + history[number + 1 :], after):
            return True
    return False


@pytest.mark.slow
@settings(max_examples=1000)
@given(histories())
def test_the_search_answers_as_one_that_tries_every_order(history: list[Operation]) -> None:
    assert (unlinearizable(history) is None) == has_an_order(history, None)


def test_a_search_that_grows_too_large_says_so() -> None:
    """Too many concurrent writes leave the question open: Undecided, not an answer and not a full memory."""
    writes = [op("write", b"%d" % number, 0, 3) for number in range(24)]
    with pytest.raises(Undecided, match="25 operations"):
        unlinearizable([*writes, op("read", b"never written", 1, 2)], states_max=1000)


class StaleStore(MemoryStore):
    """A store that answers every tenth read with what it had read before."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self._reads = 0
        self._before: dict[str, Entry | None] = {}

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        self._reads += 1
        if self._reads % 10 == 0 and key in self._before:
            return self._before[key]
        entry = self._before[key] = super().get(key, sync=sync, timeout_s=timeout_s)
        return entry


class ForgetfulStore(MemoryStore):
    """A store that does not look, now and then, at the version that a put expects."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self._commits = 0

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        self._commits += 1
        if self._commits % 10:
            return super().commit(ops, timeout_s=timeout_s)
        blind = [attrs.evolve(op, expect=PRESENT) if op.expect is not ABSENT else op for op in ops]
        return super().commit(blind, timeout_s=timeout_s)


class Bare(Backend):
    """A harness without hooks, of clients of one kind, whose deadlines are short."""

    name = "bare"
    wait_s = 0.05

    def __init__(self, kind: type[MemoryStore] = MemoryStore, wait_s: float = 0.05) -> None:
        self.wait_s = wait_s
        self._kind = kind
        self._server = MemoryServer()

    def open(self) -> MemoryStore:
        return self._kind(self._server)

    def close(self) -> None:
        self._server.close()


@pytest.mark.parametrize("kind", [StaleStore, ForgetfulStore])
def test_the_case_of_the_suite_rejects_a_store_that_lies(kind: type[MemoryStore]) -> None:
    """One whose reads are stale now and then, and one that loses updates."""
    with pytest.raises(AssertionError, match="no order of the operations explains"):
        four_clients_on_registers(Bare(kind, wait_s=20))


@pytest.mark.slow
def test_waiting_fails_with_what_was_waited_for() -> None:
    """A deadline that passes is a failed assertion which names the backend and the thing."""
    backend = Bare()
    with pytest.raises(AssertionError, match=r"bare: not within 0.05 s: nothing"):
        eventually(backend, "nothing", lambda: False)
    stream = backend.open().subscribe("/a", Depth.SELF)
    with pytest.raises(AssertionError, match=r"bare: .*initial"):
        events_until(backend, stream, "nothing", lambda _: False)


@pytest.mark.parametrize("hook", ["expire", "disconnect", "reconnect", "outlive", "blackout"])
def test_hook_that_is_not_declared_is_not_implemented(hook: str) -> None:
    backend = Bare()
    calls: list[Callable[[], object]] = [backend.restart, backend.pause, backend.compact, backend.resume]
    for call in (lambda: getattr(backend, hook)(backend.open()), *calls):
        with pytest.raises(NotImplementedError):
            call()


def test_raises_fails_where_nothing_is_raised() -> None:
    """The suite's own `raises` fails without the error, and lets any other one through."""
    with pytest.raises(AssertionError, match="Conflict should have been raised"), raises(Conflict):
        pass
    with pytest.raises(KeyError), raises(Conflict):
        raise KeyError


def test_what_counts_as_a_hint() -> None:
    """A hint at the key itself, or a Resync of it or of a key above it."""
    assert hints(Changed("/a/b"), "/a/b")
    assert not hints(Changed("/a"), "/a/b")
    assert all(hints(Resync(prefix, "x"), "/a/b") for prefix in ("/", "/a", "/a/b"))
    assert not hints(Resync("/a/b/c", "x"), "/a/b")
