"""The real stores that these tests run on: a server of a test's own each, which it may stop, kill and pause."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import attrs
from kazoo.client import KazooClient

from servers import LocalServer, LocalZooKeeper
from servers.etcd import LocalEtcd
from tests.real.etcd_log import EtcdLog
from tests.real.writes import Transaction
from tests.real.zookeeper_log import ZooKeeperLog

ROOT: Final = "/kedge-real"
NAMES: Final = ("zookeeper", "etcd")


class Log(Protocol):
    """What the server wrote down."""

    def new(self) -> list[Transaction]: ...


@attrs.frozen
class Witnessed:
    """A store, and what was written to it."""

    name: str
    place: str
    log: Log

    def url(self, session_s: float) -> str:
        """Whole seconds: what both take."""
        return url(self.place, session_s)


@attrs.frozen
class Served(Witnessed):
    """A server, and what it wrote down below ROOT."""

    server: LocalServer
    put: Callable[[str, bytes], None]
    """Another client makes a key below ROOT hold a value, whatever stood there, past all that `stores` would refuse."""


def url(place: str, session_s: float) -> str:
    """The url of a place, for a session of so many seconds."""
    return f"{place}?session_timeout={session_s:.0f}&connect_timeout=20"


@contextlib.contextmanager
def serve(name: str) -> Iterator[Served]:
    """A fresh server of that name."""
    if name == "zookeeper":
        with LocalZooKeeper(settings={"forceSync": "no"}) as zookeeper:
            place, log = f"zookeeper://{zookeeper.address}{ROOT}", ZooKeeperLog(ROOT, zookeeper.folder)
            yield Served(name, place, log, zookeeper, lambda key, value: _put(zookeeper, key, value))
    else:
        with LocalEtcd(durable=False) as etcd:

            def put(key: str, value: bytes) -> None:
                etcd.ask("kv/put", {"key": _base64(f"{ROOT}{key}".encode()), "value": _base64(value)})

            yield Served(name, etcd.url(ROOT), EtcdLog(ROOT, etcd), etcd, put)


def _put(zookeeper: LocalZooKeeper, key: str, value: bytes) -> None:
    with kazoo(zookeeper.address) as client:
        if client.exists(ROOT + key):
            client.set(ROOT + key, value)
        else:
            client.create(ROOT + key, value, makepath=True)


@contextlib.contextmanager
def kazoo(address: str) -> Iterator[KazooClient]:
    """Kazoo as it is, at the root of the server at `address`."""
    client = KazooClient(hosts=address)
    client.start(timeout=10)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
