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


def names(*listed: str, changes: int = 0, born: int = 1) -> Any:
    """The answer to GetChildren2: `changes` as the parent counts them, `born` the transaction that created it."""
    return list(listed), SimpleNamespace(czxid=born, cversion=changes)


def kinds(asked: Asked) -> list[str]:
    return [type(request).__name__ for request, _ in asked.requests]


@pytest.mark.parametrize("depth", [Depth.CHILDREN, Depth.VALUES])
def test_a_parent_created_between_two_requests_is_asked_for_its_names(depth: Depth) -> None:
    """It was absent when its names were asked for, and is there when its creation is to be watched."""
    asked = Asked()
    asked.watch(depth).arm("initial")
    asked.answer(error=NoNodeError())
    asked.answer(object())
    assert kinds(asked) == ["GetChildren2"]
    assert asked.events == []
    asked.answer(names())
    assert asked.events == [Resync("/w", "initial")]


def test_an_absent_parent_is_watched_until_it_is_created() -> None:
    asked = Asked()
    asked.watch(Depth.CHILDREN).arm("initial")
    asked.answer(error=NoNodeError())
    request = asked.answer(None)
    assert asked.events == [Resync("/w", "initial")]
    assert kinds(asked) == []
    request.watcher(WatchedEvent(EventType.CREATED, KeeperState.CONNECTED, "/chroot/w"))
    asked.answer(names("a", changes=1))
    assert asked.events[1:] == [Changed("/w/a")]


@pytest.mark.parametrize("depth", [Depth.CHILDREN, Depth.VALUES])
@pytest.mark.parametrize(
    "then, is_unseen",
    [
        (lambda: names("a", changes=3), True),  # one came and went
        (lambda: names("b", changes=3), False),  # a went and b came
        (lambda: names("a", "b", "not a key", changes=3), False),
        (lambda: names(changes=4), True),
        (lambda: names("a", changes=1, born=2), True),  # the parent was deleted and created again
        (lambda: names("a", changes=1 - 2**32), False),  # the count is one of 32 bits
    ],
)
def test_names_that_came_and_went_unseen_are_a_resync(depth: Depth, then: Callable[[], Any], is_unseen: bool) -> None:
    asked = Asked()
    asked.watch(depth).arm("initial")
    fired = asked.answer(names("a", changes=1)).watcher
    while asked.requests:
        asked.answer(object())
    assert asked.events == [Resync("/w", "initial")]
    fired(WatchedEvent(EventType.CHILD, KeeperState.CONNECTED, "/chroot/w"))
    asked.answer(then())
    assert (Resync("/w", "unseen") in asked.events) is is_unseen


def test_a_parent_that_went_may_have_had_more() -> None:
    asked = Asked()
    asked.watch(Depth.CHILDREN).arm("initial")
    fired = asked.answer(names("a", changes=1)).watcher
    fired(WatchedEvent(EventType.DELETED, KeeperState.CONNECTED, "/chroot/w"))
    asked.answer(error=NoNodeError())
    assert asked.events[1:] == [Resync("/w", "unseen"), Changed("/w/a")]


@pytest.mark.parametrize("depth", [Depth.SELF, Depth.CHILDREN, Depth.VALUES])
def test_answers_and_events_of_an_older_connection_are_ignored(depth: Depth) -> None:
    """Nothing is watched until the request of the present connection is answered."""
    asked = Asked()
    watch = asked.watch(depth)
    watch.arm("initial")
    watch.arm("reconnected")
    value = None if depth is Depth.SELF else names()
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
