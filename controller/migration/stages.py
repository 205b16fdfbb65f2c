"""How far a move has come, by the markers of both sides: a table, so that running again needs no memory.

    FROM               TO                  stage
    none               none, no key        NEW       nothing was written
    none               copying, no key     NEW       the marker of TO goes first: nothing else may be lost by it
    copying            copying             COPYING   it may be aborted
    fenced             copying             FENCED    only forward from here: the last scan is due
    moved              copying             SEALED    TO is whole: it only has to be given free
    moved              complete            GIVEN     the first term has not raised the leader epochs yet
    moved              any other           DONE      a controller worked the marker off; /kedge/origin of TO says so

Everything else is refused: TO holds something else, FROM is a copy that is not whole, or FROM moves elsewhere.
"""

from __future__ import annotations

import enum

from controller.codec import keys
from controller.codec.migration import COMPLETE, COPYING, FENCED, FROM, MOVED, TO, Marker


class Stage(enum.Enum):
    """See the head of this module."""

    NEW = "new"
    COPYING = "copying"
    FENCED = "fenced"
    SEALED = "sealed"
    GIVEN = "given"
    DONE = "done"


class MigrationRefused(Exception):
    """What was asked for cannot be done with these two stores. The message says why; nothing was written."""


def stage_of(source: Marker | None, target: Marker | None, *, is_empty: bool, origin: str | None = None) -> Stage:
    """`is_empty`: the new store holds no key but ephemeral ones and the move's own. `origin`: the migration that it was
    given by, if it was. Raises MigrationRefused."""
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
        raise MigrationRefused(f"FROM is moving to {source.other} ({source.phase}), and TO holds nothing of that")
    assert target is not None
    stages = {
        (COPYING, COPYING): Stage.COPYING,
        (FENCED, COPYING): Stage.FENCED,
        (MOVED, COPYING): Stage.SEALED,
        (MOVED, COMPLETE): Stage.GIVEN,
    }
    stage = stages.get((source.phase, target.phase))
    if stage is None:
        raise MigrationRefused(f"the markers do not fit: FROM says {source.phase}, TO {target.phase}")
    return stage


def _done(source: Marker, origin: str | None) -> Stage:
    if origin != source.migration:
        raise MigrationRefused(
            f"FROM was moved to {source.other}, and TO is another store: its {keys.ORIGIN} does not say that it was "
            "given by that move"
        )
    return Stage.DONE


def _new(target: Marker | None, *, is_empty: bool) -> Stage:
    if target is not None and target.side == FROM:
        raise MigrationRefused(f"TO was itself moved to {target.other} ({target.phase})")
    if target is not None and (target.phase == COMPLETE or not is_empty):
        raise MigrationRefused(f"TO holds a copy of {target.other} ({target.phase}), which FROM knows nothing of")
    if not is_empty:
        raise MigrationRefused("TO is not empty")
    return Stage.NEW
