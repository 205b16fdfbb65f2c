"""Three servers that are one store, under a cluster: which of them to strike, and whether they agree afterwards.

Tests of a module share the three of each kind, and each has a root of its own. What a test did to a node is undone
when it is over, so that the next one finds three that answer, and hold the same."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, TypeAlias

import attrs
import pytest

from kedge.stores import OutcomeUnknown, Unavailable, open_store
from servers import EtcdEnsemble, LocalEtcd, LocalServer, LocalZooKeeper, NoServer, ZooKeeperEnsemble
from servers.ensembles import Ensemble
from servers.process import wait_until
from tests.real.cluster import CALL_S, Cluster
from tests.real.connections import connected_to
from tests.real.etcd_log import EtcdLog
from tests.real.remote import Seat
from tests.real.served import Log, Witnessed, url
from tests.real.writes import Transaction
from tests.real.zookeeper_log import ZooKeeperLog

PartitionState: TypeAlias = tuple[Ensemble[Any], str]
_MEET_S: Final = 30.0
_numbers = itertools.count()


@attrs.frozen
class Three(Witnessed):
    """An ensemble, and what was written to it below `root`."""

    root: str
    ensemble: Ensemble[Any]
    why_uncut: str
    """Why its nodes cannot be cut off; empty if they can."""

    def demand_cable(self) -> None:
        """The test is skipped where nodes cannot be cut off."""
        if self.why_uncut:
            pytest.skip(self.why_uncut)

    def leader(self) -> LocalServer:
        """The node that leads the others."""
        node: LocalServer = self.ensemble.leader()
        return node

    def of(self, cluster: Cluster) -> LocalServer:
        """The node that the active controller is connected to."""
        found: set[str] = set()

        def looked() -> bool:
            found.update(connected_to(cluster.leader_node.pid, self.ensemble.addresses))
            return bool(found)

        cluster.until(looked, "the controller is connected")
        (address,) = found
        node: LocalServer = next(node for node in self.ensemble.nodes if node.address == address)
        return node

    def seat_at(self, node: LocalServer, session_s: float) -> Seat:
        """In the network of the node, and with no other one to turn to."""
        return Seat(url(node.url(self.root), session_s), node.place.enter)

    def only_held_by(self, node: LocalServer) -> list[Transaction]:
        """What the node wrote down, and no other: of a ZooKeeper."""
        assert isinstance(self.log, ZooKeeperLog)
        return self.log.of_its_own(node.folder)

    def agree(self, cluster: Cluster) -> None:
        """Every node, asked alone, holds the same tree."""

        def agreed() -> bool:
            trees = [self._tree(node) for node in self.ensemble.nodes]
            return trees[0] is not None and all(tree == trees[0] for tree in trees)

        cluster.until(agreed, "all nodes hold the same")

    def _tree(self, node: LocalServer) -> list[tuple[str, bytes]] | None:
        try:
            with closing(open_store(url(node.url(self.root), 10))) as store:
                store.get("/controller", sync=True, timeout_s=CALL_S)
                found = store.snapshot("/", timeout_s=CALL_S)
        except (Unavailable, OutcomeUnknown):
            return None
        return [(entry.key, entry.value) for entry in found.entries]


@contextmanager
def standing(name: str) -> Iterator[PartitionState]:
    """Three that answer, with networks of their own where those can be had, else with the reason why not."""
    why = ""
    try:
        made = _made(name, network=True)
    except NoServer as error:
        made, why = _made(name, network=False), str(error)
    with made as ensemble:
        yield ensemble, why


@contextmanager
def struck(ensemble: Ensemble[Any], why_uncut: str) -> Iterator[Three]:
    """The three, to do to them what one likes; they are whole again afterwards."""
    root = f"/kedge-real-{next(_numbers)}"
    try:
        yield Three(ensemble.scheme, ensemble.url(root), _log(ensemble, root), root, ensemble, why_uncut)
    finally:
        for node in ensemble.nodes:
            node.resume()
            if not why_uncut:
                ensemble.mend(node)
        ensemble.start()
        ensemble.leader()
        if isinstance(ensemble, EtcdEnsemble):
            _meet(ensemble)


def _made(name: str, *, network: bool) -> Ensemble[Any]:
    if name == "etcd":
        return EtcdEnsemble(network=network, durable=False)
    return ZooKeeperEnsemble(network=network, durable=False)


def _meet(ensemble: EtcdEnsemble) -> None:
    """Members that went apart never meet again, and no client can have made them: the next test gets new ones."""
    try:
        wait_until("all members of etcd hold the same", lambda: len(set(ensemble.revisions())) == 1, _MEET_S)
    except NoServer as error:
        ensemble.stop()
        for node in ensemble.nodes:
            shutil.rmtree(node.folder / "data")
        ensemble.start()
        raise AssertionError(f"etcd {ensemble.version} went apart when it was struck: {error}") from error


def _log(ensemble: Ensemble[Any], root: str) -> Log:
    if isinstance(ensemble, EtcdEnsemble):
        return EtcdLog(root, *(node for node in ensemble.nodes if isinstance(node, LocalEtcd)))
    return ZooKeeperLog(root, *(node.folder for node in ensemble.nodes if isinstance(node, LocalZooKeeper)))
