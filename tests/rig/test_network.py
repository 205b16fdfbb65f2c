"""What becomes of a callback between a controller and a broker."""

from __future__ import annotations

import random
from functools import partial

import attrs
import pytest

from kedge.controller.model.host import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.rig import Broker, NodeClock, VirtualClock
from kedge.controller.simulated.broker import Life
from kedge.controller.simulated.network import CallbackFaults, CutOffError, Fate, Network
from kedge.controller.simulated.timeline import Timeline
from tests.rig.test_broker import ASKED, STOP, TOLD, TP

Request = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
BOTH = {1, 2}
CALLS = 20


class Tried:
    """A network with brokers 1 and 2, and one controller, 101."""

    def __init__(self) -> None:
        clock = VirtualClock()
        self.timeline = Timeline(clock)
        self.brokers = {b: Broker(BrokerRegistration(b), NodeClock(clock), epoch=10) for b in BOTH}
        self.network = Network(self.brokers, random.Random(1), self.timeline, lambda: 7)

    def call(self, request: Request, fate: Fate | None = None) -> HostResponse | None:
        """The answer; None where none came."""
        if fate is not None:
            self.network.fates.append(fate)
        try:
            return self.network.call(101, request)
        except CutOffError:
            return None

    def step(self, *, running: bool | None = True) -> bool:
        return self.network.step(lambda _: running)

    @property
    def outcomes(self) -> list[str]:
        return [sent.outcome for sent in self.network.requests]


@pytest.mark.parametrize(
    "fate, answered, at_once, then, outcomes",
    [
        (None, True, True, True, ["ok"]),
        ("arrives", True, True, True, ["ok"]),
        ("lost", False, False, False, ["lost"]),
        ("late", False, False, True, ["lost", "late, ok"]),
        ("unheard", False, True, True, ["ok"]),
        ("doubled", True, True, True, ["ok", "late, ok"]),
    ],
)
def test_each_fate_of_a_callback(
    fate: Fate | None, answered: bool, at_once: bool, then: bool, outcomes: list[str]
) -> None:
    """Whether the controller is answered, and whether the broker has obeyed at once and after a step."""
    tried = Tried()
    assert (tried.call(ASKED, fate) is not None) is answered
    assert tried.brokers[1].leads(TP) is at_once
    assert tried.network.late == len(outcomes) - 1
    tried.step()
    assert tried.brokers[1].leads(TP) is then
    assert tried.outcomes == outcomes
    assert tried.network.is_quiet


@pytest.mark.parametrize(
    "request_, arrives", [(ASKED, True), (STOP, True), (attrs.evolve(ASKED, full=True), False), (TOLD, False)]
)
def test_what_replaces_all_that_is_known_is_never_late(request_: Request, arrives: bool) -> None:
    """A controller sends such a request once per term and in its order. One of a former controller is refused, and may
    come whenever it likes."""
    tried = Tried()
    tried.call(request_, "late")
    tried.step()
    assert tried.outcomes[1:] == ["late, ok"] * arrives
    tried.call(request_, "late")
    tried.call(attrs.evolve(STOP, controller_epoch=8))
    tried.step()
    assert tried.outcomes[-1] == "late, STALE_CONTROLLER_EPOCH"


def test_late_requests_can_be_let_in_one_by_one() -> None:
    """With the revision of the round in which they were sent."""
    tried = Tried()
    for request_ in (ASKED, attrs.evolve(ASKED, full=True)):
        tried.network.submit(object(), 101, 1, partial(tried.call, request_))  # type: ignore[arg-type]
    assert tried.network.let_in(101, 1, "late")
    assert not tried.network.let_in(101, 1, "late", "lost")
    tried.network.let_in_late(1)
    assert (tried.network.late, tried.outcomes) == (1, ["lost", "lost"])
    tried.network.let_in_late(0)
    assert (tried.network.late, tried.outcomes) == (0, ["lost", "lost", "late, ok"])
    assert [sent.revision for sent in tried.network.requests] == [7, 7, 7]


def test_cut_is_between_one_controller_and_one_broker() -> None:
    tried = Tried()
    places = [(101, 1), (101, 2), (102, 1), (102, 2)]

    def cuts() -> list[tuple[int, int]]:
        return [place for place in places if tried.network.is_cut(*place)]

    tried.network.cut(101, 1)
    assert cuts() == [(101, 1)]
    assert tried.call(ASKED) is None
    assert tried.outcomes == ["unreachable"]
    for place in places:
        tried.network.cut(*place)
    tried.network.mend(101, 1)
    assert cuts() == places[1:]
    tried.network.mend(broker=2)
    assert cuts() == [(102, 1)]
    tried.network.cut(101, 1)
    tried.network.mend(controller_id=102)
    assert cuts() == [(101, 1)]
    tried.network.mend()
    assert cuts() == []


