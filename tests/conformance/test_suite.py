from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from kedge.stores.suite import CASES, GROUPS, Case
from tests.conformance.bindings import BINDINGS, Binding

# (executed, skipped) per backend. A skipped case is one whose hook the harness of that backend lacks: RESTART, PAUSE
# and COMPACT need a real server, BLACKOUT needs replies that can be lost; ZooKeeper has no history to COMPACT. With
# --no-servers, and with --fast, those that need one are left out as a whole.
EXPECTED = {
    "memory-global": (96, 11),
    "memory-per-key": (96, 11),
    "faults-reply-lost": (102, 5),
    "faults-request-lost": (23, 3),
    "faults-delivered-late": (23, 3),
    "etcd": (107, 0),
    "zookeeper": (106, 1),
    "zookeeper-without-multiread": (41, 4),
    "etcd-ensemble": (2, 3),
    "zookeeper-ensemble": (2, 3),
}

_counts: dict[str, Counter[str]] = {binding.name: Counter() for binding in BINDINGS}


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Threads change every 50 us instead of every 5 ms, so that the clients of a case really run into each other."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(0.00005)
    yield
    sys.setswitchinterval(interval_s)


# On servers these take seconds each; the memory store and the fault store run them all.
LONG_GROUPS = {"faults", "linearizability"}
LONG = {"kv.ten_thousand_updates_of_a_key"}
SHORT = {"faults.a_restart_loses_nothing"}


def _marks(binding: Binding, case: Case) -> tuple[pytest.MarkDecorator, ...]:
    if not binding.server:
        return ()
    is_long = (case.group in LONG_GROUPS or case.name in LONG) and case.name not in SHORT
    is_full = is_long or binding.name not in {"zookeeper", "etcd"}
    return (pytest.mark.server, pytest.mark.full if is_full else pytest.mark.slow)


RUNS = [
    pytest.param(
        binding,
        case,
        id=f"{binding.name}-{case.name}",
        marks=_marks(binding, case),
    )
    for binding in BINDINGS
    for case in CASES
    if case.group in binding.groups
]


@pytest.mark.parametrize("binding,case", RUNS)
def test_conformance(binding: Binding, case: Case, request: pytest.FixtureRequest) -> None:
    """Every case of the suite holds on every backend that has the hooks which the case needs."""
    backend = binding.make(request.getfixturevalue(binding.fixture)) if binding.fixture else binding.make()
    try:
        if case.lacks(backend):
            _counts[binding.name]["skipped"] += 1
            return
        case.run(backend)
        _counts[binding.name]["executed"] += 1
    finally:
        backend.close()


def test_every_case_says_what_it_holds() -> None:
    """The docstring of every case is one sentence, and names are unique, so that a report of them reads as a list."""
    assert {case.group for case in CASES} == set(GROUPS)
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        sentence = case.run.__doc__
        assert sentence is not None, case.name
        assert sentence.rstrip().endswith("."), case.name
        assert ". " not in sentence, case.name


def test_executed_and_skipped_counts_are_as_expected(request: pytest.FixtureRequest) -> None:
    """Nothing is skipped silently: the numbers of executed and skipped cases per backend stand in this file."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    chosen = [item.callspec.params["binding"] for item in items if item.originalname == "test_conformance"]
    selected = Counter(binding.name for binding in chosen if isinstance(binding, Binding))
    there_are = Counter(binding.name for binding in BINDINGS for case in CASES if case.group in binding.groups)
    whole = [name for name, count in there_are.items() if selected[name] == count]
    if not whole:
        pytest.skip("only a part of the suite was selected")
    counted = {name: (_counts[name]["executed"], _counts[name]["skipped"]) for name in whole}
    assert counted == {name: EXPECTED[name] for name in whole}
