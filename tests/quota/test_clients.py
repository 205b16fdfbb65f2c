"""Whose quotas hold for a client, and how long it has to wait, against a clock that the test turns."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.quota.clients import (
    CONSUMER,
    NAME_MAX,
    PRODUCER,
    REQUEST,
    WINDOWS_MAX,
    ClientQuotas,
    names_of,
    owner,
    quotas_in,
)
from kedge.stores.checks import check_key
from tests.quota.test_limit import Clock

IN_ORDER: Final = [
    ("alice", "app"),
    ("alice", ""),
    ("alice", None),
    ("", "app"),
    ("", ""),
    ("", None),
    (None, "app"),
    (None, ""),
]
"""The owners of quotas of alice's client id app, in Kafka's order of precedence."""
SECOND: Final = 1_000


class Clients:
    """Quotas by their owners; the clock of their rates."""

    def __init__(self, quotas: dict[tuple[str | None, str | None], dict[str, str]]) -> None:
        self.clock = Clock()
        self.configs = {owner(*names): configs for names, configs in quotas.items()}
        self.quotas = ClientQuotas(self.configs, self.clock)

    def produce(self, count: int, user: str = "alice", client_id: str = "app", broker: int = 1) -> int:
        """How long the producer of so many bytes has to wait."""
        return self.quotas.of(broker, user, client_id)[PRODUCER].record(count)


@pytest.mark.parametrize("first, second", list(combinations(IN_ORDER, 2)))
def test_the_first_quota_in_kafkas_order_holds(
    first: tuple[str | None, str | None], second: tuple[str | None, str | None]
) -> None:
    """The first quota in Kafka's order holds; the other one holds for what the first has not."""
    clients = Clients({second: {PRODUCER: "2", CONSUMER: "3"}, first: {PRODUCER: "1"}})
    found = clients.quotas.of(1, "alice", "app")
    assert {name: quota.limit for name, quota in found.items()} == {PRODUCER: 1, CONSUMER: 3}


def test_quotas_of_others_do_not_hold() -> None:
    """The quotas of other users and client ids do not hold, nor does any for names that are too long."""
    named = {("bob", None): {PRODUCER: "1"}, (None, "other"): {PRODUCER: "1"}, ("bob", "app"): {PRODUCER: "1"}}
    clients = Clients({**named, ("a" * NAME_MAX, None): {PRODUCER: "1"}})
    assert clients.quotas.of(1, "alice", "app") == {}
    assert clients.quotas.of(1, "a" * (NAME_MAX + 1), "app") == {}
    assert clients.quotas.of(1, "a" * NAME_MAX, "app") != {}


@pytest.mark.parametrize(
    "of, shares",
    [
        (("alice", None), {("alice", "app"), ("alice", "other")}),
        (("", None), {("alice", "app"), ("alice", "other")}),
        ((None, "app"), {("alice", "app"), ("bob", "app")}),
        ((None, ""), {("alice", "app"), ("bob", "app")}),
        (("alice", ""), {("alice", "app")}),
        (("", ""), {("alice", "app")}),
    ],
)
def test_a_rate_is_shared_as_in_kafka(of: tuple[str | None, str | None], shares: set[tuple[str, str]]) -> None:
    """A user's quota is for all of its client ids together, a default for each user or client id by itself."""
    waits = set()
    for other in [("alice", "app"), ("alice", "other"), ("bob", "app"), ("bob", "other")]:
        clients = Clients({of: {PRODUCER: "1000"}})
        assert clients.produce(10_000) == 0
        if clients.quotas.of(1, *other) and clients.produce(1_000, *other):
            waits.add(other)
    assert waits == shares


def test_each_broker_has_a_rate_of_its_own() -> None:
    """The rate at one broker does not count at another one, as in Kafka."""
    clients = Clients({(None, "app"): {PRODUCER: "1000"}})
    assert clients.produce(11_000) > 0
    assert clients.produce(10_000, broker=2) == 0


@pytest.mark.parametrize(
    "records, throttle_ms",
    [
        ([(0, 10_000)], 0),
        ([(0, 10_001)], 1),
        ([(0, 20_000)], 10_000),
        ([(0, 10_000), (SECOND, 10_000)], 10_000),
        ([(0, 10_000), (11 * SECOND, 10_000)], 0),
        ([(second * SECOND, 1_000) for second in range(100)], 1_000),
        ([(0, 2**40)], 2**40 - 10_000),
        ([(0, 2**50)], 2**31 - 1),
    ],
)
def test_the_throttle_time_is_by_kafkas_formula(records: list[tuple[int, int]], throttle_ms: int) -> None:
    """The throttle time is (rate - quota) / quota of the window, which has 10 to 11 s; here the quota is 1,000."""
    clients = Clients({(None, "app"): {PRODUCER: "1000"}})
    begun_ms, found = clients.clock.ms, 0
    for at_ms, count in records:
        clients.clock.ms = begun_ms + at_ms
        found = clients.produce(count)
    assert found == min(throttle_ms, 2**31 - 1)


