"""A distributed worker of Kafka Connect with `exactly.once.source.support=enabled`, unmodified, at `kedge serve`."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import kafka
import pytest

from kedge.testing import Server
from servers import free_port
from tests import kafka_jars
from tests.clients.test_streams_and_connect import DEADLINE_S, program
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.full]

DISTRIBUTED: Final = "org.apache.kafka.connect.cli.ConnectDistributed"
BATCH: Final = 128
"""The task reads 1024 characters at a time, and keeps what is beyond a batch until the file has grown."""
LINES: Final = [f"{number:07}" for number in range(100 * BATCH)]
# A worker that was killed comes back as another member, which gets the tasks when the session of the first has ended.
SETTINGS: Final = {
    "group.id": "workers",
    "exactly.once.source.support": "enabled",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
    **{f"{what}.storage.topic": f"connect-{what}" for what in ("config", "offset", "status")},
}
CONNECTOR: Final = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "exactly.once.support": "required",
    "topic": "lines",
    "batch.size": str(BATCH),
    "producer.override.transaction.timeout.ms": "10000",  # a worker starts only when no offset belongs to a transaction
}


class Worker:
    """`start` in a `with` block is a process that listens on `port`."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._port = free_port()
        self._file = folder / "worker.properties"
        where = {"bootstrap.servers": server.bootstrap_servers, "listeners": f"http://127.0.0.1:{self._port}"}
        self._file.write_text("".join(f"{name}={value}\n" for name, value in (SETTINGS | where).items()))

    def start(self) -> Any:
        return program(kafka_jars.CONNECT, DISTRIBUTED, str(self._file))

    def ask(self, method: str, path: str, body: object = None) -> None:
        """Until the worker has done it: it may have to start, or to wait for a rebalance."""

        def is_done() -> bool:
            with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE_S)) as connection:
                try:
                    headers = {"Content-Type": "application/json"}
                    connection.request(method, f"/connectors/lines{path}", json.dumps(body), headers)
                    return connection.getresponse().status < http.HTTPStatus.MULTIPLE_CHOICES
                except OSError:
                    return False

        until(is_done, f"{method} {path}", timeout_s=DEADLINE_S)


class Read:
    """What a read_committed reader got, in order."""

    def __init__(self, server: Server) -> None:
        self.lines: list[str] = []
        options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        self._consumer = kafka.KafkaConsumer("lines", bootstrap_servers=server.bootstrap_servers, **options)

    def has(self, count: int) -> bool:
        for records in self._consumer.poll(100).values():
            self.lines += [record.value.decode() for record in records]
        return len(self.lines) >= count

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as opened:
        opened.create_topic("lines")
        yield opened


@pytest.fixture
def read(server: Server) -> Iterator[Read]:
    with closing(Read(server)) as opened:
        yield opened


def test_source_writes_each_line_once_over_a_kill(server: Server, read: Read, tmp_path: Path) -> None:
    """The worker is killed between two transactions or in one, and the next one continues with the line after the last
    that was committed."""
    source, worker = tmp_path / "lines.txt", Worker(server, tmp_path)
    source.write_text("".join(f"{line}\n" for line in LINES))
    with worker.start() as killed:
        worker.ask("PUT", "/config", CONNECTOR | {"file": str(source)})
        until(lambda: read.has(10 * BATCH), timeout_s=DEADLINE_S)
        killed.kill()
    with source.open("a") as more:
        more.write("last\n")
    with worker.start():
        until(lambda: read.has(len(LINES) + 1), timeout_s=DEADLINE_S)
    assert read.lines == [*LINES, "last"]


def test_reset_of_source_offsets_fences_its_tasks(server: Server, read: Read, tmp_path: Path) -> None:
    """The worker fences the producers of the stopped tasks by its admin client before it writes other offsets."""
    source, worker = tmp_path / "lines.txt", Worker(server, tmp_path)
    source.write_text("one\ntwo\n")
    with worker.start():
        worker.ask("PUT", "/config", CONNECTOR | {"file": str(source)})
        until(lambda: read.has(2), timeout_s=DEADLINE_S)
        worker.ask("PUT", "/stop")
        worker.ask("DELETE", "/offsets")
        worker.ask("PUT", "/resume")
        until(lambda: read.has(4), timeout_s=DEADLINE_S)
    assert read.lines == ["one", "two"] * 2
    assert "connector-worker-adminclient-lines" in server.requests("InitProducerId").by_client
