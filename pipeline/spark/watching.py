"""The progress of the jobs of a session, for a bar: finished tasks, out of those of the running stages.

A thread polls an embedded session until the block ends; Spark Connect calls a handler.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

Told: TypeAlias = Callable[[int, int], None]
_EVERY_S: Final = 0.3


@contextmanager
def watched(spark: Any, told: Told | None) -> Iterator[None]:
    """In the block `told`, if given, is called with the finished tasks and their total."""
    if told is None:
        yield
        return
    if ".connect." in type(spark).__module__:
        with _by_connect(spark, told):
            yield
        return
    over = threading.Event()
    asking = threading.Thread(target=_ask, args=(spark.sparkContext.statusTracker(), told, over), daemon=True)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()


def _ask(tracker: Any, told: Told, over: threading.Event) -> None:
    while not over.wait(_EVERY_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        told(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


@contextmanager
def _by_connect(spark: Any, told: Told) -> Iterator[None]:
    def heard(stages: Any = (), **_: Any) -> None:
        known = list(stages or ())
        told(sum(stage.num_completed_tasks for stage in known), sum(stage.num_tasks for stage in known))

    spark.registerProgressHandler(heard)
    try:
        yield
    finally:
        spark.removeProgressHandler(heard)
