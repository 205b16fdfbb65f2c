"""How far a move has come, by the markers of both sides: a table, so that a second run needs no memory.

    FROM               TO                  stage
    none               none, no key        NEW       nothing was written
    none               copying, no key     NEW       the marker of TO is written first: it risks nothing else
    copying            copying             COPYING   the move may be aborted
    fenced             copying             FENCED    it can only be completed: the last scan is due
    moved              copying             SEALED    TO is complete: it only has to be released
    moved              complete            GIVEN     the first term has not raised the leader epochs yet
    moved              any other           DONE      a controller removed the marker; /kedge/origin of TO shows it

Everything else is refused: TO has other content, FROM is an incomplete copy, or FROM moves to another store.
"""

from __future__ import annotations

import enum

from ..codec import keys
from ..codec.migration import COMPLETE, COPYING, FENCED, FROM, MOVED, TO, Marker


class Stage(enum.Enum):
    """See the table at the top of this module."""

    NEW = "new"
    COPYING = "copying"
    FENCED = "fenced"
    SEALED = "sealed"
    GIVEN = "given"
    DONE = "done"


class MigrationRefused(Exception):
    """The request is not possible with these two stores. The message says why; nothing was written."""


def stage_of(source: Marker | None, target: Marker | None, *, is_empty: bool, origin: str | None = None) -> Stage:
    """The stage of the move. `is_empty`: the new store has no keys but ephemeral ones and the move's own. `origin`: the
    migration that released it, if any. Raises MigrationRefused."""
    if source is not None and source.side == TO:
        raise MigrationRefused(
            f"FROM is itself a copy of {source.other} that no controller has taken over yet ({source.phase})"
        )
    ours = target is not None and target.side == TO and source is not None and target.migration == source.migration
    if source is None:
        return _new(target, is_empty=is_empty)
    if not ours:
        if source.phase == MOVED:
            return _done(source, origin)
        raise MigrationRefused(f"FROM is moving to {source.other} ({source.phase}), and TO has no part of that move")
    assert target is not None
    stages = {
        (COPYING, COPYING): Stage.COPYING,
        (FENCED, COPYING): Stage.FENCED,
        (MOVED, COPYING): Stage.SEALED,
        (MOVED, COMPLETE): Stage.GIVEN,
    }
    stage = stages.get((source.phase, target.phase))
    if stage is None:
        raise MigrationRefused(f"the markers do not fit: FROM has {source.phase}, TO has {target.phase}")
    return stage


def _done(source: Marker, origin: str | None) -> Stage:
    if origin != source.migration:
        raise MigrationRefused(
            f"FROM was moved to {source.other}, and TO is another store: its {keys.ORIGIN} does not name that move"
        )
    return Stage.DONE


def _new(target: Marker | None, *, is_empty: bool) -> Stage:
    if target is not None and target.side == FROM:
        raise MigrationRefused(f"TO was itself moved to {target.other} ({target.phase})")
    if target is not None and (target.phase == COMPLETE or not is_empty):
        raise MigrationRefused(
            f"TO holds a copy of {target.other} ({target.phase}), but FROM has no marker of that move"
        )
    if not is_empty:
        raise MigrationRefused("TO is not empty")
    return Stage.NEW
