"""Ctrl-C in a call: while kazoo is woken, which takes it for a closed connection, and at each other line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.protocol.serialization import Exists

from kedge.stores import OutcomeUnknown
from kedge.stores.zookeeper import ZooKeeperStore, open_zookeeper

if TYPE_CHECKING:
    from _typeshed import TraceFunction

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0


class Interrupted:
    """kazoo's end of the pair by which it is woken: the next time, Ctrl-C (or an error) comes before or after that."""

    def __init__(self, end: Any, *, is_woken: bool, error: Exception | None = None) -> None:
        self._end = end
        self._error = error
        self._is_woken = is_woken
        self._is_due = True

    def send(self, data: bytes) -> int:
        if not self._is_due:
            return int(self._end.send(data))
        self._is_due = False
        if self._is_woken:
            self._end.send(data)
        if self._error is not None:
            raise self._error
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
        came = True
        while came:
            line += 1
            interrupting = Interrupting(line)
            sys.settrace(interrupting.step)
            try:
                store.get("/a", timeout_s=CALL_S)
            except KeyboardInterrupt:
                assert interrupting.came
            else:
                assert not interrupting.came  # it has no such line
            finally:
                sys.settrace(traced)
            came = interrupting.came
        assert line > 20
        assert store.get("/a", timeout_s=CALL_S) is None
    finally:
        store.close()


def test_an_error_while_an_interrupt_is_handled_is_an_error(url: str) -> None:
    """As in a `finally`: the interrupt that is handled already is not raised once more."""
    store = open_zookeeper(url)
    connection = store.link.client._connection  # noqa: SLF001 - as above
    connection._write_sock = Interrupted(connection._write_sock, is_woken=False, error=OSError("closed"))  # noqa: SLF001
    try:
        with pytest.raises(OutcomeUnknown):
            _in_the_end(lambda: store.get("/a", timeout_s=CALL_S))
    finally:
        store.close()


def _in_the_end(does: Callable[[], object]) -> None:
    try:
        raise KeyboardInterrupt
    finally:
        does()


class Interrupting:
    """Ctrl-C at that line, counted from now, also in what is called."""

    def __init__(self, line: int) -> None:
        self._left = line
        self.came = False

    def step(self, frame: FrameType, event: str, argument: Any) -> TraceFunction:  # noqa: ARG002 - Python's own
        self._left -= event == "line"
        if not (self._left or self.came):
            self.came = True
            raise KeyboardInterrupt
        return self.step
