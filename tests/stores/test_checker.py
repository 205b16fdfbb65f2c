from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.stores import (
    ABSENT,
    PRESENT,
    Changed,
    Commit,
    Conflict,
    Depth,
    Entry,
    MemoryServer,
    MemoryStore,
    MetadataStore,
    Op,
    Resync,
)
from kedge.stores.suite import Backend, Hook, Operation, unlinearizable
from kedge.stores.suite.backend import events_until, eventually, hints, raises
from kedge.stores.suite.checker import UNKNOWN_END, Undecided
from kedge.stores.suite.registers import four_clients_on_registers

Kind = Literal["read", "write", "cas", "miss"]


def op(kind: Kind, value: bytes | None, start: float, end: float, expected: bytes | None = None) -> Operation:
    return Operation("r", kind, value, start, end, expected)


def test_a_plain_sequence_is_linearizable() -> None:
    """Operations one after another that tell the truth are explained."""
    history = [op("read", None, 1, 2), op("write", b"1", 3, 4), op("read", b"1", 5, 6), op("cas", b"2", 7, 8, b"1")]
    assert unlinearizable([*history, op("miss", None, 9, 10, b"1"), op("read", b"2", 11, 12)]) is None


def test_a_stale_read_is_rejected() -> None:
    """A read that began after a write had ended must not find the value before it."""
    assert unlinearizable([op("write", b"1", 1, 2), op("read", None, 3, 4)]) == "r"
    assert unlinearizable([op("write", b"1", 1, 3), op("read", None, 2, 4)]) is None


def test_a_read_that_goes_back_is_rejected() -> None:
    """Once a read found a concurrent write, a later read must not find the old value again."""
    write = op("write", b"1", 1, 10)
    assert unlinearizable([write, op("read", b"1", 2, 3), op("read", None, 4, 5)]) == "r"
    assert unlinearizable([write, op("read", None, 2, 3), op("read", b"1", 4, 5)]) is None


def test_a_lost_update_is_rejected() -> None:
    """Two compare-and-sets on one value cannot both succeed."""
    history = [op("write", b"0", 1, 2), op("cas", b"1", 3, 6, b"0"), op("cas", b"2", 4, 7, b"0")]
    assert unlinearizable(history) == "r"


def test_a_false_conflict_is_rejected() -> None:
    """A compare-and-set that was refused though the value was the expected one all the time is not explained."""
    assert unlinearizable([op("write", b"0", 1, 2), op("miss", None, 3, 4, b"0")]) == "r"


def test_an_unknown_outcome_may_be_either_and_late() -> None:
    """A write without an end may never take effect, or take effect long after its start; not before it."""
    write = op("write", b"1", 3, UNKNOWN_END)
    assert unlinearizable([write, op("read", None, 5, 6)]) is None
    assert unlinearizable([write, op("read", None, 5, 6), op("read", b"1", 7, 8)]) is None
    assert unlinearizable([write, op("read", b"1", 1, 2)]) == "r"


def test_registers_are_independent() -> None:
    """The name of the broken register is given."""
    good = attrs.evolve(op("write", b"1", 1, 2), register="a")
    bad = [attrs.evolve(o, register="b") for o in (op("write", b"1", 1, 2), op("read", None, 3, 4))]
    assert unlinearizable([good]) is None
    assert unlinearizable([good, *bad]) == "b"


def simulated(seed: int, steps: int = 300, clients: int = 4) -> list[Operation]:
    """A history that is linearizable by construction: each operation takes effect at one drawn instant."""
    chance = random.Random(seed)
    free = [0.0] * clients
    planned: list[tuple[float, float, float, int]] = []
    for number in range(steps):
        client = number % clients
        start = free[client] + chance.random()
        effect = start + chance.random() * 3
        end = effect + chance.random() * 3
        free[client] = end
        planned.append((effect, start, end, number))
    value: bytes | None = None
    seen: list[bytes | None] = [None]
    history: list[Operation] = []
    for _effect, start, end, number in sorted(planned):
        draw = chance.random()
        new = b"%d" % number
        if draw < 0.5:
            history.append(op("read", value, start, end))
            seen.append(value)
        elif draw < 0.7:
            unknown = chance.random() < 0.1
            history.append(op("write", new, start, UNKNOWN_END if unknown else end))
            value = new
        else:
            expected = chance.choice(seen[-3:])
            if expected == value:
                history.append(op("cas", new, start, end, expected))
                value = new
            else:
                history.append(op("miss", None, start, end, expected))
    return history


@pytest.mark.parametrize("seed", range(10))
def test_good_histories_pass_and_seeded_faults_are_found(seed: int) -> None:
    """300 operations of 4 clients pass; with one read made stale, or one update lost, the same history is rejected."""
    history = simulated(seed)
    assert unlinearizable(history) is None
    chance = random.Random(seed)
    assert unlinearizable(_with_stale_read(history, chance)) == "r"
    assert unlinearizable(_with_lost_update(history, chance)) == "r"


