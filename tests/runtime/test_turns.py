"""Long work in slices: whose turn it is, and how a piece ends."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import count

import pytest

from kedge.controller.runtime.turns import Turns, Work, finished, into


def piece(name: str, slices: int, done: list[str]) -> Work[str]:
    for _ in range(slices):
        done.append(name)
        yield
    return name.upper()


def turns() -> Turns:
    """A slice is over after each yield."""
    seconds = count()
    return Turns(lambda: next(seconds))


def added(several: Turns, client: str, work: Work[str]) -> Future[str]:
    future: Future[str] = Future()
    several.add(client, into(future, work))
    return future


def test_clients_take_turns_however_much_one_wants() -> None:
    several, done = turns(), list[str]()
    wanted = [added(several, "greedy", piece(name, 9, done)) for name in "abc"]
    modest = added(several, "modest", piece("m", 2, done))
    while not modest.done():
        assert several.advance()
    assert done == ["a", "m", "a", "m", "a"]
    while several.advance():
        pass
    assert [each.result(0) for each in wanted] == ["A", "B", "C"]
    assert not several


def test_pieces_of_a_client_are_done_in_their_order() -> None:
    several, done = turns(), list[str]()
    for name in "ab":
        added(several, "one", piece(name, 2, done))
    while several.advance():
        pass
    assert done == ["a", "a", "b", "b"]


def test_work_ends_when_its_future_is_cancelled() -> None:
    several, done = turns(), list[str]()
    future = added(several, "one", piece("a", 9, done))
    several.advance()
    future.cancel()
    while several.advance():
        pass
    assert done == ["a"]


def test_an_error_is_in_the_future_and_stops_no_other_work() -> None:
    def failing() -> Work[str]:
        yield
        raise KeyError("k")

    several, done = turns(), list[str]()
    failed, other = added(several, "one", failing()), added(several, "one", piece("b", 1, done))
    while several.advance():
        pass
    with pytest.raises(KeyError):
        failed.result(0)
    assert other.result(0) == "B"


def test_all_of_a_work_can_be_done_at_once() -> None:
    assert finished(piece("a", 3, [])) == "A"
