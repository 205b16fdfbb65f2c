"""Whose value a throttle is: in whatever order requests, operators and crashes come, what an operator set last stands
in the end, and lists of replicas lose only what requests put there."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.throttles import Kept
from kedge.controller.rules.throttling.keeping import elements, given_back, joined, released, trimmed, written

RATE, LIST = RATES["replication"][0], LISTS[0]
OURS = st.sampled_from(["1000", "2000", "3000"])
THEIRS = st.sampled_from([None, "7", "8", "9"])  # what no request asks for
OUR_ELEMENTS = st.lists(st.sampled_from(["0:1", "0:2", "1:1", "1:2"]), max_size=3, unique=True).map(tuple)
THEIR_ELEMENTS = st.lists(st.sampled_from(["5:5", "6:6", "7:7"]), max_size=3, unique=True).map(tuple)


class Rates(RuleBasedStateMachine):
    """One rate. A request marks first and sets then; anything may come in between, also a crash that forgets it."""

    def __init__(self) -> None:
        super().__init__()
        self.present: str | None = None
        self.theirs: str | None = None
        self.kept: Kept | None = None
        self.wanted: str | None = None

    @rule(value=OURS)
    def mark(self, value: str) -> None:
        self.kept, self.wanted = joined(RATE, self.kept, self.present, (value,)), value

    @precondition(lambda self: self.wanted is not None)
    @rule()
    def put(self) -> None:
        assert self.wanted is not None
        if self.kept is None or self.wanted not in self.kept.set:
            return
        kept = joined(RATE, self.kept, self.present, (self.wanted,))  # as a conflict has it decided again
        self.kept = kept
        self.present, self.wanted = written(RATE, kept, self.present, (self.wanted,), replaces=True), None

    @rule()
    def crash(self) -> None:
        self.wanted = None

    @precondition(lambda self: self.kept is not None and self.wanted is None)
    @rule()
    def trim(self) -> None:
        assert self.kept is not None
        self.kept = trimmed(RATE, self.kept, self.present)

    @rule(value=THEIRS)
    def operate(self, value: str | None) -> None:
        self.present = self.theirs = value

    @rule()
    def remove(self) -> None:
        if self.kept is not None:
            self.present = given_back(RATE, self.kept, self.present)
            assert given_back(RATE, self.kept, self.present) == self.present, "giving back is not idempotent"
        self.kept = self.wanted = None
        assert self.present == self.theirs

    def teardown(self) -> None:
        self.remove()


class Lists(RuleBasedStateMachine):
    """One list of replicas. An operator adds to what is there, removes some of them, or replaces it."""

    def __init__(self) -> None:
        super().__init__()
        self.present: str | None = None
        self.theirs: tuple[str, ...] = ()
        self.kept: Kept | None = None

    @rule(wanted=OUR_ELEMENTS, replaces=st.booleans(), crashes=st.booleans())
    def request(self, wanted: tuple[str, ...], replaces: bool, crashes: bool) -> None:
        self.kept = joined(LIST, self.kept, self.present, wanted)
        if not crashes:
            self.present = written(LIST, self.kept, self.present, wanted, replaces=replaces)
            assert {*wanted, *self.theirs} <= {*elements(self.present)}
            if replaces:
                assert {*elements(self.present)} == {*wanted, *self.theirs}
                self.kept = trimmed(LIST, self.kept, self.present)

    @rule(theirs=THEIR_ELEMENTS, blank=st.booleans())
    def operate(self, theirs: tuple[str, ...], blank: bool) -> None:
        """All of it is replaced, ours included."""
        self.theirs = theirs
        self.present = (", " if blank else ",").join(theirs) if theirs else None

    @rule(more=st.sampled_from(["5:5", "6:6", "8:8"]))
    def append(self, more: str) -> None:
        parts = elements(self.present)
        if more not in parts:
            self.present, self.theirs = ",".join((*parts, more)), (*self.theirs, more)

    @rule()
    def remove(self) -> None:
        if self.kept is not None:
            self.present = given_back(LIST, self.kept, self.present)
            assert given_back(LIST, self.kept, self.present) == self.present, "giving back is not idempotent"
        self.kept = None
        assert elements(self.present) == self.theirs
        assert self.present is None or self.theirs

    def teardown(self) -> None:
        self.remove()


TestRates = Rates.TestCase
TestRates.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLists = Lists.TestCase
TestLists.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("value", ["0:1, 0:2", "0:1,0:2", ""])
def test_list_of_an_operator_is_restored_as_it_was_spelled(value: str) -> None:
    """Blanks and an empty text included."""
    kept = joined(LIST, None, value, ("3:3",))
    present = written(LIST, kept, value, ("3:3",), replaces=False)
    assert given_back(LIST, kept, present) == value


def test_an_element_that_was_there_before_is_the_operators() -> None:
    kept = joined(LIST, None, "0:1", ("0:1", "0:2"))
    assert written(LIST, kept, "0:1", ("0:1", "0:2"), replaces=False) == "0:1,0:2"
    assert given_back(LIST, kept, "0:1,0:2") == "0:1"


def test_a_list_that_names_everything_is_left_as_it_is() -> None:
    kept = joined(LIST, None, "*", ("0:1",))
    assert written(LIST, kept, "*", ("0:1",), replaces=True) == "*"
    assert given_back(LIST, kept, "*") == "*"


def test_what_names_everything_gets_nothing_added_and_keeps_its_spelling() -> None:
    assert joined(LIST, None, "*", ("0:1",)).set == ()
    assert written(LIST, None, "*, *", ("0:1",), replaces=False) == "*, *"


def test_what_stood_there_before_the_first_request_is_kept_over_the_second() -> None:
    kept = joined(LIST, Kept("5:5", ("0:1",)), "5:5,0:1", ("0:2",))
    assert kept == Kept("5:5", ("0:1", "0:2"))


def test_a_list_of_which_an_operator_took_its_own_part_away_is_removed() -> None:
    assert given_back(LIST, Kept("5:5", ("0:1",)), "0:1") is None


def test_nothing_is_kept_of_a_list_that_is_to_stay_as_a_whole() -> None:
    kept = Kept("5:5", ("0:1", "0:2"))
    assert released(LIST, kept, ("0:1",)) == Kept("5:5", ("0:2",))
    assert released(LIST, kept, ("0:1", "0:2")) is None


def test_an_operator_who_had_the_same_rate_keeps_it() -> None:
    kept = joined(RATE, None, "1000", ("1000",))
    assert given_back(RATE, joined(RATE, kept, "1000", ("2000",)), "2000") == "1000"


class Looked(str):
    """An element that counts how often one was compared with another."""

    __slots__ = ()
    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Looked.times += 1
        return str.__eq__(self, other)


REPLICAS = tuple(Looked(f"{partition}:{broker}") for partition in range(1_000) for broker in (1, 2))
PRESENT = ",".join(REPLICAS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: joined(LIST, Kept(None, REPLICAS), PRESENT, REPLICAS),
        lambda: joined(LIST, Kept(None, REPLICAS[:1]), PRESENT, REPLICAS),
        lambda: written(LIST, Kept(None, REPLICAS), PRESENT, REPLICAS, replaces=True),
        lambda: trimmed(LIST, Kept(None, REPLICAS), PRESENT),
        lambda: given_back(LIST, Kept(None, REPLICAS), PRESENT),
    ],
    ids=["joined", "joined anew", "written", "trimmed", "given back"],
)
def test_a_list_of_many_replicas_costs_what_it_has_and_not_its_square(ask: Callable[[], object]) -> None:
    """A topic may have thousands of partitions. Each element is compared a few times, not with each."""
    Looked.times = 0
    ask()
    assert Looked.times <= 5 * len(REPLICAS)
