"""Nothing outside `controller/state` changes the state of the controller."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.assignments import below, changes

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_only_the_room_of_the_state_changes_it() -> None:
    rooms = ("runtime", "rules", "admin", "metrics", "machine.py", "host.py")
    assert below(CHECKOUT / "controller", *rooms) == []


@pytest.mark.parametrize(
    "code",
    [
        "self._state.admitted[broker] = 1",
        "del self._state.admitted[broker]",
        "state.refused.pop(topic, None)",
        "self.state.reducing.of.update(found)",
        "loaded.state.controller_epoch = 1",
        "self.state.deletions[topic].version = 1",
        "row = self.state.topics.get(topic)\n    row.version = 1",
        "if (row := self.state.topics[topic]) is not None:\n        row.version += 1",
        "a, state.b.c = 1, 2",
        "throttles = self._state.throttles\n    throttles.marks[slot] = mark",
    ],
)
def test_a_change_is_found(code: str) -> None:
    assert len(changes(f"def f(self, state):\n    {code}\n")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "self._state = state",
        "self.state.deletion_written(topic)",
        "state.intents.durable(1, 2, 3)",
        "names = set(state.topics)\n    names.add(topic)",
        "found = [p for p in self.state.rows]\n    found.append(1)",
    ],
)
def test_what_changes_nothing_is_not_found(code: str) -> None:
    assert changes(f"def f(self, state):\n    {code}\n") == []
