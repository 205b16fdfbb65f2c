"""A parent that another client creates between two requests: nothing below it is missed, and no commit fails."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient

from kedge.stores import ABSENT, Changed, Check, Depth, Put, Resync
from kedge.stores.base import Op
from servers import LocalZooKeeper
from tests.stores.zookeeper.interposed import EXISTS, MULTI, before_request

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0
WAIT_S = 30.0


@pytest.mark.parametrize("depth", [Depth.CHILDREN, Depth.VALUES])
def test_what_appears_below_a_parent_that_was_just_created_is_hinted(
    server: LocalZooKeeper, chroot: str, raw: KazooClient, depth: Depth
) -> None:
    """The names below it were asked for while it was absent; before its creation could be watched it was there. The
    names are watched all the same, when the Resync says that everything is."""
    with before_request(server, chroot, EXISTS, 1, lambda: raw.create(f"{chroot}/w/a", b"1", makepath=True)) as store:
        stream = store.subscribe("/w", depth)
        assert stream.poll(WAIT_S) == Resync("/w", "initial")
        raw.create(f"{chroot}/w/b", b"1")
        assert stream.poll(WAIT_S) == Changed("/w/b")
        if depth is Depth.VALUES:
            raw.set(f"{chroot}/w/a", b"2")
            assert stream.poll(WAIT_S) == Changed("/w/a")


@pytest.mark.parametrize(
    "op",
    [
        Put("/p/q/r", b"ours", ABSENT),
        Put("/p/q", b"ours", ABSENT),
        Put("/p/e", b"ours", ABSENT, ephemeral=True),
        Check("/p/q/r", ABSENT),
    ],
)
def test_commit_succeeds_though_another_client_created_the_parent(
    server: LocalZooKeeper, chroot: str, raw: KazooClient, op: Op
) -> None:
    """It had been seen to be absent, so the transaction creates it, and is refused as a whole: it is sent again without
    that."""
    raw.ensure_path(chroot)
    # The first transaction finds that the parent is missing, the second one creates it.
    with before_request(server, chroot, MULTI, 2, lambda: raw.ensure_path(f"{chroot}/p")) as store:
        store.commit([op, Put("/other", b"", ABSENT)], timeout_s=CALL_S)
        found = store.get(op.key, sync=True, timeout_s=CALL_S)
        assert (None if found is None else found.value) == (b"ours" if isinstance(op, Put) else None)
        assert store.get("/other", timeout_s=CALL_S) is not None
