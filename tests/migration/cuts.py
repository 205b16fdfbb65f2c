"""A move to another store is cut at one of its commits."""

from __future__ import annotations

from contextlib import closing

from kedge.controller.codec import keys
from kedge.stores.base import StoreError
from kedge.stores.faults import Fault
from tests.kit.death import Death
from tests.migration.sites import NAMES, Site, finish, migration, move


def cut(source: Site, target: Site, at: int, fault: Fault, names: tuple[str, str] = NAMES) -> bool:
    """Whether it dies at that commit, and did not end before."""
    death = Death(at, fault)
    with closing(source.open()) as here, closing(target.open()) as there:
        run = migration(death.store(here), death.store(there), names)
        run.check()
        try:
            run.run()
        except StoreError:
            return True
    return False


def one_is_valid(source: Site, target: Site, names: tuple[str, str] = NAMES, *, goes_on: bool) -> None:
    """After a cut a controller leads over one of the stores at most, and there all that was under way ends. `goes_on`:
    the move is completed before."""
    is_moved = source.refusal()
    before = source.leader_epochs()
    if is_moved is None and not goes_on:
        if keys.topic("t") in target.values():
            assert "unfinished copy" in (target.refusal() or "")
        finish(source)
        return
    if is_moved is not None:
        assert is_moved.endswith(f"the cluster was moved to {names[1]}")
    if is_moved is None or target.refusal() is not None:
        move(source, target, names)
    assert (source.refusal() or "").endswith(f"the cluster was moved to {names[1]}")
    after = target.leader_epochs()
    assert after.keys() == before.keys()
    assert all(after[key] > epoch for key, epoch in before.items())
    finish(target)
