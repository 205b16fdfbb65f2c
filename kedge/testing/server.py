"""A cluster in a process of `kedge serve`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from controller.model.values import TopicPartition
from kedge.testing.basis import RACKS, TIMEOUT_S, ForTests, until

if TYPE_CHECKING:
    from controller.cli.kafka.cluster import Cluster as Connected
    from controller.cli.kafka.values import PartitionState

_HOME: Final = Path(__file__).resolve().parents[2]


class Server(ForTests):
    """`with Server() as server:` a process of `kedge serve` on free ports of the loopback interface.

    `brokers`, `racks`: as of `Cluster`. `options`: more options of `kedge serve`. Brokers cannot be killed or slowed
    down in it, nor errors ordered: these methods raise NotImplementedError. Raises RuntimeError with the line that the
    command printed, if it did not start.
    """

    def __init__(self, brokers: int = 3, racks: Sequence[str] = RACKS, *, options: Sequence[str] = ()) -> None:
        super().__init__(brokers, racks)
        given = ["--racks", ",".join(racks[:brokers])] if racks else []
        self._options = ["--brokers", str(brokers), *given, *options]

    def _begin(self, stack: ExitStack) -> str:
        return stack.enter_context(_process(self._options))

    def _create(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None:
        with self._connected() as cluster:
            cluster.create_topic(name, partitions, replication_factor, configs=configs)
            until(lambda: all(p.leader is not None for p in cluster.topics([name])[name].partitions), f"{name} is led")

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """As of `ForTests`."""
        return self._described(topic, partition).leader

    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """As of `ForTests`."""
        return self._described(topic, partition).replicas

    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool = True) -> None:
        """As of `ForTests`."""
        tp = TopicPartition(topic, partition)
        with self._connected() as cluster:
            for refused in cluster.alter_reassignments({tp: replicas}).values():
                raise refused
            if waits:
                until(lambda: not cluster.reassignments([tp]), f"{topic}-{partition} is on {[*replicas]}")

    def _described(self, topic: str, partition: int) -> PartitionState:
        with self._connected() as cluster:
            return cluster.topics([topic])[topic].partitions[partition]

    @contextmanager
    def _connected(self) -> Iterator[Connected]:
        from controller.cli.kafka.connecting import connected  # noqa: PLC0415 - needs the extra `cli`
        from controller.cli.kafka.options import Endpoint  # noqa: PLC0415 - as above

        with connected(Endpoint(self.bootstrap_servers)) as cluster:
            yield cluster


@contextmanager
def _process(options: Sequence[str]) -> Iterator[str]:
    """Runs `kedge serve`; the address for clients."""
    path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-P", "-m", "kedge", "serve", "--json", "--listen", "127.0.0.1:0", "--no-status"]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*command, *options], env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=said, text=True
        )
        with process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line:
                    process.wait(TIMEOUT_S)
                    said.seek(0)
                    raise RuntimeError(f"`kedge serve` did not start: {said.read().strip()}")
                yield json.loads(line)["bootstrap"]
            finally:
                process.terminate()
                try:
                    process.wait(TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