def _with_stale_read(history: list[Operation], chance: random.Random) -> list[Operation]:
    """A read that finds a value which was overwritten, for all to see, before it began."""
    reads = [o for o in history if o.kind == "read" and o.value is not None]
    victim = chance.choice(reads[len(reads) // 2 :])
    old = next(o.value for o in reads if o.value != victim.value and o.end < victim.start)
    return [attrs.evolve(o, value=old) if o is victim else o for o in history]


def _with_lost_update(history: list[Operation], chance: random.Random) -> list[Operation]:
    """A second compare-and-set that found what another had replaced already."""
    victim = chance.choice([o for o in history if o.kind == "cas"])
    end = max(o.end for o in history if o.end != UNKNOWN_END)
    return [*history, attrs.evolve(victim, value=b"lost", start=end + 1, end=end + 2)]


@given(st.integers(0, 10_000))
def test_simulated_histories_are_always_explained(seed: int) -> None:
    """The search never rejects a history that has an order by construction."""
    assert unlinearizable(simulated(seed, 60)) is None


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Few operations that overlap much, of which many have no end, with answers that may be wrong."""
    values = [None, *(b"%d" % number for number in range(draw(st.integers(1, 7))))]
    found: list[Operation] = []
    for number in range(1, len(values)):
        kind: Kind = draw(st.sampled_from(["read", "write", "cas", "miss"]))
        start = draw(st.integers(0, 6))
        end = start + draw(st.integers(1, 4))
        is_open = kind in ("write", "cas") and draw(st.booleans())
        value = (
            values[number] if kind in ("write", "cas") else draw(st.sampled_from(values)) if kind == "read" else None
        )
        expected = draw(st.sampled_from(values)) if kind in ("cas", "miss") else None
        found.append(op(kind, value, start, UNKNOWN_END if is_open else end, expected))
    return found


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


def test_what_a_compare_and_set_without_an_end_expects_counts() -> None:
    """It does not do the same as a write."""
    cas = op("cas", b"1", 0, UNKNOWN_END, b"5")
    assert unlinearizable([cas, op("write", b"2", 0, UNKNOWN_END), op("miss", None, 1, 2)]) is None
    assert unlinearizable([cas, op("miss", None, 1, 2)]) == "r"


def test_hundreds_of_writes_without_an_end_are_no_hindrance() -> None:
    """Clients that were cut off leave as many."""
    history = simulated(1)
    lost = [op("write", b"lost %d" % number, number, UNKNOWN_END) for number in range(300)]
    assert unlinearizable([*history, *lost], states_max=5000) is None
    assert unlinearizable([*_with_stale_read(history, random.Random(1)), *lost], states_max=100_000) == "r"


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
        found = self._before[key] = super().get(key, sync=sync, timeout_s=timeout_s)
        return found


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


class Lying(Backend):
    """Clients that lie, of one server."""

    name = "lying"

    def __init__(self, kind: type[MemoryStore]) -> None:
        self._kind = kind
        self._server = MemoryServer()

    def open(self) -> MetadataStore:
        return self._kind(self._server)

    def close(self) -> None:
        self._server.close()


@pytest.mark.parametrize("kind", [StaleStore, ForgetfulStore])
def test_the_case_of_the_suite_rejects_a_store_that_lies(kind: type[MemoryStore]) -> None:
    """One whose reads are stale now and then, and one that loses updates."""
    with pytest.raises(AssertionError, match="no order of the operations explains"):
        four_clients_on_registers(Lying(kind))


class Hurried(Backend):
    """A harness whose deadlines are over at once."""

    name = "hurried"
    wait_s = 0.05

    def open(self) -> MetadataStore:
        return MemoryStore()

    def close(self) -> None:
        pass


@pytest.mark.slow
def test_waiting_fails_with_what_was_waited_for() -> None:
    """A deadline that passes is a failed assertion which names the backend and the thing."""
    backend = Hurried()
    with pytest.raises(AssertionError, match=r"hurried: not within 0.05 s: nothing"):
        eventually(backend, "nothing", lambda: False)
    stream = backend.open().subscribe("/a", Depth.SELF)
    with pytest.raises(AssertionError, match=r"hurried: .*initial"):
        events_until(backend, stream, "nothing", lambda _: False)


def test_a_hook_that_is_not_there_is_not_called() -> None:
    """The hooks of a harness that declares none are not implemented."""
    backend = Hurried()
    store = backend.open()
    calls = (
        lambda: backend.expire(store),
        lambda: backend.disconnect(store),
        lambda: backend.reconnect(store),
        lambda: backend.outlive(store),
        lambda: backend.blackout(store),
        backend.restart,
        backend.pause,
        backend.compact,
        backend.resume,
    )
    assert len(calls) > len(Hook)
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()


def test_raises_fails_where_nothing_is_raised() -> None:
    """The suite's own `raises` fails without the error, and lets any other one through."""
    with pytest.raises(AssertionError, match="Conflict should have been raised"), raises(Conflict):
        pass
    with pytest.raises(KeyError), raises(Conflict):
        raise KeyError


def test_what_counts_as_a_hint() -> None:
    """A hint at the key itself, or a Resync of it or of what stands above it."""
    assert hints(Changed("/a/b"), "/a/b")
    assert not hints(Changed("/a"), "/a/b")
    assert all(hints(Resync(prefix, "x"), "/a/b") for prefix in ("/", "/a", "/a/b"))
    assert not hints(Resync("/a/b/c", "x"), "/a/b")
