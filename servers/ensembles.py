"""Three servers as one store, of which one may fail.

    with ZooKeeperEnsemble() as ensemble:
        store = open_store(ensemble.url("/kedge"))
        ensemble.leader().kill()

Rules
* All nodes are launched before any answer is awaited, since none answers before a majority runs.
* By default they listen on loopback ports. With `network=True` each has a network namespace of its own, and can be cut
  off from the others and from clients (see network.py; it needs root).
* `leader` takes the word of each node: a node that is paused or cut off may still take itself for the leader.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from servers.etcd import LocalEtcd, etcd_binary, etcd_version, spares_disk
from servers.folders import RunFolder
from servers.network import Network
from servers.process import START_S, free_ports, wait_until
from servers.server import LOOPBACK, LocalServer, Place, Running
from servers.zookeeper import LocalZooKeeper

_Node = TypeVar("_Node", bound=LocalServer)
Ports: TypeAlias = tuple[int, int, int]


NODES: Final = 3
_HEAP_MB: Final = 128


class Ensemble(Running, Generic[_Node]):
    """Three servers as one store, with a folder for their data that `close` removes. `durable=False`: as for
    LocalEtcd."""

    usual_ports: ClassVar[Ports]
    """Of a node: for clients, for other nodes, and one more."""

    def __init__(self, *, network: bool = False, durable: bool = True) -> None:
        self.durable: Final = durable
        self._network: Final = Network(NODES) if network else None
        self._own: Final = RunFolder("ensemble", in_memory=self._in_memory())
        self.folder: Final = self._own.path
        places = self._network.places if self._network else (LOOPBACK,) * NODES
        # nodes in one network need different ports
        self.ports: Final = (self.usual_ports,) * NODES if self._network else _free()
        try:
            self.nodes: Final[tuple[_Node, ...]] = self._make(places)
        except BaseException:
            self._clear()
            raise

    def _in_memory(self) -> bool:
        """Whether a temporary folder should be in memory."""
        return False

    @abc.abstractmethod
    def _make(self, places: Sequence[Place]) -> tuple[_Node, ...]: ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """HOST:PORT of each node, for clients."""
        return tuple(node.address for node in self.nodes)

    @property
    def version(self) -> str:
        return self.nodes[0].version

    def start(self, timeout_s: float = START_S) -> None:
        """Start the nodes that do not run. Returns once every node answers. Raises NoServer."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.await_answer(timeout_s)

    def stop(self) -> None:
        """Stop every node in order, all at the same time; their data is kept. Idempotent."""
        self._each(lambda node: node.stop())

    def leader(self, timeout_s: float = START_S) -> _Node:
        """The current leader. Waits for an election; raises NoServer if there is none within `timeout_s`."""
        found: list[_Node] = []

        def looked() -> bool:
            found[:] = [node for node in self.nodes if node.running and node.leads()]
            return len(found) == 1

        wait_until("one node leads", looked, timeout_s, lambda: "\n".join(node.log_tail() for node in self.nodes))
        return found[0]

    def cut(self, node: _Node) -> None:
        """Cut the node off from other nodes and every client: connections stay open and nothing passes."""
        self._cable().cut(self.nodes.index(node))

    def mend(self, node: _Node) -> None:
        self._cable().mend(self.nodes.index(node))

    def close(self) -> None:
        """End every node, and remove the network and the folder. Idempotent."""
        self._each(lambda node: node.kill())
        self._clear()

    def _cable(self) -> Network:
        if self._network is None:
            kind = type(self).__name__
            raise ValueError(f"nodes on the loopback interface cannot be cut off: use {kind}(network=True)")
        return self._network

    def _each(self, does: Callable[[_Node], None]) -> None:
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(does, self.nodes))

    def _clear(self) -> None:
        self._own.close()
        if self._network is not None:
            self._network.close()


class ZooKeeperEnsemble(Ensemble[LocalZooKeeper]):
    """ZooKeeper nodes. A leader without contact to a majority steps down after 15 ticks of 200 ms."""

    scheme = "zookeeper"
    usual_ports = (2181, 2888, 3888)

    def _make(self, places: Sequence[Place]) -> tuple[LocalZooKeeper, ...]:
        settings = {"initLimit": "100", "syncLimit": "15", "cnxTimeout": "1000"}
        if not self.durable:
            settings["forceSync"] = "no"
        listed = enumerate(zip(places, self.ports, strict=True), 1)
        settings |= {f"server.{number}": f"{place.host}:{peer}:{vote}" for number, (place, (_, peer, vote)) in listed}
        return tuple(
            self._node(number, place, client, settings)
            for number, (place, (client, _, _)) in enumerate(zip(places, self.ports, strict=True), 1)
        )

    def _node(self, number: int, place: Place, port: int, settings: dict[str, str]) -> LocalZooKeeper:
        folder = self.folder / f"node-{number}"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "myid").write_text(f"{number}\n", encoding="utf-8")
        return LocalZooKeeper(folder, settings=settings, heap_mb=_HEAP_MB, port=port, place=place)


class EtcdEnsemble(Ensemble[LocalEtcd]):
    """Members of one etcd cluster. `sound`: as for `etcd_binary`; unsound members that are killed under load may differ
    in their data for ever."""

    scheme = "etcd"
    usual_ports = (2379, 2380, 2381)

    def __init__(self, *, sound: bool | None = None, network: bool = False, durable: bool = True) -> None:
        self._sound = sound
        super().__init__(network=network, durable=durable)

    def revisions(self) -> list[int]:
        """The revision of each member by its own report: equal once every write has reached every member."""
        return [node.revision() for node in self.nodes]

    def _in_memory(self) -> bool:
        return not self.durable and not spares_disk(etcd_version(etcd_binary(sound=self._sound)))

    def _make(self, places: Sequence[Place]) -> tuple[LocalEtcd, ...]:
        listed = enumerate(zip(places, self.ports, strict=True), 1)
        cluster = ",".join(f"node-{number}=http://{place.host}:{peer}" for number, (place, (_, peer, _)) in listed)
        return tuple(
            LocalEtcd(
                self.folder / f"node-{number}",
                durable=self.durable,
                sound=self._sound,
                flags=[f"--name=node-{number}", f"--initial-cluster={cluster}"],
                ports=three,
                place=place,
            )
            for number, (place, three) in enumerate(zip(places, self.ports, strict=True), 1)
        )


def _free() -> tuple[Ports, ...]:
    free = iter(free_ports(3 * NODES))
    return tuple(zip(free, free, free, strict=True))
