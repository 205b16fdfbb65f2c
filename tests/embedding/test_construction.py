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
    HostResponse,
    Journal,
    LeaderAndIsrRequest,
    MemorySink,
    Settings,
)
from kedge.controller.model import errors
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
def test_number_of_the_settings_is_an_int_from_1_or_0(name: str) -> None:
    """The error names the setting; None does not stand for the default."""
    least = 0 if name in FROM_ZERO else 1
    for good in {least, 1}:
        assert getattr(Settings(**{name: good}), name) == good  # type: ignore[arg-type]
    for wrong in (least - 1, 2**31):
        with pytest.raises(ValueError, match=name):
            Settings(**{name: wrong})  # type: ignore[arg-type]
    for kind in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match=name):
            Settings(**{name: kind})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name, largest",
    [
        ("leader_imbalance_per_broker_percentage", 100),
        ("reserved_broker_max_id", 2**31 - 2),
        ("registration_version", 5),
    ],
)
def test_some_numbers_of_the_settings_end_below(name: str, largest: int) -> None:
    assert getattr(Settings(**{name: largest}), name) == largest  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=name):
        Settings(**{name: largest + 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [0, 1, None, "true"])
def test_a_setting_that_is_a_flag_is_a_bool(name: str, value: Any) -> None:
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
        {"node_id": "1"},
        {"node_id": -1},
        {"node_id": True},
        {"journal": MemorySink()},
        {"journal": False},
    ],
)
def test_a_controller_says_at_once_what_it_cannot_be_made_of(wrong: dict[str, Any]) -> None:
    """Not when it is started, and the error names the argument."""
    arguments: dict[str, Any] = {"store": MemoryStore(), "node_id": 1, "host": Brokers()} | wrong
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
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
    with pytest.raises(error, match="timeout_s"):
        cluster_of_three().controller.query(lambda view: view.controller_id, timeout_s=timeout_s)


def test_every_name_that_is_offered_is_there() -> None:
    assert {"Controller", "MemoryStore", "TopicPartition", "open_store"} <= set(kedge.__all__)
    assert [name for name in kedge.__all__ if not hasattr(kedge, name)] == []
    assert {*kedge.__all__, "__version__"} <= set(dir(kedge))
    for name in ("no_such_name", "_no_such_name"):
        with pytest.raises(AttributeError, match=name):
            getattr(kedge, name)


def test_every_error_that_a_caller_can_get_is_offered() -> None:
    known = {name for name, it in vars(errors).items() if isinstance(it, type) and issubclass(it, ControllerError)}
    assert known | {"Overloaded", "WouldDeadlock", "WrongMode"} <= set(kedge.__all__)
