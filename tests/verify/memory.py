"""What a controller keeps in memory, compared with the store: row by row, against the plain values of
the keys.

A row whose key has the version that the controller knows must be what that key holds. Other keys were written by
another program, and are read again in a later step.
"""

from __future__ import annotations

from kedge.controller.codec import keys, partition_state
from kedge.controller.codec.text import parse
from kedge.controller.rig.rig import Rig


def check_memory(rig: Rig, *, and_objects: bool) -> None:
    """Raises AssertionError for a row of the active controller that differs from its key. `and_objects`: also for an
    object that is kept beside its columns and differs from them; to look at these changes which of them are kept."""
    controller = None if rig.active is None else rig.active.controller
    term = None if controller is None else controller._loop.term  # noqa: SLF001 - nothing public shows a row
    if term is None or term.ready is not None or term.state.batch.log:
        return
    state, stored = term.state, rig.server.table.rows
    names = [name for name in state.topic_names() if not state.is_deleting(name)]  # of whose keys nothing counts
    numbers = [number for name in names for number in state.topics[name].numbers]
    for number, replicas in zip(numbers, state.rows.replicas(numbers), strict=True):
        row = state.rows.read_uncached(number)
        assert row is not None, f"{number} has no row"
        assert not and_objects or row == state.rows[number], f"columns have {row}, the object {state.rows[number]}"
        assert row.replicas == replicas, f"columns have {row}, and the replicas {replicas}"
        at = stored.get(keys.state(row.topic, row.partition))
        if at is None or at[1] != state.versions.states[number] or (row.topic, row.partition) in state.problems:
            continue
        held = partition_state.decode(parse(at[0]), row.topic, row.partition, row.replicas, 0)
        assert row == held, f"memory has {row}, the store {held}"
