"""Linearizability on real servers for as long as one likes: `python -m tests.verify linearize --store etcd`.

In: a store's kind and a time. Out: a line of JSON per place, with how many histories were explained and what broke.

The cases are those of `kedge.stores.suite` (group `linearizability`): four clients, 1,200 operations on five registers,
while answers get lost, clients are cut off, and servers are paused, killed and cut off. Places: one server; three nodes
whose leader is killed; three nodes whose leader is cut off from all others. Each round has registers and
connections of its own; which operations meet is left to the threads. A history that no order explains ends the run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any, Final

from kedge.stores.suite import CASES, Backend
from kedge.stores.suite.checker import Unanswered, Undecided
from servers import EtcdEnsemble, LocalEtcd, LocalZooKeeper, NoServer, ZooKeeperEnsemble
from tests.conformance.ensembles import EnsembleBackend
from tests.conformance.etcd_bindings import EtcdBackend
from tests.conformance.zookeeper import ZooKeeperBackend

SWITCH_S: Final = 0.00005  # so that threads run into each other
ON: Final[dict[str, tuple[Callable[[], Any], Callable[..., Backend], Callable[..., Any]]]] = {
    "zookeeper": (LocalZooKeeper, ZooKeeperBackend, ZooKeeperEnsemble),
    "etcd": (LocalEtcd, EtcdBackend, EtcdEnsemble),
}


class CutBackend(EnsembleBackend):
    """A leader is not killed, but cut off from other nodes and from all clients, until there is another one."""

    def restart(self) -> None:
        """Returns once it is connected again."""
        cut = self._ensemble.leader()
        self._ensemble.cut(cut)
        self._ensemble.leader()
        self._ensemble.mend(cut)


def add_to(commands: Any) -> None:
    """The command of `python -m tests.verify`."""
    found = commands.add_parser("linearize", help="histories of clients on real servers that fail", allow_abbrev=False)
    found.add_argument("--store", choices=sorted(ON), required=True, help="one server, and three nodes")
    found.add_argument("--minutes", type=float, default=30.0, help="how long (default %(default)g)")


def run(options: argparse.Namespace) -> int:
    """0 if every history was explained."""
    server, single, ensemble = ON[options.store]
    with ExitStack() as stack:
        one, three = stack.enter_context(server()), stack.enter_context(ensemble())
        places: dict[str, Callable[[], Backend]] = {
            "one server": lambda: single(one),
            "three nodes, killed": lambda: EnsembleBackend(three),
        }
        try:
            apart = stack.enter_context(ensemble(network=True))
            places["three nodes, cut off"] = lambda: CutBackend(apart)
        except NoServer as error:
            sys.stderr.write(f"nodes are not cut off: {error}\n")
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_S)
        return _until_over(places, f"{options.store} {one.version}", options.minutes * 60)


def _until_over(places: Mapping[str, Callable[[], Backend]], store: str, seconds: float) -> int:
    counts: dict[str, Counter[str]] = {name: Counter() for name in places}
    broken, end_s = "", time.monotonic() + seconds
    while not broken and (left_s := end_s - time.monotonic()) > 0:
        sys.stderr.write(f"a round begins, {left_s:.0f} s are left\n")
        for name, make in places.items():
            broken = broken or _round(make, counts[name])
    for name, counted in counts.items():
        _say({"store": store, "place": name, **counted})
    if broken:
        _say({"store": store, "broken": broken})
    return 1 if broken else 0


def _round(make: Callable[[], Backend], counted: Counter[str]) -> str:
    """Every case that the place has means for; what broke."""
    for case in CASES:
        with closing(make()) as backend:
            if case.group != "linearizability" or case.lacks(backend):
                continue
            try:
                case.run(backend)
                counted[case.run.__name__] += 1
            except Undecided:
                counted["undecided"] += 1
            except Unanswered:  # a busy machine, or nodes that are not together again: nothing that no order explains
                counted["unanswered"] += 1
            except AssertionError as error:
                return f"{case.run.__name__}: {error}"
    return ""


def _say(row: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()
