"""When a connection that answers nothing is given up: a session time of 6 s, of which 4 s of silence are enough."""

from __future__ import annotations

from kedge.stores.zookeeper.silence import Silence

SESSION_S = 6.0


def test_a_client_that_goes_on_sending_into_silence_drops_the_connection() -> None:
    """Request after request, each given up after a second."""
    silence = Silence()
    assert [silence.goes_on(at, at + 1, SESSION_S) for at in (10.0, 11.0, 12.0, 13.0, 14.0)] == [False] * 4 + [True]


def test_one_long_request_is_enough() -> None:
    """It waited for longer than kazoo waits for the answer to a ping."""
    assert Silence().goes_on(10.0, 15.0, SESSION_S)


def test_an_answer_or_a_new_connection_ends_the_silence() -> None:
    """What was not answered before counts no more."""
    silence = Silence()
    assert not silence.goes_on(10.0, 13.0, SESSION_S)
    silence.broken()
    assert not silence.goes_on(13.0, 16.0, SESSION_S)
    assert silence.goes_on(16.0, 18.0, SESSION_S)


def test_two_lost_answers_far_apart_are_no_silence() -> None:
    """Between them nothing was asked, so kazoo pinged, and was answered."""
    silence = Silence()
    assert not silence.goes_on(10.0, 11.0, SESSION_S)
    assert not silence.goes_on(300.0, 301.0, SESSION_S)
    assert not silence.goes_on(600.0, 601.0, SESSION_S)
