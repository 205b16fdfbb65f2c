"""Who submits a plan dies at every step of it: nothing is lost, and nothing is begun twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.rig.outside import is_marked
from kedge.pipeline.audit import audit
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.submit import roll_back
from tests.pipeline_submit.clusters import Made

Making = Callable[..., Made]


class Died(BaseException):
    """The process of the submitter ended here."""


class Steps:
    """Counts the steps of a submitter, and ends it at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise Died


class Dying:
    """The admin API of the active controller; the caller may die before a request, and right after it was sent."""

    def __init__(self, made: Made, step: Steps) -> None:
        self._made, self._step = made, step

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def ask(*arguments: Any, **options: Any) -> Any:
            self._step()
            answers = getattr(self._made.rig.admin, name)(*arguments, **options)
            self._step()
            futures = [answers] if isinstance(answers, Future) else list(answers.values())
            self._made.rig.until(lambda: all(future.done() for future in futures))
            self._step()
            return answers

        return ask


@contextmanager
def dying(step: Steps) -> Iterator[None]:
    """The writes of progress are steps, too: before each, between its writing and its rename, after it."""
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        step()
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        step()
        found = replace(path, target)
        step()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kedge.pipeline.submit.kept.os.fsync", synced)
        patch.setattr("pathlib.Path.replace", replaced)
        yield


def steps_of(made: Made, at: int) -> int:
    """How many steps a submitter took that died at this one (0: at none)."""
    step = Steps(at)
    admin = Dying(made, step)
    with suppress(Died), dying(step):
        made.submit(admin=lambda: admin)
    return step.count


def small(making: Making) -> Made:
    """Two waves with rates of each broker's own."""
    return making(throttle_bps=None, per_broker=2, topics=("orders",))


@pytest.mark.full
def test_submission_that_dies_at_any_step_is_completed_by_the_next(making: Making) -> None:
    whole = steps_of(small(making), 0)
    assert whole > 30
    for at in range(1, whole + 1):
        made = small(making)
        assert steps_of(made, at) == at
        assert made.submit().end == "done", at
        assert all(1 not in replicas for replicas in made.replicas().values()), at
        assert not is_marked(made.rig), at
        assert len(set(made.sent())) == len(made.sent()) > 0, at
        assert audit(journal_files([made.journal])).violations == (), at


@pytest.mark.full
def test_submission_that_dies_at_any_step_can_be_rolled_back(making: Making) -> None:
    whole = steps_of(small(making), 0)
    for at in range(1, whole + 1, 3):
        made = small(making)
        steps_of(made, at)
        roll_back(made.folder, made.store, made.options())
        assert made.replicas() == made.before, at
        assert not is_marked(made.rig), at
        made.close()
        assert audit(journal_files([made.journal])).violations == (), at
