"""A real Kafka cluster for tests: three brokers with racks a, b, c and one controller (KRaft), a process each.

The fixture `kafka_cluster` is one for the whole session, started when the first test asks for it; tests take topics of
their own. Three listeners a broker: PLAINTEXT (no login, every client may do everything), SASL (PLAIN and
SCRAM; users of USERS), TLS (a certificate of `ca`). Where it cannot be had, the tests that ask for it fail with what is
missing.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from servers import NoServer
from servers.process import ServerProcess, free_ports, tool
from tests.kafka_jars import VERSION, java, kafka_classpath

BROKERS: Final = (1, 2, 3)
RACKS: Final = {1: "a", 2: "b", 3: "c"}
USERS: Final = {"admin": "admin-secret", "limited": "limited-secret"}
"""Passwords; admin may do everything, limited what tests grant."""
_CONFIG: Final = "server.properties"
_CONTROLLER: Final = 10
_START_S: Final = 120.0
_TOOL_S: Final = 120.0
SMALL_JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_PASSWORD: Final = "changeit"  # noqa: S105 - of a key that lives as long as the test
_LOG4J: Final = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
"""


class KafkaCluster:
    """Made and stopped by the fixture."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.cluster_id: Final = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        ports = free_ports(3 * len(BROKERS) + 1)
        self._controller_port = ports[-1]
        self._ports = {
            b: dict(zip(("PLAINTEXT", "SASL", "TLS"), ports[3 * i :], strict=False)) for i, b in enumerate(BROKERS)
        }
        self.ca: Final = folder / "ca.pem"
        self._processes: dict[int, ServerProcess] = {}

    @property
    def servers(self) -> str:
        """HOST:PORT of every broker, for clients that say nothing of themselves."""
        return self.listener("PLAINTEXT")

    def listener(self, name: str) -> str:
        """HOST:PORT of every broker on that listener: PLAINTEXT, SASL or TLS."""
        return ",".join(f"127.0.0.1:{self._ports[broker][name]}" for broker in BROKERS)

    def log_dirs(self, broker: int) -> tuple[Path, Path]:
        """The two directories in which a broker keeps its replicas."""
        return (self.folder / f"broker-{broker}" / "one", self.folder / f"broker-{broker}" / "two")

    def start(self) -> None:
        """All run and answer. Raises NoServer; then nothing runs."""
        self._make_key()
        for node in (_CONTROLLER, *BROKERS):
            self._prepare(node)
        try:
            for process in self._processes.values():
                process.launch()
            for process in self._processes.values():
                process.await_answer(_START_S)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """All are ended, as by a power cut: nothing of them is looked at afterwards."""
        for process in self._processes.values():
            process.kill()

    def kill(self, broker: int) -> None:
        """That broker is dead, and its data stay."""
        self._processes[broker].kill()

    def revive(self, broker: int) -> None:
        """That broker answers again."""
        self._processes[broker].start(_START_S)

    def log_tail(self) -> str:
        """The ends of what all printed."""
        return "\n".join(process.log_tail()[-1500:] for process in self._processes.values())

    def _prepare(self, node: int) -> None:
        folder = self.folder / (f"broker-{node}" if node != _CONTROLLER else "controller")
        folder.mkdir()
        port = self._controller_port if node == _CONTROLLER else self._ports[node]["PLAINTEXT"]
        self._processes[node] = kafka_node(f"Kafka's node {node}", folder, self._settings(node, folder), port)
        if node == _CONTROLLER:
            users = [f"SCRAM-SHA-256=[name={user},password={password}]" for user, password in USERS.items()]
            scram = [word for user in users for word in ("--add-scram", user)]
            command = ["format", f"--cluster-id={self.cluster_id}", "-c", str(folder / _CONFIG), *scram]
            tool([*_kafka(folder), "kafka.tools.StorageTool", *command], "the folder of Kafka's controller", _TOOL_S)
        else:
            for path in self.log_dirs(node):
                path.mkdir()
                directory = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
                lines = ("version=1", f"node.id={node}", f"cluster.id={self.cluster_id}", f"directory.id={directory}")
                (path / "meta.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _settings(self, node: int, folder: Path) -> dict[str, str]:
        common = {
            "node.id": str(node),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"{_CONTROLLER}@127.0.0.1:{self._controller_port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
            "offsets.topic.replication.factor": "1",
        }
        if node == _CONTROLLER:
            listener = f"CONTROLLER://127.0.0.1:{self._controller_port}"
            return {**common, "process.roles": "controller", "listeners": listener, "log.dirs": str(folder / "data")}
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self._ports[node].items())
        return {
            **common,
            "process.roles": "broker",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
            "broker.rack": RACKS[node],
            "log.dirs": ",".join(map(str, self.log_dirs(node))),
            "num.network.threads": "1",
            "num.io.threads": "2",
            "replica.fetch.max.bytes": "65536",  # a throttled follower takes one of these, then it waits
            "log.segment.bytes": "100000000",  # a default of topics that is not Kafka's own
            "auto.create.topics.enable": "false",
            "broker.heartbeat.interval.ms": "500",
            "broker.session.timeout.ms": "6000",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.sasl.plain.sasl.jaas.config": _plain_users(),
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "ssl.keystore.location": str(self.folder / "key.p12"),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": _PASSWORD,
            "ssl.key.password": _PASSWORD,
        }

    def _make_key(self) -> None:
        keytool = Path(java()).resolve().parent / "keytool"
        store = ["-keystore", str(self.folder / "key.p12"), "-storepass", _PASSWORD, "-alias", "kafka"]
        name = ["-dname", "CN=localhost", "-ext", "SAN=IP:127.0.0.1", "-ext", "BC=ca:true"]
        made = ["-genkeypair", "-keyalg", "EC", "-validity", "30", "-storetype", "PKCS12", *name, *store]
        tool([str(keytool), *made], "a key for Kafka's TLS", _TOOL_S)
        tool([str(keytool), "-exportcert", "-rfc", "-file", str(self.ca), *store], "a certificate", _TOOL_S)


def kafka_node(
    name: str,
    folder: Path,
    settings: Mapping[str, str],
    port: int,
    version: str = VERSION,
    *,
    jvm: Sequence[str] = SMALL_JVM,
) -> ServerProcess:
    """A node that does not run yet, and its settings in `folder`; it answers on that port. `jvm`: options of java."""
    (folder / _CONFIG).write_text("".join(f"{k}={v}\n" for k, v in settings.items()), encoding="utf-8")
    (folder / "log4j.properties").write_text(_LOG4J, encoding="utf-8")
    command = [*_kafka(folder, version, jvm), "kafka.Kafka", str(folder / _CONFIG)]
    return ServerProcess(name, command, lambda: _accepts(port), folder / "server.log")


def _kafka(folder: Path, version: str = VERSION, jvm: Sequence[str] = SMALL_JVM) -> list[str]:
    log4j = f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}"
    return [java(), *jvm, log4j, "-cp", kafka_classpath(version)]


def _plain_users() -> str:
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture(scope="session")
def kafka_cluster() -> Iterator[KafkaCluster]:
    """A Kafka cluster that runs, for all tests of the session."""
    folder = Path(tempfile.mkdtemp(prefix="kedge-kafka-"))
    cluster = KafkaCluster(folder)
    try:
        cluster.start()
        yield cluster
    except NoServer as error:
        raise NoServer(f"{error}\n{cluster.log_tail()}") from error
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
