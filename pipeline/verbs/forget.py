"""`kedge plan forget`: old snapshots are deleted, with their plans.

* The age of a snapshot is by the table `snapshot_time`. Without that table it is by the date that its id begins with
  (2026-11-28, 20261128). Of others it is not known, and they are kept.
* Its partitions, without which there is no snapshot, and its time are deleted last: what was interrupted is found
  again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

import attrs

from ...controller.model.plural import counted
from ..tables.declared import PARTITION, PARTITION_VALID, PLAN, SNAPSHOT_TIME, TABLES
from ..tables.files import Place, Wanted, read_all, wanted
from .verb import Said, Tables, Told

_DATE: Final = re.compile(r"(20[0-9]{2})(-?)([01][0-9])\2([0-3][0-9])(?![0-9])")

_LAST: Final = (PARTITION_VALID, PARTITION, SNAPSHOT_TIME)


@attrs.frozen
class Forget:
    """Deletes every table of the snapshot."""

    dry_run: bool = False

    title: ClassVar[str] = "deleting snapshots"
    wanted: ClassVar[Sequence[Wanted]] = ()

    def run(self, place: Place, _: Tables, __: Told) -> Said:
        """What it deletes, or in a dry run would delete."""
        plans = place.parts(PLAN)
        tables = [*(table for table in TABLES.values() if table not in _LAST), *_LAST]
        for table in () if self.dry_run else tables:
            for part in place.parts(table):
                place.remove(table, part)
            if place.root.is_local:
                with suppress(OSError):  # it has other files
                    place.path(table).parent.rmdir()
        row = {**place.named, "plans": plans, "deleted": not self.dry_run}
        return Said(row, [("to delete" if self.dry_run else "deleted", f"with {counted(len(plans), 'plan')}")])


def old_snapshots(snapshots: Sequence[Place], limit: datetime) -> list[Place]:
    """Those of one cluster, the newest last, that were taken before `limit`, except the newest. While that one has
    partitions that are being reassigned, snapshots with plans are kept: one of them may be what is submitted."""
    targets = read_all(snapshots[-1], wanted(PARTITION))["partition"].column("target_replicas")
    is_moving = targets.null_count < len(targets)
    found = [place for place in snapshots[:-1] if (taken := taken_at(place)) is not None and taken < limit]
    return [place for place in found if not (is_moving and place.parts(PLAN))]


def taken_at(place: Place) -> datetime | None:
    """When the snapshot was taken, at the latest; None: not known."""
    if place.has(SNAPSHOT_TIME):
        found: datetime = place.read(SNAPSHOT_TIME)["taken_at"][0].as_py()
        return found
    if (read := _DATE.match(place.snapshot)) is not None:
        with suppress(ValueError):  # no such day
            return datetime.fromisoformat(f"{read[1]}-{read[3]}-{read[4]}").replace(tzinfo=UTC) + timedelta(days=1)
    return None
