"""Whose value a throttle is: in whatever order requests, operators and crashes come, what an operator set last stands
in the end, and lists of replicas lose only what requests put there."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.throttles import ConfigMark
from kedge.controller.rules.throttling.keeping import brought, elements, given_back, wanting

RATE, LIST = RATES["replication"][0], LISTS[0]
OURS = st.sampled_from(["1000", "2000", "3000"])
THEIRS = st.sampled_from([None, "7", "8", "9"])  # what no request asks for
OUR_ELEMENTS = st.lists(st.sampled_from(["0:1", "0:2", "1:1", "1:2"]), max_size=3, unique=True).map(tuple)
THEIR_ELEMENTS = st.lists(st.sampled_from(["5:5", "6:6", "7:7"]), max_size=3, unique=True).map(tuple)


class Rates(RuleBasedStateMachine):
    """One rate. A request marks first and sets then; anything may come in between."""

    def __init__(self) -> None:
        super().__init__()
        self.present: str | None = None
        self.theirs: str | None = None
        self.mark: ConfigMark | None = None

    @rule(value=OURS)
    def want(self, value: str) -> None:
        mark = self.mark or ConfigMark()
        self.mark = wanting(RATE, mark, self.present, (value,), replaces=True, stays=False)

    @precondition(lambda self: self.mark is not None and self.mark.wanted)
    @rule()
    def bring(self) -> None:
        assert self.mark is not None
        assert self.mark.wanted is not None
        (wanted,) = self.mark.wanted
        self.present, self.mark = brought(RATE, self.mark, self.present)
        assert self.present == wanted
        assert self.mark is not None
        again = attrs.evolve(self.mark, wanted=(wanted,))
        assert brought(RATE, again, self.present) == (self.present, self.mark), "it is not idempotent"

    @rule(value=THEIRS)
    def operate(self, value: str | None) -> None:
        self.present = self.theirs = value

    @rule()
    def remove(self) -> None:
        if self.mark is not None:
            self.present = given_back(RATE, self.mark, self.present)
        self.mark = None
        assert self.present == self.theirs

    def teardown(self) -> None:
        self.remove()


class Lists(RuleBasedStateMachine):
    """One list of replicas. An operator adds to what is there, removes some of them, or replaces it."""

    def __init__(self) -> None:
        super().__init__()
        self.present: str | None = None
        self.theirs: tuple[str, ...] = ()
        self.mark: ConfigMark | None = None

    @rule(values=OUR_ELEMENTS, replaces=st.booleans(), stays=st.booleans(), crashes=st.booleans())
    def request(self, values: tuple[str, ...], replaces: bool, stays: bool, crashes: bool) -> None:
        mark = self.mark or ConfigMark()
        self.mark = wanting(LIST, mark, self.present, values, replaces=replaces, stays=stays)
        if crashes:
            self.mark = mark if stays else self.mark  # what is to stay is not in the key
            return
        wanted = self.mark
        self.present, self.mark = brought(LIST, wanted, self.present)
        assert {*values, *self.theirs} <= {*elements(self.present)}
        if replaces:
            assert {*elements(self.present)} == {*values, *self.theirs}
        if stays:
            self.theirs = (*self.theirs, *(one for one in values if one not in self.theirs))
        else:
            again = attrs.evolve(self.mark or ConfigMark(), wanted=wanted.wanted)
            assert brought(LIST, again, self.present) == (self.present, self.mark), "it is not idempotent"

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
        if self.mark is not None:
            self.present = given_back(LIST, self.mark, self.present)
        self.mark = None
        assert {*elements(self.present)} == {*self.theirs}
        assert self.present is None or self.theirs

    def teardown(self) -> None:
        self.remove()


TestRates = Rates.TestCase
TestRates.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLists = Lists.TestCase
TestLists.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def set_over(config: str, present: str | None, *values: str) -> tuple[str | None, ConfigMark | None]:
    """A first request for these values."""
    mark = wanting(config, ConfigMark(), present, values, replaces=False, stays=False)
    return brought(config, mark, present)


@pytest.mark.parametrize("value", ["0:1, 0:2", "0:1,0:2", ""])
def test_list_of_an_operator_is_restored_as_it_was_spelled(value: str) -> None:
    """Blanks and an empty text included."""
    present, mark = set_over(LIST, value, "3:3")
    assert mark is not None
    assert given_back(LIST, mark, present) == value


def test_an_element_that_was_there_before_is_the_operators() -> None:
    present, mark = set_over(LIST, "0:1", "0:1", "0:2")
    assert (present, mark) == ("0:1,0:2", ConfigMark("0:1", ("0:2",)))
    assert given_back(LIST, ConfigMark("0:1", ("0:2",)), "0:1,0:2") == "0:1"


@pytest.mark.parametrize("value", ["*", "*, *"])
def test_a_list_that_names_everything_is_left_as_it_is(value: str) -> None:
    """Nothing is added, its spelling stays, and nothing of it is ours."""
    assert set_over(LIST, value, "0:1") == (value, None)
    assert given_back(LIST, ConfigMark("5:5", ("0:1",)), value) == value


def test_a_list_whose_elements_do_not_change_keeps_its_spelling() -> None:
    mark = ConfigMark("5:5", ("0:1",), ("0:1",))
    assert brought(LIST, mark, "0:1, 5:5") == ("0:1, 5:5", ConfigMark("5:5", ("0:1",)))


def test_what_stood_there_before_the_first_request_is_kept_over_the_second() -> None:
    mark = wanting(LIST, ConfigMark("5:5", ("0:1",)), "5:5,0:1", ("0:2",), replaces=False, stays=False)
    assert mark == ConfigMark("5:5", ("0:1",), ("0:1", "0:2"))
    assert brought(LIST, mark, "5:5,0:1") == ("5:5,0:1,0:2", ConfigMark("5:5", ("0:1", "0:2")))


def test_an_element_of_ours_that_an_operator_removed_is_not_added_again_by_a_request_for_others() -> None:
    mark = wanting(LIST, ConfigMark(None, ("0:1", "0:2")), "0:2", ("0:3",), replaces=False, stays=False)
    assert mark.wanted == ("0:2", "0:3")


def test_a_request_for_more_adds_to_what_is_not_set_yet() -> None:
    mark = wanting(LIST, ConfigMark(None, (), ("0:1",)), None, ("0:2",), replaces=False, stays=False)
    assert mark.wanted == ("0:1", "0:2")


def test_a_list_of_which_an_operator_took_its_own_part_away_is_removed() -> None:
    assert given_back(LIST, ConfigMark("5:5", ("0:1",)), "0:1") is None


@pytest.mark.parametrize(
    "values, kept", [(("0:1",), ConfigMark("5:5", ("0:2",))), (("0:1", "0:2"), None)], ids=["in part", "as a whole"]
)
def test_nothing_is_kept_of_what_is_to_stay(values: tuple[str, ...], kept: ConfigMark | None) -> None:
    mark = wanting(LIST, ConfigMark("5:5", ("0:1", "0:2")), "5:5,0:1,0:2", values, replaces=False, stays=True)
    assert brought(LIST, mark, "5:5,0:1,0:2") == ("5:5,0:1,0:2", kept)


def test_a_rate_that_is_to_stay_is_the_operators_from_then_on() -> None:
    mark = wanting(RATE, ConfigMark("7", ("1000",)), "1000", ("2000",), replaces=True, stays=True)
    assert brought(RATE, mark, "1000") == ("2000", None)


def test_an_operator_who_had_the_same_rate_keeps_it() -> None:
    present, mark = set_over(RATE, "1000", "1000")
    assert mark is not None
    mark = wanting(RATE, mark, present, ("2000",), replaces=True, stays=False)
    assert given_back(RATE, attrs.evolve(mark, ours=("2000",)), "2000") == "1000"


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
        lambda: wanting(LIST, ConfigMark(None, REPLICAS), PRESENT, REPLICAS, replaces=False, stays=False),
        lambda: brought(LIST, ConfigMark(None, REPLICAS, REPLICAS), PRESENT),
        lambda: brought(LIST, ConfigMark(None, REPLICAS[:1], REPLICAS), PRESENT),
        lambda: given_back(LIST, ConfigMark(None, REPLICAS), PRESENT),
    ],
    ids=["wanting", "brought", "brought anew", "given back"],
)
def test_a_list_of_many_replicas_costs_what_it_has_and_not_its_square(ask: Callable[[], object]) -> None:
    """A topic may have thousands of partitions. Each element is compared a few times, not with each."""
    Looked.times = 0
    ask()
    assert Looked.times <= 5 * len(REPLICAS)
