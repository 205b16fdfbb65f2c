"""The pure part of a cluster's move to another store: entries in, changes, stages and plans out.

`scan` says which keys of a store are copied and how two scans differ, `stages` how far a move has come by the markers
of both sides, `plan` what a move would do and what prevents it. `kedge.controller.runtime.migration` does the reading
and writing.
"""

from .plan import NO_BROKERS, Plan, make_plan, news, no_cluster, obstacles
from .scan import GIVEN_WITH, Change, Item, differences, foreign, scan, seal_of
from .stages import MigrationRefused, Stage, stage_of

__all__ = [
    "GIVEN_WITH",
    "NO_BROKERS",
    "Change",
    "Item",
    "MigrationRefused",
    "Plan",
    "Stage",
    "differences",
    "foreign",
    "make_plan",
    "news",
    "no_cluster",
    "obstacles",
    "scan",
    "seal_of",
    "stage_of",
]