def test_broker_that_is_down_cannot_be_reached() -> None:
    tried = Tried()
    tried.brokers[1].life = Life.DOWN
    assert tried.call(ASKED) is None
    assert tried.call(attrs.evolve(ASKED, broker_id=9)) is None
    assert tried.outcomes == ["unreachable"] * 2


def test_round_is_delivered_when_its_controller_runs_and_its_broker_is_not_held_up() -> None:
    tried, called = Tried(), list[int]()
    for broker in BOTH:
        tried.network.submit(object(), 101, broker, lambda broker=broker: called.append(broker))  # type: ignore[misc]
    tried.network.slow(2, 4)
    assert tried.network.under_way == [(101, 1), (101, 2)]
    assert not tried.step()
    assert not tried.step(running=False)
    assert tried.step()
    assert (called, tried.network.under_way) == ([1], [(101, 2)])
    tried.brokers[2].life = Life.PAUSED
    assert not tried.step()
    assert not tried.step()
    tried.brokers[2].life = Life.UP
    assert tried.step()
    assert (called, tried.network.is_quiet) == ([1, 2], True)
    tried.network.submit(object(), 101, 1, lambda: called.append(3))
    for _ in range(3):
        tried.step(running=None)
    assert (called, tried.network.is_quiet) == ([1, 2], True)


def test_broker_that_starts_reads_the_settings_and_says_what_it_cannot_use() -> None:
    tried = Tried()
    rate = "leader.replication.throttled.rate"
    tried.brokers[2].life = Life.DOWN
    tried.network.config_changed("brokers", "1", {rate: "5000"})
    tried.network.config_changed("brokers", "2", {rate: "fast"})
    tried.network.config_changed("topics", "t", {})
    assert tried.network.settings == {("brokers", "1"): {rate: "5000"}, ("brokers", "2"): {rate: "fast"}}
    assert [broker.quotas.is_limited for broker in tried.brokers.values()] == [True, False]
    assert not tried.timeline.lines()
    tried.network.started(tried.brokers[2])
    (line,) = tried.timeline.lines()
    assert f"broker 2       passes over {rate} of brokers 2: " in line
    tried.network.config_changed("brokers", "1", {})
    assert tried.network.settings["brokers", "1"] == {}
    assert not tried.brokers[1].quotas.is_limited


@pytest.mark.parametrize(
    "faults, answered, at_once, late",
    [
        (CallbackFaults(lose=1.0, late_steps_max=5), 0, ["lost"], range(1, CALLS)),
        (CallbackFaults(lose_reply=1.0), 0, ["ok"], range(1)),
        (CallbackFaults(duplicate=1.0, late_steps_max=5), CALLS, ["ok"], range(CALLS, CALLS + 1)),
    ],
    ids=["lose", "lose_reply", "duplicate"],
)
def test_faults_by_chance_are_those_that_are_asked_for(
    faults: CallbackFaults, answered: int, at_once: list[str], late: range
) -> None:
    """Of the lost callbacks some arrive late. Each is in the log with the step at which it arrived."""
    tried = Tried()
    tried.network.faults = faults
    assert sum(tried.call(ASKED) is not None for _ in range(CALLS)) == answered
    assert tried.outcomes == at_once * CALLS
    assert tried.network.late in late
    for _ in range(5):
        tried.step()
    assert tried.network.is_quiet
    arrived = list(tried.network.requests)[CALLS:]
    assert {sent.outcome for sent in arrived} <= {"late, ok"}
    assert len(arrived) in late
    assert {sent.at_ms for sent in arrived} <= {1, 2, 3, 4, 5}


def test_delay_is_bounded() -> None:
    """Two steps without a fault, and up to three more with one."""
    tried, called = Tried(), list[int]()
    tried.network.faults = CallbackFaults(delay=1.0, late_steps_max=3)
    for broker in range(CALLS):
        tried.network.submit(object(), 101, broker, lambda: called.append(tried.network.now))
    for _ in range(5):
        tried.step()
    assert set(called) == {3, 4, 5}
    assert len(called) == CALLS


def test_log_of_requests_is_bounded() -> None:
    tried = Tried()
    network = Network(tried.brokers, random.Random(1), tried.timeline, lambda: 7, requests_max=2)
    for request_ in (ASKED, STOP, TOLD):
        network.call(101, request_)
    assert [sent.request for sent in network.requests] == [STOP, TOLD]
