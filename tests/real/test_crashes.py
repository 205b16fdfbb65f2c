"""A throttled move and a reduction on real stores: the controller dies at each commit, or the reply to it is lost.

Rules
* `tests/simulation` runs every scenario with every fault on the memory store. One scenario for each fault shows that a
  real store keeps the promises of the memory store.
* A commit takes ten keys, so that a request takes several, and each step has a commit of its own to die at.
* Commits are counted as they come, up to the first that the scenario does not reach: what a real server answers late
  may let two of them be one.
* Sessions are ended by the harness, at once: no test waits for their time. One server of each kind, a root per case.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, cast

import attrs
import pytest
from kazoo.client import KazooClient

from kedge.controller.model.values import Settings
from kedge.controller.rig import Rig
from kedge.controller.rig.served import StoreServer
from kedge.stores import MetadataStore, open_store
from kedge.stores.base import Capabilities
from kedge.stores.faults import FaultStore, LoseReply, at_commit
from kedge.stores.zookeeper import ZooKeeperStore
from servers import LocalEtcd, LocalZooKeeper
from tests.simulation import reduction_scenarios, throttle_scenarios
from tests.simulation.clusters import leading
from tests.simulation.enumeration import Story, crash_at

COMMIT_OPS_MAX: Final = 10
COMMITS_MIN, COMMITS_MAX = 3, 60
SESSION_S: Final = 10
REST_MS: Final = 2
READ_S: Final = 10.0
_roots: Final = itertools.count(1)


class Narrow(FaultStore):
    """A store whose commits take ten keys."""

    @property
    def capabilities(self) -> Capabilities:
        """The inner store's, but for that."""
        return attrs.evolve(super().capabilities, commit_ops_max=COMMIT_OPS_MAX)

    def abandon(self) -> None:
        """As the inner store."""
        cast(ZooKeeperStore, self.inner).abandon()


@attrs.frozen
class Kind:
    """A server, and how a session of a client of it is ended at once."""

    server: Any
    ends: Callable[[MetadataStore], None]

    @contextmanager
    def rig(self, world: Callable[..., Rig]) -> Iterator[tuple[Rig, StoreServer]]:
        """A rig below a root of its own."""
        root = f"/crashes-{os.getpid()}-{next(_roots)}"
        url = f"{self.server.url(root)}?session_timeout={SESSION_S}&connect_timeout=20"
        served = StoreServer(
            lambda: Narrow(open_store(url)), tick_ms=REST_MS, ends=lambda store: self.ends(cast(Narrow, store).inner)
        )
        with closing(served):
            yield world(Settings(), server=served), served


def _zookeeper(server: LocalZooKeeper) -> Kind:
    def ends(store: MetadataStore) -> None:
        """A second connection takes the session over and closes it."""
        client = KazooClient(hosts=server.address, client_id=cast(ZooKeeperStore, store).link.credentials)
        client.start(timeout=10)
        client.stop()
        client.close()

    return Kind(server, ends)


def _etcd(server: LocalEtcd) -> Kind:
    def ends(store: MetadataStore) -> None:
        server.ask("lease/revoke", {"ID": store.session.session_id})

    return Kind(server, ends)


@pytest.fixture(params=["zookeeper", "etcd"], scope="module")
def kind(request: pytest.FixtureRequest) -> Kind:
    """The server of the run."""
    server = request.getfixturevalue(f"{request.param}_server")
    return _zookeeper(server) if request.param == "zookeeper" else _etcd(server)


THROTTLED: Final = throttle_scenarios.STORIES["throttled_move"]
REDUCED: Final = reduction_scenarios.STORIES["delayed"]


def _after_each_commit(kind: Kind, story: Story, befalls: Callable[[Rig, int], None]) -> int:
    """The scenario ends as it should, whatever `befalls` each of its commits; how many there are."""
    for nth in range(1, COMMITS_MAX):
        with kind.rig(story.make) as (rig, served):
            process = leading(rig).process
            assert process is not None
            before = process.store.commits
            befalls(rig, nth)
            story.run(rig)
            _stands_as_known(served)
            if process.store.commits - before < nth:
                return nth - 1
    raise AssertionError(f"{COMMITS_MAX} commits, and no end of it")


def _stands_as_known(served: StoreServer) -> None:
    """What was looked at in the end is what the server holds, and no key besides."""
    found = served.observer.snapshot("/", timeout_s=READ_S)
    assert {entry.key: entry.value for entry in found.entries} == {
        key: row[0] for key, row in served.table.rows.items()
    }


@pytest.mark.checklist(36, 37, 38, 39, 40, 41, 42, 43, 56)
@pytest.mark.server
@pytest.mark.full
def test_no_death_leaves_a_throttle_behind(kind: Kind) -> None:
    """The controller dies with each commit, which is applied, and its session ends at once: the stand-by ends it."""

    def dies(rig: Rig, nth: int) -> None:
        crash_at(rig, leading(rig), nth, "applied, reply lost", expires=True)

    assert _after_each_commit(kind, THROTTLED, dies) >= COMMITS_MIN


@pytest.mark.checklist(214)
@pytest.mark.server
@pytest.mark.full
def test_no_lost_reply_leaves_a_reduction_half_done(kind: Kind) -> None:
    """Each commit is applied, and the controller that sent it gets no reply."""

    def loses_the_reply(rig: Rig, nth: int) -> None:
        rig.mishaps.plan_store_faults(leading(rig).node_id, at_commit(nth, LoseReply()))

    assert _after_each_commit(kind, REDUCED, loses_the_reply) >= COMMITS_MIN
