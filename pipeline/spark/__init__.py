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
from typing import TYPE_CHECKING, Final

from .session import NoSpark, session

if TYPE_CHECKING:
    from ..functions.journals import audit as audit
    from ..functions.journals import progress as progress
    from ..functions.planning import balance_disks as balance_disks
    from ..functions.planning import balance_leaders as balance_leaders
    from ..functions.planning import check as check
    from ..functions.planning import compute_load as compute_load
    from ..functions.planning import demote as demote
    from ..functions.planning import drain as drain
    from ..functions.planning import fill_brokers as fill_brokers
    from ..functions.planning import fix_racks as fix_racks
    from ..functions.planning import plan as plan
    from ..functions.planning import rebalance as rebalance
    from ..functions.planning import reduce_partitions as reduce_partitions
    from ..functions.planning import set_replication_factor as set_replication_factor
    from ..functions.planning import validate as validate
    from ..functions.planning import waves as waves
    from .frames import Snapshots as Snapshots
    from .frames import collect as collect
    from .frames import persist as persist
    from .frames import read as read
    from .frames import write as write
    from .source import KedgeJournal as KedgeJournal
    from .verbs import results as results

_FUNCTIONS: Final = (
    *(
        "balance_disks",
        "balance_leaders",
        "check",
        "compute_load",
        "demote",
        "drain",
        "fill_brokers",
        "fix_racks",
        "plan",
        "rebalance",
    ),
    *("reduce_partitions", "set_replication_factor", "validate", "waves"),
)
_LATE: Final = {
    **dict.fromkeys(_FUNCTIONS, "..functions.planning"),
    **dict.fromkeys(("audit", "progress"), "..functions.journals"),
    **dict.fromkeys(("Snapshots", "collect", "persist", "read", "write"), ".frames"),
    "KedgeJournal": ".source",
    "results": ".verbs",
}
"""Names that need the extra `pipeline`, or PySpark, by their module."""

__all__ = ["NoSpark", "session", *_LATE]  # noqa: PLE0604 - the names above


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'kedge.pipeline.spark' has no attribute {name!r}")
    return getattr(import_module(_LATE[name], __name__), name)
