"""A move of a cluster to another store: what is pure of it. Entries in, changes, stages and plans out.

`scan` says what of a store is copied and how two scans differ, `stages` how far a move has come by the markers of both
sides, `plan` what a move would do and what stands against it. What reads and writes is
`controller.runtime.migration`.
"""

from controller.migration.plan import NO_BROKERS, Plan, make_plan, news, no_cluster, obstacles
from controller.migration.scan import GIVEN_WITH, Change, Item, differences, foreign, scan, seal_of
from controller.migration.stages import MigrationRefused, Stage, stage_of

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
