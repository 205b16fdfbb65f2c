"""Ctrl-C ends a wait of a command, and never a call into a library."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from kedge.controller.cli.signals import SignalEvent, interrupts, told_to_end

if TYPE_CHECKING:
    from _typeshed import TraceFunction

WAIT_S = 30.0


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def in_a_moment(number: signal.Signals) -> None:
    threading.Timer(0.05, os.kill, (os.getpid(), number)).start()


def test_an_interrupt_ends_the_pause_in_which_it_comes() -> None:
    with interrupts() as found:
        in_a_moment(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            found.pause(WAIT_S)


def test_an_interrupt_inside_of_a_call_waits_for_the_next_pause() -> None:
    done = []
    with interrupts() as found:
        signal.raise_signal(signal.SIGINT)
        done.append("call")
        with pytest.raises(KeyboardInterrupt):
            found.pause(0)
    assert done == ["call"]


def test_the_second_one_comes_at_once() -> None:
    with interrupts():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts() as found:
            signal.raise_signal(signal.SIGINT)
            found.pause(0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_thread_that_hears_no_signals_only_pauses() -> None:
    def pause() -> None:
        with interrupts() as found:
            found.pause(0)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(pause).result(WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_hears_of_its_end_while_it_waits(number: signal.Signals) -> None:
    with told_to_end() as told:
        assert not told.wait(0)
        in_a_moment(number)
        assert told.wait(WAIT_S)
        assert told.wait(0)


def test_a_handler_may_tell_at_each_step_of_the_wait() -> None:
    """Of a `threading.Event` it would wait for a lock that its own thread has."""
    told, steps = SignalEvent(), []

    def step(frame: FrameType, event: str, argument: Any) -> TraceFunction:  # noqa: ARG001 - Python's own
        steps.append(event)
        told.set()
        return step

    traced = sys.gettrace()
    sys.settrace(step)
    try:
        told.wait(0)
    finally:
        sys.settrace(traced)
    assert len(steps) > 2
    assert told.wait(0)
