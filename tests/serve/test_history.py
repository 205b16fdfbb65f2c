"""The rates of the last minutes, in virtual time."""

from __future__ import annotations

from kedge.controller.server.history import HISTORY_MS, History


def test_history_has_a_point_for_each_step() -> None:
    history = History()
    for ms in range(0, 10_001, 500):
        history.read(ms, ms * 3)
    assert history.points(10_000) == [
        (8_000, 3_000.0),
        (6_000, 3_000.0),
        (4_000, 3_000.0),
        (2_000, 3_000.0),
        (0, 3_000.0),
    ]


def test_history_forgets_what_is_too_old() -> None:
    history = History()
    for ms in range(0, 2 * HISTORY_MS + 1, 2_000):
        history.read(ms, ms)
    points = history.points(2 * HISTORY_MS)
    assert (points[0][0], points[-1][0], len(points)) == (HISTORY_MS, 0, HISTORY_MS // 2_000 + 1)
