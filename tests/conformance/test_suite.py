from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from stores.suite import CASES, GROUPS, Case
from tests.conformance.bindings import BINDINGS, Binding

# (executed, skipped) per backend. A skipped case is one whose hook the harness of that backend lacks: RESTART and
# COMPACT need a real server, BLACKOUT needs replies that can be lost.
EXPECTED = {
    "memory-global": (94, 9),
    "memory-per-key": (94, 9),
    "faults-reply-lost": (100, 3),
    "faults-request-lost": (23, 1),
    "faults-delivered-late": (23, 1),
}

_counts: dict[str, Counter[str]] = {binding.name: Counter() for binding in BINDINGS}


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Threads change every 50 us instead of every 5 ms, so that the clients of a case really run into each other."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(0.00005)
    yield
    sys.setswitchinterval(interval_s)


RUNS = [(binding, case) for binding in BINDINGS for case in CASES if case.group in binding.groups]


@pytest.mark.parametrize("binding,case", RUNS, ids=[f"{binding.name}-{case.name}" for binding, case in RUNS])
def test_conformance(binding: Binding, case: Case) -> None:
    """Every case of the suite holds on every backend that has the hooks which the case needs."""
    backend = binding.make()
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
    selected = sum(1 for item in request.session.items if item.name.startswith("test_conformance["))
    if selected != len(RUNS):
        pytest.skip("only a part of the suite was selected")
    assert {name: (count["executed"], count["skipped"]) for name, count in _counts.items()} == EXPECTED
