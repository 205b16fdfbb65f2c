"""The pipeline on Spark DataFrames: `from kedge.pipeline import spark as kp`.

    raw = kp.read(spark, "s3a://lake/kedge")
    silver = kp.compute_load(kp.validate(raw))
    moves = kp.waves(kp.drain(silver, brokers=[3]))
    moves["plan_move"].write.saveAsTable("lake.plan_move")

The functions are those of `kedge.pipeline.local`, with the same results, on tables of any number of clusters and
snapshots (columns `cluster` and `snapshot`). `session` returns the active session, or a new one. Only this package
starts a JVM: the local engine imports nothing from here, and importing it needs no PySpark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .session import NoSpark as NoSpark
from .session import session as session

if TYPE_CHECKING:
    from ..functions.planning import *  # noqa: F403 - for type checkers only
    from .names import *  # noqa: F403
    from .source import KedgeJournal as KedgeJournal

    __all__: list[str]


def __getattr__(name: str) -> object:
    if name == "KedgeJournal":  # needs PySpark itself
        return import_module(".source", __name__).KedgeJournal
    if name == "__all__" or not name.startswith("_"):
        names = import_module(".names", __name__)
        if name == "__all__":
            return ["KedgeJournal", "NoSpark", "session", *names.__all__]
        if name in names.__all__:
            return getattr(names, name)
    raise AttributeError(f"module 'kedge.pipeline.spark' has no attribute {name!r}")
