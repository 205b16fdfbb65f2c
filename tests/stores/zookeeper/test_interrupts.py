"""Ctrl-C in a call: while kazoo is woken, which takes it for a closed connection, and at each other line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.protocol.serialization import Exists

from stores.zookeeper import ZooKeeperStore, open_zookeeper

if TYPE_CHECKING:
    from _typeshed import TraceFunction

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0


class Interrupted:
    """kazoo's end of the pair by which it is woken: the next time, Ctrl-C comes before or after that."""

    def __init__(self, end: Any, *, is_woken: bool) -> None:
        self._end = end
        self._is_woken = is_woken
        self._is_due = True

    def send(self, data: bytes) -> int:
        if not self._is_due:
            return int(self._end.send(data))
        self._is_due = False
        if self._is_woken:
            self._end.send(data)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("SIGINT is ignored")

    def close(self) -> None:
        self._end.close()


@pytest.mark.parametrize("is_woken", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda store: store.get("/a", timeout_s=CALL_S), id="get"),
        pytest.param(lambda store: store.get_many(["/a"], timeout_s=CALL_S), id="get_many"),
        pytest.param(lambda store: store.link.send_to(Exists("/a", None), lambda *_: None), id="send_to"),
    ],
)
def test_an_interrupt_is_raised_and_the_store_works_on(
    url: str, call: Callable[[ZooKeeperStore], object], *, is_woken: bool
) -> None:
    store = open_zookeeper(url)
    try:
        connection = store.link.client._connection  # noqa: SLF001 - kazoo has no public way
        connection._write_sock = Interrupted(connection._write_sock, is_woken=is_woken)  # noqa: SLF001 - as above
        with pytest.raises(KeyboardInterrupt):
            call(store)
        assert store.get("/a", timeout_s=CALL_S) is None
        assert store.session.connected
    finally:
        store.close()


def test_an_interrupt_at_any_line_of_a_call_reaches_the_caller(url: str) -> None:
    """Not as an error of the store."""
    line, store = 0, open_zookeeper(url)
    traced = sys.gettrace()
    try:
        is_over = False
        while not is_over:
            line += 1
            sys.settrace(_interrupting(line))
            try:
                store.get("/a", timeout_s=CALL_S)
                is_over = True  # it has no such line
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(traced)
        assert line > 20
        assert store.get("/a", timeout_s=CALL_S) is None
    finally:
        store.close()


def _interrupting(line: int) -> TraceFunction:
    """Ctrl-C at that line, counted from now, also in what is called."""
    left = line

    def step(frame: FrameType, event: str, argument: Any) -> TraceFunction:  # noqa: ARG001 - Python's own
        nonlocal left
        left -= event == "line"
        if event == "line" and not left:
            raise KeyboardInterrupt
        return step

    return step
