"""When a connection that answers nothing is given up, and when kazoo is started again."""

from __future__ import annotations

from kedge.stores.zookeeper.patience import FIRST_S, MAX_S, Revival, Silence

SESSION_S = 6.0  # of which 4 s of silence are enough


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


def test_who_is_refused_again_and_again_is_started_ever_later() -> None:
    """Up to a bound; after it held out it restarts."""
    revival, now_s, pauses = Revival(), 100.0, []
    for _ in range(7):
        pauses.append(revival.pause_s(now_s))
        now_s += pauses[-1] + 0.1
    assert pauses == [FIRST_S, 1.0, 2.0, 4.0, MAX_S, MAX_S, MAX_S]
    assert revival.pause_s(now_s + 60) == FIRST_S
