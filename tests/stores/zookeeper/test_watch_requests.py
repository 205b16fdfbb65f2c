"""What a watch asks ZooKeeper for, and which answers it believes, step by step. Only the test answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from kedge.stores import Changed, Depth, Resync
from kedge.stores.base import StoreEvent
from kedge.stores.zookeeper.watch import Watch

Answered = Callable[[Any, Exception | None], None]


class Asked:
    """Where a link would send requests, and the inbox of the stream: each answer is looked at when it comes."""

    def __init__(self) -> None:
        self.address = SimpleNamespace(chroot="/chroot")
        self.requests: deque[tuple[Any, Answered]] = deque()
        self.events: list[StoreEvent] = []

    def send_to(self, request: Any, then: Answered) -> None:
        self.requests.append((request, then))

    def put(self, job: Callable[[], None]) -> None:
        job()

    def watch(self, depth: Depth) -> Watch:
        return Watch(self, "/w", depth, self, self.events.append)  # type: ignore[arg-type]

    def answer(self, value: Any = None, error: Exception | None = None, *, to: int = 0) -> Any:
        """Answer the oldest request, or another one; returns it."""
        request, then = self.requests[to]
        del self.requests[to]
        then(value, error)
        return request


def kinds(asked: Asked) -> list[str]:
    return [type(request).__name__ for request, _ in asked.requests]


@pytest.mark.parametrize("depth", [Depth.CHILDREN, Depth.VALUES])
def test_a_parent_created_between_two_requests_is_asked_for_its_names(depth: Depth) -> None:
    """It was absent when its names were asked for, and is there when its creation is to be watched."""
    asked = Asked()
    asked.watch(depth).arm("initial")
    asked.answer(error=NoNodeError())
    asked.answer(object())
    assert kinds(asked) == ["GetChildren"]
    assert asked.events == []
    asked.answer([])
    assert asked.events == [Resync("/w", "initial")]


def test_an_absent_parent_is_watched_until_it_is_created() -> None:
    asked = Asked()
    asked.watch(Depth.CHILDREN).arm("initial")
    asked.answer(error=NoNodeError())
    request = asked.answer(None)
    assert asked.events == [Resync("/w", "initial")]
    assert kinds(asked) == []
    request.watcher(WatchedEvent(EventType.CREATED, KeeperState.CONNECTED, "/chroot/w"))
    asked.answer(["a"])
    assert asked.events[1:] == [Changed("/w/a")]


@pytest.mark.parametrize("depth", [Depth.SELF, Depth.CHILDREN, Depth.VALUES])
def test_answers_and_events_of_an_older_connection_are_ignored(depth: Depth) -> None:
    """Nothing is watched until the request of the present connection is answered."""
    asked = Asked()
    watch = asked.watch(depth)
    watch.arm("initial")
    watch.arm("reconnected")
    value: list[str] | None = None if depth is Depth.SELF else []
    old = asked.answer(value)
    old.watcher(WatchedEvent(EventType.CHANGED, KeeperState.CONNECTED, "/chroot/w"))
    assert asked.events == []
    assert len(asked.requests) == 1
    asked.answer(value)
    assert asked.events == [Resync("/w", "initial")]


def test_an_error_of_an_older_connection_is_no_failure_of_this_one() -> None:
    asked = Asked()
    watch = asked.watch(Depth.SELF)
    watch.arm("initial")
    watch.arm("reconnected")
    asked.answer(error=ConnectionError())
    assert not watch.failed
    asked.answer(error=ConnectionError())
    assert watch.failed
