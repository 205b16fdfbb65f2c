"""The gateway: metadata of 200,000 partitions, requests a second, 10,000 moves asked for by Kafka's Java client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kafka.protocol.metadata.api_versions import ApiVersionsRequest
from kafka.protocol.metadata.metadata import MetadataRequest

from benchmarks.cluster import QuietHost, named, register
from benchmarks.figures import figure, percentile, rate
from benchmarks.moves import targets_of
from benchmarks.place import Place
from kedge import TopicPartition
from kedge.controller.wire import Gateway
from kedge.controller.wire.protocol import build
from tests.kafka_jars import java, kafka_classpath

TOPICS, PARTITIONS, BROKERS = 2_000, 100, 10
AT_ONCE, CONNECTIONS, REQUESTS, MOVES = 50, 100, 10_000, 10_000
HERE: Final = Path(__file__).parent


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    store = place.open()
    driven, brokers = place.driven(store, QuietHost()), named(store)
    register(driven.controller, brokers)
    driven.settle()
    ask = driven.controller.query
    sizes = driven.answer(ask(lambda view: Counter(p.topic for p in view.partitions())))
    targets = driven.answer(ask(lambda view: targets_of(view, brokers, MOVES, every=1)))
    with Gateway(driven.controller, cluster_id="measured") as gateway:
        port = gateway.address.port
        _metadata(port)
        _requests(port, sorted(sizes.items(), key=lambda topic: abs(topic[1] - PARTITIONS))[:10])
        _moves(port, targets)


def _metadata(port: int) -> None:
    everything = _frame(MetadataRequest, 12, topics=None)
    for connections in (1, AT_ONCE):
        told = _asked(port, connections, 1, everything)
        what = f"Metadata of all partitions, {connections} at once"
        figure(what, TOPICS * PARTITIONS, told["seconds"], answer_bytes=told["bytes"])


def _requests(port: int, sizes: list[tuple[str, int]]) -> None:
    """`sizes`: ten topics and their partitions."""
    asked = {"ApiVersions": _frame(ApiVersionsRequest, 4, client_software_name="kedge", client_software_version="1")}
    for some in (sizes, sizes[:1]):
        topics = [{"name": name, "topic_id": None} for name, _ in some]
        what = f"Metadata of {len(some)} topics with {sum(size for _, size in some)} partitions"
        asked[what] = _frame(MetadataRequest, 12, topics=topics)
    for name, frame in asked.items():
        for connections in (1, CONNECTIONS):
            rounds = max(1, (REQUESTS if name == "ApiVersions" else REQUESTS // 10) // connections)
            told = _asked(port, connections, rounds, frame)
            n = rounds * connections
            longest = round(percentile(told["latencies"], 0.99), 6)
            rate(f"{name}, {connections} connections", n, told["seconds"], p99_s=longest)


def _moves(port: int, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
    """From a warm client: the second request is the one that counts."""
    command = [java(), "-Xmx512m", "-cp", kafka_classpath(), str(HERE / "java" / "Alter.java"), f"127.0.0.1:{port}"]
    moves = [f"{tp.topic} {tp.partition} {' '.join(map(str, target))}" for tp, target in targets.items()]
    said = subprocess.run(  # noqa: S603 - our own program
        command, input="\n".join(moves), capture_output=True, text=True, check=True
    ).stdout
    for what, seconds in json.loads(said).items():
        figure(f"AlterPartitionReassignments from Java, submit to accepted, {what}", len(targets), seconds)


def _frame(kind: Any, version: int, **fields: Any) -> bytes:
    request = build(kind, version, fields)
    request.with_header(7, "benchmark")
    return bytes(request.encode(header=True, framed=True))


def _asked(port: int, connections: int, rounds: int, frame: bytes) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "wire_client.py"), str(port), str(connections), str(rounds), frame.hex()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own program
    told: dict[str, Any] = json.loads(said)
    return told
