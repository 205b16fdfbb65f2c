"""Answers that belong to an older connection are void: a Resync says that everything is watched, and then it is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient

from kedge.stores import Changed, Depth, Resync
from kedge.stores.base import StoreEvent
from kedge.stores.zookeeper.link import Link
from kedge.stores.zookeeper.url import parse_url
from kedge.stores.zookeeper.watch import Watch

pytestmark = [pytest.mark.server, pytest.mark.slow]
WAIT_S = 30.0


class Held:
    """An inbox of answers that are given out one at a time."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._came = threading.Condition()

    def put(self, job: Callable[[], None]) -> None:
        with self._came:
            self._jobs.append(job)
            self._came.notify_all()

    def next(self) -> Callable[[], None]:
        """The next answer, in the order in which the server sent them."""
        with self._came:
            assert self._came.wait_for(lambda: self._jobs, WAIT_S)
            return self._jobs.popleft()


@pytest.fixture
def link(url: str) -> Iterator[Link]:
    made = Link(parse_url(url))
    yield made
    made.close()


@pytest.mark.parametrize("depth", [Depth.SELF, Depth.CHILDREN, Depth.VALUES])
def test_an_answer_to_the_connection_before_is_not_taken_for_one_to_this(
    link: Link, raw: KazooClient, chroot: str, depth: Depth
) -> None:
    """The watch was armed, and before the answer was looked at the connection was another one: armed again. Until that
    is answered nothing is said to be watched."""
    raw.create(f"{chroot}/w/a", b"", makepath=True)
    held, events = Held(), list[StoreEvent]()
    watch = Watch(link, "/w", depth, held, events.append)
    watch.arm("initial")
    old = held.next()
    watch.arm("reconnected")
    fresh = held.next()
    old()
    assert events == []
    fresh()
    if depth is Depth.VALUES:
        assert events == []
        held.next()()  # of the node below
    assert events == [Resync("/w", "initial")]
    key, path = ("/w", "/w") if depth is Depth.SELF else ("/w/b", "/w/b")
    if depth is Depth.SELF:
        raw.set(chroot + path, b"2")
    else:
        raw.create(chroot + path, b"")
    while Changed(key) not in events:
        held.next()()
        watch.go_on()
    assert events[1:] == [Changed(key)]
