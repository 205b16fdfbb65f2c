"""Time limits of calls have one name and one unit: `timeout_s`, in seconds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import attrs
import pytest

from kedge import (
    ALL,
    Admin,
    AlterReassignmentsOptions,
    Controller,
    ElectionType,
    ReassignPartitionsOptions,
    RequestTimedOut,
)
from kedge.controller.model.durations import milliseconds
from kedge.controller.rig import Rig
from kedge.controller.rig.host_suite import IsrUpdater
from tests.runtime.world import cluster_of_three

OPTIONS = (AlterReassignmentsOptions, ReassignPartitionsOptions)


def _parameters() -> Iterator[tuple[str, str]]:
    methods: list[tuple[type, Callable[..., Any]]] = [
        (kind, method)
        for kind in (Admin, Controller, IsrUpdater)
        for name, method in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    ]
    methods += [
        (Rig, method) for name, method in inspect.getmembers(Rig, callable) if name.startswith(("until", "wait"))
    ]
    for kind, method in [*methods, (Rig, Rig.__init__)]:
        yield from ((f"{kind.__name__}.{method.__name__}", name) for name in inspect.signature(method).parameters)
    for options in OPTIONS:
        yield from ((options.__name__, field.name) for field in attrs.fields(options))


def test_no_time_limit_of_a_call_is_named_otherwise() -> None:
    """Neither milliseconds, nor a bare `timeout`, nor a deadline that is no moment."""
    limits = [(where, name) for where, name in _parameters() if "timeout" in name or "deadline" in name]
    assert len(limits) > 20
    assert [(where, name) for where, name in limits if not name.endswith("timeout_s")] == []


@pytest.mark.parametrize("seconds, expected", [(0, 0), (5, 5_000), (0.25, 250), (1.1, 1_100), (2**53 / 1000, 2**53)])
def test_seconds_become_whole_milliseconds(seconds: float, expected: int) -> None:
    """Rounded, since 1.1 * 1000 is a little more than 1100."""
    assert milliseconds(seconds, "timeout_s") == expected


def test_a_request_that_expands_has_one_deadline_from_the_call_on() -> None:
    """Not from the moment at which the controller finds what it is about; the store does not answer all the while."""
    cluster = cluster_of_three()
    admin, options = cluster.controller.admin, AlterReassignmentsOptions(timeout_s=1)
    cluster.done(cluster.move([4, 5, 6]))
    cluster.store.disconnect()
    cluster.move([5, 6, 4])
    cluster.controller.poll_once()
    answers: list[Future[Any]] = [
        admin.elect_leaders(ElectionType.PREFERRED, ALL, timeout_s=1),
        admin.cancel_partition_reassignments(options=options),
    ]
    cluster.clock.advance(900)
    cluster.controller.poll_once()
    assert not any(answer.done() for answer in answers)
    cluster.clock.advance(100)
    cluster.controller.poll_once()
    for answer in answers:
        assert [type(error) for error in answer.result(0).values()] == [RequestTimedOut]
