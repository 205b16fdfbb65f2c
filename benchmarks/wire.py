"""The gateway: metadata of 200,000 partitions, requests a second, 10,000 moves asked for by Kafka's Java client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any, Final

from kafka.protocol.metadata.api_versions import ApiVersionsRequest
from kafka.protocol.metadata.metadata import MetadataRequest

from benchmarks.cluster import QuietHost, ids, plant, register
from benchmarks.figures import figure, percentile, rate
from controller import Controller
from controller.wire import Gateway
from controller.wire.protocol import build
from stores import MemoryServer, MemoryStore
from tests.kafka_jars import java, kafka_classpath

TOPICS, PARTITIONS, BROKERS = 2_000, 100, 10
AT_ONCE, CONNECTIONS, REQUESTS, MOVES = 50, 100, 10_000, 10_000
HERE: Final = Path(__file__).parent


def run() -> None:
    server = MemoryServer()
    plant(MemoryStore(server), TOPICS, PARTITIONS, BROKERS)
    with Controller(MemoryStore(server), 1, QuietHost()) as controller:
        controller.start()
        register(controller, ids(BROKERS))
        while len(controller.describe().live_brokers) < BROKERS:
            sleep(0.01)
        with Gateway(controller, cluster_id="measured") as gateway:
            port = gateway.address.port
            _metadata(port)
            _requests(port)
            _moves(port)


def _metadata(port: int) -> None:
    everything = _frame(MetadataRequest, 12, topics=None)
    for connections in (1, AT_ONCE):
        told = _asked(port, connections, 1, everything)
        what = f"Metadata of all partitions, {connections} at once"
        figure(what, TOPICS * PARTITIONS, told["seconds"], answer_bytes=told["bytes"])


def _requests(port: int) -> None:
    ten = [{"name": f"topic-{n:06d}", "topic_id": None} for n in range(10)]
    small = [{"name": f"topic-{n:06d}", "topic_id": None} for n in range(1)]
    for name, frame in {
        "ApiVersions": _frame(ApiVersionsRequest, 4, client_software_name="kedge", client_software_version="1"),
        f"Metadata of 10 topics of {PARTITIONS} partitions": _frame(MetadataRequest, 12, topics=ten),
        f"Metadata of 1 topic of {PARTITIONS} partitions": _frame(MetadataRequest, 12, topics=small),
    }.items():
        for connections in (1, CONNECTIONS):
            rounds = (REQUESTS if name == "ApiVersions" else REQUESTS // 10) // connections
            told = _asked(port, connections, rounds, frame)
            n = rounds * connections
            longest = round(percentile(told["latencies"], 0.99), 6)
            rate(f"{name}, {connections} connections", n, told["seconds"], p99_s=longest)


def _moves(port: int) -> None:
    """From a warm client: the second request is the one that counts."""
    command = [java(), "-Xmx512m", "-cp", kafka_classpath(), str(HERE / "java" / "Alter.java")]
    said = subprocess.run(  # noqa: S603 - our own program
        [*command, f"127.0.0.1:{port}", str(MOVES), str(PARTITIONS), str(ids(BROKERS).start), str(BROKERS)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for what, seconds in json.loads(said).items():
        figure(f"AlterPartitionReassignments from Java, submit to accepted, {what}", MOVES, seconds)


def _frame(kind: Any, version: int, **fields: Any) -> bytes:
    request = build(kind, version, fields)
    request.with_header(7, "benchmark")
    return bytes(request.encode(header=True, framed=True))


def _asked(port: int, connections: int, rounds: int, frame: bytes) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "wire_client.py"), str(port), str(connections), str(rounds), frame.hex()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own program
    told: dict[str, Any] = json.loads(said)
    return told
