"""Real servers of metadata stores on this machine, for tests and for a first try. Not for production.

    with LocalZooKeeper() as server:
        store = open_store(server.url("/kedge"))

A server listens on a free loopback port. Its data is in a folder of its own, which is removed at the end unless the
caller gave one. It can be stopped, killed, paused and started again with its data. An ensemble has three servers, of
which each may fail, or be cut off from the others. `NoServer` names what a server needs and is missing: a Java, the
network, room on the disk.

In containers: `servers.containers`. As fixtures of pytest: `servers.fixtures`. For a first try:
`python -m servers etcd`. Names are imported lazily, since modules here are commands as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from servers.ensembles import Ensemble, EtcdEnsemble, ZooKeeperEnsemble
    from servers.etcd import LocalEtcd
    from servers.process import NoServer, ServerProcess, free_port, free_ports
    from servers.proxy import Proxy
    from servers.server import LocalServer
    from servers.zookeeper import LocalZooKeeper

_HOMES: Final = {
    "Ensemble": "ensembles",
    "EtcdEnsemble": "ensembles",
    "LocalEtcd": "etcd",
    "LocalServer": "server",
    "LocalZooKeeper": "zookeeper",
    "NoServer": "process",
    "Proxy": "proxy",
    "ServerProcess": "process",
    "ZooKeeperEnsemble": "ensembles",
    "free_port": "process",
    "free_ports": "process",
}

__all__ = [
    "Ensemble",
    "EtcdEnsemble",
    "LocalEtcd",
    "LocalServer",
    "LocalZooKeeper",
    "NoServer",
    "Proxy",
    "ServerProcess",
    "ZooKeeperEnsemble",
    "free_port",
    "free_ports",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
