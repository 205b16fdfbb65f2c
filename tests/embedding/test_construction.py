"""What a controller is made of, what it is asked, and the names that the package offers."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import kedge
from kedge import (
    CallableSink,
    Controller,
    ControllerError,
    Journal,
    MemorySink,
    RequestTimedOut,
    Settings,
)
from kedge.controller.model import errors
from kedge.controller.model.host import HostResponse, LeaderAndIsrRequest
from kedge.stores import MemoryServer, MemoryStore
from tests.runtime.world import Brokers, cluster_of_three


class LateBrokers(Brokers):
    """The coroutine that this returns would never be awaited."""

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:  # type: ignore[override]
        raise NotImplementedError


FLAGS = (
    "unclean_leader_election_enable",
    "auto_leader_rebalance_enable",
    "resume_foreign_targets",
    "delete_topic_enable",
    "delete_topic_partition_enable",
    "kafka_brokers",
    "depose_kafka_controller",
)
FROM_ZERO = ("reserved_broker_max_id", "leader_imbalance_per_broker_percentage", "metadata_linger_ms")
NUMBERS = sorted({field.name for field in attrs.fields(Settings)} - {*FLAGS})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "value, error",
    [(0, ValueError), (-1, ValueError), (2**31, ValueError), (True, TypeError), (1.0, TypeError), ("1", TypeError)],
)
def test_a_setting_that_is_a_number_is_an_int_from_1_or_0(name: str, value: Any, error: type) -> None:
    """The error names the setting."""
    if name in FROM_ZERO and type(value) is int and value == 0:
        nothing: dict[str, Any] = {name: value}
        assert getattr(Settings(**nothing), name) == 0
        return
    with pytest.raises(error, match=name):
        Settings(**{name: value})


def test_a_percentage_ends_at_100_and_reserved_ids_leave_one() -> None:
    """More would never, or for ever, be out of balance; and no id would be left to generate."""
    with pytest.raises(ValueError, match="percentage"):
        Settings(leader_imbalance_per_broker_percentage=101)
    with pytest.raises(ValueError, match="reserved_broker_max_id"):
        Settings(reserved_broker_max_id=2**31 - 1)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_setting_may_be_as_small_as_1_and_never_none(name: str) -> None:
    """The default stands only where nothing is said."""
    least: dict[str, Any] = {name: 1}
    assert getattr(Settings(**least), name) == 1
    with pytest.raises(TypeError, match=name):
        Settings(**{name: None})  # type: ignore[arg-type]


def test_versions_of_the_registration_end_at_5() -> None:
    """A sixth is not known."""
    assert [Settings(registration_version=version).registration_version for version in range(1, 6)] == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="registration_version"):
        Settings(registration_version=6)


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [0, 1, None, "true"])
def test_a_setting_that_is_a_flag_is_a_bool(name: str, value: Any) -> None:
    """A 1 is no True."""
    with pytest.raises(TypeError, match=name):
        Settings(**{name: value})
    for flag in (True, False):
        settings: dict[str, Any] = {name: flag}
        assert getattr(Settings(**settings), name) is flag


@pytest.mark.parametrize(
    "wrong",
    [
        {"store": None},
        {"store": MemoryServer()},
        {"store": "memory:"},
        {"settings": {}},
        {"settings": {"num_partitions": 3}},
        {"settings": Settings},
        {"host": Brokers},
        {"host": LateBrokers()},
        {"host": object()},
        {"journal": MemorySink()},
        {"journal": False},
    ],
)
def test_a_controller_says_at_once_what_it_cannot_be_made_of(wrong: dict[str, Any]) -> None:
    """Not when it is started, and the error names the argument."""
    arguments: dict[str, Any] = {"store": MemoryStore(), "node_id": 1, "host": Brokers()} | wrong
    with pytest.raises(TypeError, match=next(iter(wrong))):
        Controller(**arguments)


def test_two_controllers_over_one_client_are_refused_until_the_first_is_closed() -> None:
    """Both would lead: the session decides who does."""
    store = MemoryStore()
    first = Controller(store, 1, Brokers())
    with pytest.raises(ValueError, match="used by another controller"):
        Controller(store, 2, Brokers())
    first.close()
    Controller(store, 2, Brokers()).close()


@pytest.mark.parametrize("sink", ["folder", 5, print])
def test_a_journal_says_at_once_what_is_no_sink(sink: Any) -> None:
    """A folder's name is none: FolderSink makes one of it."""
    with pytest.raises(TypeError, match="sink"):
        Journal(sink)
    with pytest.raises(TypeError, match="take"):
        CallableSink(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("ask", [None, 5, "view"])
def test_a_query_asks_by_calling(ask: Any) -> None:
    """What cannot be called is refused in the caller."""
    with pytest.raises(TypeError, match="ask"):
        cluster_of_three().controller.query(ask)


@pytest.mark.slow
@pytest.mark.parametrize(
    "timeout_s, error",
    [
        (-1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (2**53, ValueError),
        (None, TypeError),
        ("1", TypeError),
        (True, TypeError),
    ],
)
def test_the_timeout_of_a_query_is_checked(timeout_s: Any, error: type) -> None:
    """As that of every call."""
    with pytest.raises(error, match="timeout_s"):
        cluster_of_three().controller.query(lambda view: view.controller_id, timeout_s=timeout_s)


def test_a_query_that_comes_too_late_is_answered_with_7() -> None:
    """Its deadline passes while it waits."""
    cluster = cluster_of_three()
    late = cluster.controller.query(lambda view: view.controller_id, timeout_s=0.05)
    in_time = cluster.controller.query(lambda view: view.controller_id)
    cluster.clock.advance(1000)
    assert isinstance(cluster.error(late), RequestTimedOut)
    assert cluster.done(in_time) == 1


def test_every_name_that_is_offered_is_there() -> None:
    """And no other."""
    assert {"Controller", "MemoryStore", "TopicPartition", "open_store"} <= set(kedge.__all__)
    assert [name for name in kedge.__all__ if not hasattr(kedge, name)] == []
    assert {*kedge.__all__, "__version__"} <= set(dir(kedge))
    for name in ("no_such_name", "_no_such_name"):
        with pytest.raises(AttributeError, match=name):
            getattr(kedge, name)


def test_every_error_that_a_caller_can_get_is_offered() -> None:
    """Those of the model, and those of the runtime."""
    known = {name for name, it in vars(errors).items() if isinstance(it, type) and issubclass(it, ControllerError)}
    assert known | {"Overloaded", "WouldDeadlock", "WrongMode"} <= set(kedge.__all__)
