"""Several servers that are one store: three by default, of which one may be lost.

    with ZooKeeperEnsemble() as ensemble:
        store = open_store(ensemble.url("/kedge"))
        ensemble.leader().kill()

Rules
* All nodes are launched before the answer of any is waited for: none answers before most of them run.
* By default they listen on loopback ports. With `network=True` each has a network namespace of its own, and can be cut
  off from the others and from clients (see network.py; it needs root).
* What a node is asked for `leader` it must answer itself: one that is paused or cut off may still think that it leads.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeAlias, TypedDict, TypeVar, Unpack

from servers.etcd import LocalEtcd, etcd_binary, etcd_version, spares_disk
from servers.folders import RunFolder
from servers.network import Network
from servers.process import START_S, free_ports, wait_until
from servers.server import LOOPBACK, LocalServer, Place, Running
from servers.zookeeper import LocalZooKeeper

_Node = TypeVar("_Node", bound=LocalServer)
Ports: TypeAlias = tuple[int, int, int]


class Shared(TypedDict, total=False):
    """What every kind of ensemble takes, see Ensemble."""

    network: bool
    folder: Path | None
    ports: Sequence[Ports] | None
    durable: bool


class Ensemble(Running, Generic[_Node]):
    """`nodes` servers as one store. `folder`: where their data go; without one, a folder that `close` removes. `ports`:
    three for each node, for clients, for the other nodes and one more; free ones, unless they are given.
    `durable=False`: as for LocalEtcd."""

    usual_ports: ClassVar[Ports]

    def __init__(
        self,
        nodes: int = 3,
        *,
        network: bool = False,
        folder: Path | None = None,
        ports: Sequence[Ports] | None = None,
        durable: bool = True,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"an ensemble has at least one node, asked for: {nodes}")
        self.durable: Final = durable
        self._network: Final = Network(nodes) if network else None
        self._own: RunFolder | None = None
        if folder is None:
            self._own = RunFolder("ensemble", in_memory=self._in_memory())
            folder = self._own.path
        self.folder: Final = folder
        places = self._network.places if self._network else (LOOPBACK,) * nodes
        if ports is None:  # each has a network of its own, or needs ports that nobody else has
            ports = [self.usual_ports] * nodes if self._network else _free(nodes)
        self.ports: Final = tuple(ports)
        try:
            self.nodes: Final[tuple[_Node, ...]] = self._make(places)
        except BaseException:
            self._clear()
            raise

    def _in_memory(self) -> bool:
        """Whether a folder of its own belongs into memory."""
        return False

    @abc.abstractmethod
    def _make(self, places: Sequence[Place]) -> tuple[_Node, ...]: ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """HOST:PORT of each node, for clients."""
        return tuple(node.address for node in self.nodes)

    @property
    def version(self) -> str:
        """Of the servers."""
        return self.nodes[0].version

    def start(self, timeout_s: float = START_S) -> None:
        """Run those that do not run, and return once every node answers. Raises NoServer."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.await_answer(timeout_s)

    def stop(self) -> None:
        """End every node in order, all at the same time; their data stay. Idempotent."""
        self._each(lambda node: node.stop())

    def leader(self, timeout_s: float = START_S) -> _Node:
        """The node that leads now. Waits for an election; raises NoServer if there is no leader in time."""
        found: list[_Node] = []

        def looked() -> bool:
            found[:] = [node for node in self.nodes if node.running and node.leads()]
            return len(found) == 1

        wait_until("one node leads", looked, timeout_s, lambda: "\n".join(node.log_tail() for node in self.nodes))
        return found[0]

    def cut(self, node: _Node) -> None:
        """Cut the node off from the others and from every client: connections stay and nothing passes."""
        self._cable().cut(self.nodes.index(node))

    def mend(self, node: _Node) -> None:
        """Let it be reached again."""
        self._cable().mend(self.nodes.index(node))

    def close(self) -> None:
        """Every node is ended; the folder, if it was made for them, and the network are gone. Idempotent."""
        self._each(lambda node: node.close() if self._own is None else node.kill())
        self._clear()

    def _cable(self) -> Network:
        if self._network is None:
            kind = type(self).__name__
            raise ValueError(f"nodes on the loopback interface cannot be cut off: {kind}(network=True) can")
        return self._network

    def _each(self, does: Callable[[_Node], None]) -> None:
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(does, self.nodes))

    def _clear(self) -> None:
        if self._own is not None:
            self._own.close()
        if self._network is not None:
            self._network.close()


class ZooKeeperEnsemble(Ensemble[LocalZooKeeper]):
    """Nodes of ZooKeeper. `tick_ms`: its unit of time; a leader that hears of too few nodes steps down after 15."""

    scheme = "zookeeper"
    usual_ports = (2181, 2888, 3888)

    def __init__(self, nodes: int = 3, *, tick_ms: int = 200, heap_mb: int = 128, **shared: Unpack[Shared]) -> None:
        self._tick_ms = tick_ms
        self._heap_mb = heap_mb
        super().__init__(nodes, **shared)

    def _make(self, places: Sequence[Place]) -> tuple[LocalZooKeeper, ...]:
        settings = {"initLimit": "100", "syncLimit": "15", "cnxTimeout": "1000"}
        if not self.durable:
            settings["forceSync"] = "no"
        if len(places) > 1:
            listed = enumerate(zip(places, self.ports, strict=True), 1)
            settings |= {
                f"server.{number}": f"{place.host}:{peer}:{vote}" for number, (place, (_, peer, vote)) in listed
            }
        return tuple(
            self._node(number, place, client, settings)
            for number, (place, (client, _, _)) in enumerate(zip(places, self.ports, strict=True), 1)
        )

    def _node(self, number: int, place: Place, port: int, settings: dict[str, str]) -> LocalZooKeeper:
        folder = self.folder / f"node-{number}"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "myid").write_text(f"{number}\n", encoding="utf-8")
        return LocalZooKeeper(
            folder, tick_ms=self._tick_ms, settings=settings, heap_mb=self._heap_mb, port=port, place=place
        )


class EtcdEnsemble(Ensemble[LocalEtcd]):
    """Members of one etcd cluster. `sound`: as for LocalEtcd; members that are not, and are killed under load, may hold
    different data for ever."""

    scheme = "etcd"
    usual_ports = (2379, 2380, 2381)

    def __init__(self, nodes: int = 3, *, sound: bool = False, **shared: Unpack[Shared]) -> None:
        self._sound = sound
        super().__init__(nodes, **shared)

    def revisions(self) -> list[int]:
        """Of each member, as it says itself: the same of all, once all that was written has come to all."""
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


def _free(nodes: int) -> list[Ports]:
    free = iter(free_ports(3 * nodes))
    return list(zip(free, free, free, strict=True))
