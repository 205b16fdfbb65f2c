"""Figures of `kedge serve` beside kfake, the fake cluster of franz-go, by librdkafka in one run.

    python -m benchmarks.peers.fakes --rounds 3

Both are a process with three brokers, which each round starts again, in turn. Prints a line of JSON per figure, cluster
and round, and at the end one per figure with the medians and their ratio. It needs Go, and downloads kfake (`kfake/`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import confluent_kafka as confluent
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.peers.mock_cluster import TOPIC, WAIT_S, asked, consumer, first, kedge, transactions
from servers.process import tool
from tests.clients import machine

RECORDS, BYTES, PARTITIONS, SINGLE = 100_000, 200, 6, 1_000
_BUILD_S: Final = 900.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.fakes")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    rounds = range(parser.parse_args(arguments).rounds)
    found: dict[tuple[str, str], list[float]] = {}
    with TemporaryDirectory() as folder:
        program = Path(folder, "kfake")
        source = str(Path(__file__).parent / "kfake")
        tool([machine.go(), "build", "-C", source, "-o", str(program), "."], "kfake", _BUILD_S)
        for turn in rounds:
            for name, cluster in (("kfake", partial(kfake, program)), ("kedge", kedge)):
                for what, value in figures(cluster()):
                    found.setdefault((what, name), []).append(value)
                    said({"cluster": name, "round": turn + 1, "what": what, "value": value})
    for what in dict.fromkeys(what for what, _ in found):
        values = {name: median(found[what, name]) for name in ("kfake", "kedge")}
        said({"what": what, **values, "kedge_by_kfake": values["kedge"] / values["kfake"]})
    return 0


def said(line: dict[str, str | float]) -> None:
    rounded = {name: float(f"{value:.3g}") if isinstance(value, float) else value for name, value in line.items()}
    print(json.dumps(rounded), flush=True)


@contextmanager
def kfake(program: Path) -> Iterator[str]:
    """A process of kfake."""
    pipe = subprocess.PIPE
    with subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - built above
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def figures(cluster: AbstractContextManager[str]) -> Iterator[tuple[str, float]]:
    """What was measured, with its unit."""
    began = perf_counter()
    with cluster as bootstrap:
        AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=WAIT_S)
        yield "until metadata are answered, ms", 1000 * (perf_counter() - began)
        asked(bootstrap, lambda admin: admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)]))
        yield f"records of {BYTES} bytes produced with acks=all a second", RECORDS / produce(bootstrap)
        first_s, others_s = read(bootstrap)
        yield "first record of a new group, ms", 1000 * first_s
        yield "records read by one member a second", RECORDS / others_s
        percentiles = quantiles(one_by_one(bootstrap), n=100)
        for percent in (50, 99):
            yield f"one record with acks=all, p{percent}, ms", 1000 * percentiles[percent - 1]
        began = perf_counter()
        transactions(bootstrap)
        yield "100 transactions of ten records, ms", 1000 * (perf_counter() - began)


def produce(bootstrap: str) -> float:
    """Seconds until all records are acknowledged."""
    client = confluent.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    began = perf_counter()
    for number in range(RECORDS):
        while True:
            try:
                client.produce(TOPIC, b"." * BYTES, partition=number % PARTITIONS)
                break
            except BufferError:
                client.poll(0.01)
    if left := client.flush(6 * WAIT_S):
        raise TimeoutError(f"{left} records were not acknowledged")
    return perf_counter() - began


def read(bootstrap: str) -> tuple[float, float]:
    """Seconds until the first record, and from there until all were read."""
    began = perf_counter()
    with closing(consumer(bootstrap, "readers")) as client:
        first(client)
        got, began_others = 1, perf_counter()
        while got < RECORDS and perf_counter() < began_others + 6 * WAIT_S:
            got += sum(message.error() is None for message in client.consume(10_000, 0.05))
        ended = perf_counter()
    if got < RECORDS:
        raise TimeoutError(f"{got} records were read")
    return began_others - began, ended - began_others


def one_by_one(bootstrap: str) -> list[float]:
    """Seconds of each record that is sent when the one before is acknowledged."""
    client = confluent.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
    seconds, errors = [], []
    for number in range(SINGLE):
        began = perf_counter()
        client.produce(
            TOPIC, b"." * BYTES, partition=number % PARTITIONS, on_delivery=lambda error, _: errors.append(error)
        )
        client.flush(WAIT_S)
        seconds.append(perf_counter() - began)
    if errors != [None] * SINGLE:
        raise RuntimeError(f"{len(errors)} of {SINGLE} records were answered: {set(errors)}")
    return seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