@given(st.lists(st.integers(1, 200), min_size=5, max_size=60), st.integers(100, 100_000))
def test_a_client_that_waits_keeps_its_quota(percents: list[int], limit: int) -> None:
    """A client that waits for its throttle time sends no more than its quota, a window's worth and one request.
    `percents`: of what the quota allows in a second. Larger requests leave the window before they are paid for."""
    clients = Clients({(None, "app"): {PRODUCER: str(limit)}})
    begun_ms, sizes = clients.clock.ms, [percent * limit // 100 for percent in percents]
    for size in sizes:
        clients.clock.ms += clients.produce(size)
    # A tenth more, because a sample leaves the window as a whole.
    seconds = (clients.clock.ms - begun_ms) / 1000
    assert sum(sizes) <= limit * (seconds + 11) * 1.1 + max(sizes)


def test_time_is_counted_in_percent_of_a_thread() -> None:
    """A client that works for 200 ms of a second has 20 percent of a thread."""
    clients = Clients({("alice", None): {REQUEST: "12.5"}})
    quota = clients.quotas.of(None, "alice", "app")[REQUEST]
    assert quota.record(1_250_000_000) == 0
    assert quota.record(125_000_000) == 1_000


def test_changed_quotas_hold_from_the_next_request() -> None:
    """Changed quotas hold from the next request on, over what was sent before."""
    clients = Clients({(None, "app"): {PRODUCER: "1000"}})
    assert clients.produce(10_000) == 0
    clients.configs[owner(None, "app")] = {PRODUCER: "500"}
    assert clients.produce(0) == 10_000
    del clients.configs[owner(None, "app")]
    assert clients.quotas.of(1, "alice", "app") == {}


def test_windows_of_any_number_of_names_are_bounded() -> None:
    """The windows that are kept are bounded, and those that were used last stay."""
    clients = Clients({(None, ""): {PRODUCER: "1"}})
    for number in range(WINDOWS_MAX + 100):
        clients.produce(1_000, client_id=f"client-{number}")
        clients.produce(1, client_id="busy")
    assert len(clients.quotas._windows) == WINDOWS_MAX  # noqa: SLF001 - what is kept, which has no other sign
    assert clients.produce(0, client_id="busy") > 0
    assert clients.produce(0, client_id="client-0") == 0


# --- names


@given(st.text(min_size=1, max_size=30), st.text(max_size=30))
def test_any_owner_can_be_written_and_read(user: str, client_id: str) -> None:
    """Any name that a key has room for can be written, but for those of dots alone, and is read as it was."""
    for names in ((user, None), (None, user), (user, client_id), ("", user), ("", client_id)):
        kind, name = owner(*names)
        assert names_of(kind, name) == names
        if name not in {".", ".."}:
            check_key(f"/config/{kind}/{name}")


def test_owners_are_written_as_the_page_says() -> None:
    """Defaults have Kafka's name, other characters are in hex."""
    assert owner("alice@example.org", "") == ("users", "alice<40>example.org<clients><default>")
    assert owner(None, "a b/<default>") == ("clients", "a<20>b<2F><3C>default<3E>")


@pytest.mark.parametrize(
    "kind, name",
    [("users", "a<4f>"), ("users", "a<41>"), ("clients", "a<clients>b"), ("users", "a<clients>b<clients>c"),
     ("users", "<FF>"), ("clients", "a<>"), ("users", "<clients>")],
)  # fmt: skip
def test_other_programs_names_are_no_owners(kind: str, name: str) -> None:
    """A name that would not be written so is no owner's: otherwise two keys would mean one client."""
    assert names_of(kind, name) is None


def test_only_quotas_that_can_be_read_count() -> None:
    """Passwords and what is no quota are left out."""
    said = {PRODUCER: "1024", CONSUMER: "0", REQUEST: "1e3", "SCRAM-SHA-256": "salt=x", "controller_mutation_rate": "x"}
    assert quotas_in(said) == {PRODUCER: 1024, REQUEST: 1000}
