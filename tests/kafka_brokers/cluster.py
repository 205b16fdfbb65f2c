"""Stock Kafka brokers on a ZooKeeper of their own, and controllers of Kedge, a process each."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from kedge.stores import MetadataStore, open_store
from servers import LocalZooKeeper
from servers.process import ServerProcess, free_ports
from tests.kafka_servers import SMALL_JVM, kafka_node

WAIT_S: Final = 90.0
BROKERS: Final = (1, 2, 3)
CONTROLLERS: Final = (101, 102)
_INTERNAL: Final = ("--offsets-partitions", "5", "--transactions-partitions", "5")


class FollowingCluster:
    """Brokers run from the start; controllers do when `start_controller` says so. `ibp`: the brokers'
    inter.broker.protocol.version. `settings`: of every broker. `jvm`: its options of java."""

    def __init__(
        self,
        zookeeper: LocalZooKeeper,
        ibp: str = "3.9",
        settings: Mapping[str, str] | None = None,
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        self._jvm = jvm
        self.zookeeper: Final = zookeeper
        self.folder: Final = Path(tempfile.mkdtemp(prefix="kedge-following-"))
        self.chroot: Final = f"{zookeeper.address}/{self.folder.name}"
        self._settings = {"inter.broker.protocol.version": ibp, **(settings or {})}
        ports = free_ports(len(BROKERS) + len(CONTROLLERS))
        self.broker_ports: Final = dict(zip(BROKERS, ports, strict=False))
        self.controller_ports: Final = dict(zip(CONTROLLERS, ports[len(BROKERS) :], strict=True))
        self.brokers: Final = {b: self._broker(b) for b in BROKERS}
        self.controllers: Final[dict[int, ServerProcess]] = {}

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.broker_ports.values())

    def gateway(self, controller: int) -> str:
        return f"127.0.0.1:{self.controller_ports[controller]}"

    def store(self) -> MetadataStore:
        """A client of the metadata store, to be closed by the caller."""
        return open_store(f"zookeeper://{self.chroot}")

    def _broker(self, broker: int) -> ServerProcess:
        folder = self.folder / f"broker-{broker}"
        folder.mkdir()
        port = self.broker_ports[broker]
        settings = {
            "broker.id": str(broker),
            "broker.rack": "abc"[broker - 1],
            "zookeeper.connect": self.chroot,
            "zookeeper.session.timeout.ms": "4000",
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": f"{folder / 'one'},{folder / 'two'}",
            "num.network.threads": "1",
            "num.io.threads": "2",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.num.partitions": "5",
            "group.initial.rebalance.delay.ms": "0",
            "log.flush.interval.messages": "1",
            **self._settings,
        }
        return kafka_node(f"broker {broker}", folder, settings, port, jvm=self._jvm)

    # --- life

    def start_controller(self, controller: int = 101, *options: str) -> None:
        """It runs and answers at its gateway."""
        command = [
            sys.executable,
            "-m",
            "kedge",
            "kafka-controller",
            "--store",
            f"zookeeper://{self.chroot}?session_timeout=4",
        ]
        command += ["--node-id", str(controller), "--listen", self.gateway(controller), *_INTERNAL, *options]
        command += ["--journal", str(self.folder / f"journal-{controller}")]
        log = self.folder / f"controller-{controller}.log"
        process = ServerProcess(f"controller {controller}", command, lambda: b"running" in log.read_bytes(), log)
        self.controllers[controller] = process
        process.start(WAIT_S)

    def start_brokers(self) -> None:
        for process in self.brokers.values():
            process.launch()
        for process in self.brokers.values():
            process.await_answer(WAIT_S)

    def begin(self, store: MetadataStore, controllers: Sequence[int] = CONTROLLERS, *options: str) -> None:
        """Controllers and brokers run, and the internal topics are there."""
        for controller in controllers:
            self.start_controller(controller, *options)
        self.start_brokers()
        until("the internal topics are there", lambda: self.has_internal(store))

    def has_internal(self, store: MetadataStore) -> bool:
        names = ("__consumer_offsets", "__transaction_state")
        topics = [self.read(store, f"/brokers/topics/{name}") for name in names]
        return all(topics) and all(len(self.states(store, name)) == 5 for name in names)

    def revive(self, *brokers: int) -> None:
        """These brokers run again. Kafka does not start while the registration of its former process is there."""
        with contextlib.closing(self.store()) as store:
            keys = [f"/brokers/ids/{broker}" for broker in brokers]
            until("their former sessions are over", lambda: not any(store.get_many(keys, timeout_s=WAIT_S)))
        for broker in brokers:
            self.brokers[broker].launch()
        for broker in brokers:
            self.brokers[broker].await_answer(WAIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.controllers.values(), *self.brokers.values()):
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what the store says

    def read(self, store: MetadataStore, key: str) -> Any:
        entry = store.get(key, sync=True, timeout_s=WAIT_S)
        return None if entry is None else json.loads(entry.value)

    def states(self, store: MetadataStore, topic: str) -> list[dict[str, Any]]:
        """The state of every partition of a topic, by partition id."""
        count = len(self.read(store, f"/brokers/topics/{topic}")["partitions"])
        paths = [f"/brokers/topics/{topic}/partitions/{p}/state" for p in range(count)]
        return [json.loads(entry.value) for entry in store.get_many(paths, timeout_s=WAIT_S) if entry is not None]

    def log_tail(self) -> str:
        """The ends of what all printed."""
        return "\n".join(p.log_tail()[-2500:] for p in (*self.controllers.values(), *self.brokers.values()))


def until(what: str, holds: Callable[[], object], timeout_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.05)


@contextlib.contextmanager
def following(zookeeper: LocalZooKeeper, **options: Any) -> Iterator[FollowingCluster]:
    """A cluster whose logs are printed where the block fails."""
    with FollowingCluster(zookeeper, **options) as cluster:
        try:
            yield cluster
        except BaseException as error:
            error.add_note(cluster.log_tail())
            raise
