"""A cluster of simulated brokers on a ZooKeeper of its own, under Kafka's controller or `kedge kafka-controller`.

The brokers are one Java program (benchmarks/java/SimulatedBrokers.java): they speak Kafka's protocol, hold no data and
answer at once. So what a controller is measured with is not a host in its own process, and the same for each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import attrs

from benchmarks.cluster import plant_topics
from benchmarks.content import REPLICATION_FACTOR, Made
from benchmarks.peers.kafka_brokers import CALL_S, JVM, WAIT_S, until
from kedge.stores import MetadataStore, open_store
from kedge.stores.base import PRESENT, Delete
from kedge.stores.recipes import LEADER_KEY
from servers import LocalZooKeeper, NoServer
from servers.process import ServerProcess, free_ports
from tests.kafka_jars import java, kafka_classpath
from tests.kafka_servers import kafka_node

BROKERS: Final = range(1, 11)
KEDGE_IDS: Final = (101, 102)
KAFKA_ID: Final = 900  # and above, for nodes without replicas; Kafka refuses ids above 1000 by default
SESSION_S: Final = 18  # Kafka's default
KAFKA_JVM: Final = ("-Xmx2g", "-Xms2g", *(option for option in JVM if not option.startswith("-Xm")))
BROKERS_JVM: Final = "-Xmx3g"  # all ten parse the metadata of the cluster at the same time
PROGRAM: Final = Path(__file__).parents[1] / "java" / "SimulatedBrokers.java"

Ask: TypeAlias = Callable[[str], dict[str, Any]]
"""The answer of the simulated brokers to a command."""
Nodes: TypeAlias = Mapping[int, tuple[ServerProcess, str]]
"""Processes that can be the controller, by node id, with their addresses."""


@attrs.frozen
class Cluster:
    """What runs in one round under one kind of controller."""

    store: MetadataStore
    ask: Ask
    nodes: Nodes
    is_kedge: bool

    def active(self) -> tuple[ServerProcess, str]:
        """The controller that leads, and its address."""
        entry = self.store.get(LEADER_KEY, timeout_s=CALL_S)
        if entry is None:
            raise RuntimeError("no controller leads")
        return self.nodes[json.loads(entry.value)["brokerid"]]

    def give_up(self) -> None:
        """The active controller no longer leads. Kafka's must have handled the event of its own election before:
        otherwise it resigns and waits for another one."""
        if self.is_kedge:
            self.active()[0].stop()
        else:
            self.store.commit([Delete(LEADER_KEY, PRESENT)], timeout_s=CALL_S)


@contextmanager
def running(made: Sequence[Made], who: str, kafka_nodes: int) -> Iterator[Cluster]:
    """A ZooKeeper with these topics, the brokers, and a controller that has sent everything to them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="kedge-peers-")))
        zookeeper = stack.enter_context(LocalZooKeeper(tick_ms=2000, heap_mb=1024))
        chroot = f"{zookeeper.address}/{who}"
        url = f"zookeeper://{chroot}?session_timeout={SESSION_S}"
        store = stack.enter_context(closing(open_store(url)))
        plant_topics(store, made)
        ask = stack.enter_context(simulated(chroot, folder / "brokers.log"))
        nodes = kedge_nodes(url, folder) if who == "kedge" else nodes_of_kafka(chroot, folder, kafka_nodes)
        for process, _ in nodes.values():
            stack.callback(process.kill)
        try:
            for process, _ in nodes.values():
                process.start(WAIT_S)
            taken_over(ask, sum(len(each.partitions) for each in made), 0)
            yield Cluster(store, ask, nodes, who == "kedge")
        except BaseException as error:
            error.add_note("\n".join(process.log_tail() for process, _ in nodes.values()))
            raise


@contextmanager
def simulated(chroot: str, log: Path) -> Iterator[Ask]:
    """The brokers are registered."""
    command = [java(), BROKERS_JVM, "-cp", kafka_classpath(), str(PROGRAM), chroot, *map(str, BROKERS)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):

        def said() -> dict[str, Any]:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line:
                raise NoServer(f"the simulated brokers ended: {log.read_text(errors='replace')[-2000:]}")
            answer: dict[str, Any] = json.loads(line)
            return answer

        def ask(command: str) -> dict[str, Any]:
            print(command, file=process.stdin, flush=True)
            return said()

        said()
        yield ask


def kedge_nodes(url: str, folder: Path) -> Nodes:
    """Two processes, which do not run yet."""
    nodes = {}
    for node_id, port in zip(KEDGE_IDS, free_ports(len(KEDGE_IDS)), strict=True):
        address, log = f"127.0.0.1:{port}", folder / f"kedge-{node_id}.log"
        command = [sys.executable, "-m", "kedge", "kafka-controller", "--store", url, "--node-id", str(node_id)]
        ready = partial(_says, log, b"running")
        nodes[node_id] = (ServerProcess(f"kedge {node_id}", [*command, "--listen", address], ready, log), address)
    return nodes


def _says(log: Path, what: bytes) -> bool:
    return what in log.read_bytes()


def nodes_of_kafka(chroot: str, folder: Path, count: int) -> Nodes:
    """Brokers without replicas, which do not run yet."""
    nodes = {}
    for node_id, port in enumerate(free_ports(count), KAFKA_ID):
        own, address = folder / f"kafka-{node_id}", f"127.0.0.1:{port}"
        own.mkdir()
        settings = {
            "broker.id": str(node_id),
            "zookeeper.connect": chroot,
            "inter.broker.protocol.version": "3.9",
            "listeners": f"PLAINTEXT://{address}",
            "log.dirs": str(own / "logs"),
            "auto.create.topics.enable": "false",
            "auto.leader.rebalance.enable": "false",  # would move leaders while the others are measured
        }
        nodes[node_id] = (kafka_node(f"kafka {node_id}", own, settings, port, jvm=KAFKA_JVM), address)
    return nodes


def taken_over(ask: Ask, partitions: int, epoch: int) -> dict[str, Any]:
    """What the brokers have, once a controller of a later epoch has sent everything to them."""
    found: dict[str, Any] = {}

    def have_all() -> bool:
        found.update(ask("stats"))
        is_whole = (found["states"], found["metadata"]) == (REPLICATION_FACTOR * partitions, len(BROKERS) * partitions)
        return found["epoch"] > epoch and is_whole

    until(have_all)
    return found
