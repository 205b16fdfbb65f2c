"""A cluster is moved between a real ZooKeeper and a real etcd, and the move is cut at each of its commits."""

from __future__ import annotations

import itertools
import os

import pytest

from kedge.stores import open_store
from kedge.stores.faults import LoseReply
from tests.conformance.zookeeper import server as zookeeper
from tests.migration.sites import Site, cut, make_busy, move, one_is_valid
from tests.runtime.world import Brokers
from tests.stores.etcd.served import fresh_root
from tests.stores.etcd.served import server as etcd

pytestmark = [pytest.mark.server, pytest.mark.full]

_numbers = itertools.count()


def urls(first: str) -> tuple[str, str]:
    """A new root on each server, that of `first` before the other."""
    found = (f"zookeeper://{zookeeper().address}/migration-{os.getpid()}-{next(_numbers)}", etcd().url(fresh_root()))
    return found if first == "zookeeper" else found[::-1]


@pytest.mark.parametrize("first", ["zookeeper", "etcd"])
@pytest.mark.parametrize("goes_on", [False, True], ids=["given up", "run again"])
def test_cut_at_any_commit_leaves_one_valid_store(first: str, *, goes_on: bool) -> None:
    """Moves, throttles and a deletion that were under way end on it."""
    for at in itertools.count(1):
        names, host = urls(first), Brokers()
        source, target = (Site(lambda url=url: open_store(url), host) for url in names)  # type: ignore[misc]
        make_busy(source)
        if not cut(source, target, at, LoseReply(), names):
            break
        one_is_valid(source, target, names, goes_on=goes_on)
    assert at > 7


def test_cluster_goes_from_zookeeper_to_etcd_and_back() -> None:
    """The third store is another root of the first server."""
    host = Brokers()
    places = [*urls("zookeeper"), urls("zookeeper")[0]]
    sites = [Site(lambda url=url: open_store(url), host) for url in places]  # type: ignore[misc]
    make_busy(sites[0])
    epochs = [sites[0].leader_epochs()]
    for source, target, names in zip(sites, sites[1:], itertools.pairwise(places), strict=False):
        move(source, target, names)
        epochs.append(target.leader_epochs())
    assert epochs[2] == {key: epoch + 2 for key, epoch in epochs[0].items()}
    one_is_valid(sites[1], sites[2], (places[1], places[2]), goes_on=False)
