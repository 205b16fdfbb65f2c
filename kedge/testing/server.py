"""A cluster in a process of `kedge serve`."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..controller.model.values import TopicPartition
from ..controller.wire.security.users import salted
from .basis import RACKS, TIMEOUT_S, ForTests, until

if TYPE_CHECKING:
    from ..controller.cli.kafka.cluster import Cluster as Connected
    from ..controller.cli.kafka.values import PartitionState

_HOME: Final = Path(__file__).resolve().parents[2]
_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_BACKSLASH: Final = "\\"
_USER: Final = "kedge-testing"


class Server(ForTests):
    """`with Server() as server:` a process of `kedge serve` on free ports of the loopback interface.

    `brokers`, `racks`: as of `Cluster`. `options`: more options of `kedge serve`; with `--users` or `--tls-certificate`
    among them, the methods here log in and use TLS. Brokers cannot be killed or slowed down in it, nor errors ordered:
    these methods raise NotImplementedError. Raises RuntimeError with the line that the command printed, if it did not
    start.
    """

    def __init__(self, brokers: int = 3, racks: Sequence[str] = RACKS, *, options: Sequence[str] = ()) -> None:
        super().__init__(brokers, racks)
        given = ["--racks", ",".join(racks[:brokers])] if racks else []
        self._options = ["--broker-count", str(brokers), *given, *options]

    def _begin(self, stack: ExitStack) -> str:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        options, password = _with_user(self._options, folder)
        at = stack.enter_context(_process(options))
        self._properties = _properties(options, password, folder)
        return at

    def _create(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None:
        with self._connected() as cluster:
            cluster.create_topic(name, partitions, replication_factor, configs=configs)
            until(lambda: all(p.leader is not None for p in cluster.topics([name])[name].partitions), f"{name} is led")

    def leader(self, topic: str, partition: int = 0) -> int | None:
        return self._described(topic, partition).leader

    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        return self._described(topic, partition).replicas

    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool = True) -> None:
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
        from ..controller.cli.kafka.connecting import connected  # noqa: PLC0415 - needs the extra `cli`
        from ..controller.cli.kafka.options import Endpoint  # noqa: PLC0415 - as above

        with connected(Endpoint(self.bootstrap_servers, self._properties)) as cluster:
            yield cluster


def _with_user(options: Sequence[str], folder: Path) -> tuple[list[str], str | None]:
    """With users, the methods of a server log in as one more, from files of their own, which may do everything: so the
    files of users and rights stay the test's own. Returns the options, and the password."""
    if _value(options, "--users") is None:
        return [*options], None
    password = secrets.token_hex()
    made: dict[str, dict[str, Any]] = {"--users": {"users": {_USER: salted(password)}}}
    if _value(options, "--acls") is not None:
        made["--acls"] = {"super_users": [f"User:{_USER}"]}
    more = []
    for option, content in made.items():
        file = folder / f"{option[2:]}.json"
        _write_private(file, json.dumps({"version": 1, **content}))
        more += [option, str(file)]
    return [*options, *more], password


def _properties(options: Sequence[str], password: str | None, folder: Path) -> Path | None:
    """The file of properties with which the methods of a server connect to it; None: they need none."""
    certificate, key = _value(options, "--tls-certificate"), _value(options, "--tls-key")
    if password is None and certificate is None:
        return None
    layer = "PLAINTEXT" if certificate is None else "SSL"
    found = {"security.protocol": layer if password is None else f"SASL_{layer}"}
    if password is not None:
        found["sasl.mechanism"] = "SCRAM-SHA-256"
        found["sasl.jaas.config"] = f'{_LOGIN_MODULE} required username="{_USER}" password="{password}";'
    if certificate is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": _value(options, "--peers-ca") or certificate}
        found["ssl.endpoint.identification.algorithm"] = ""  # this server runs here, whatever name it is certified for
    if certificate is not None and key is not None and _value(options, "--tls-clients-ca") is not None:
        both = folder / "both.pem"
        _write_private(both, "".join(Path(file).read_text(encoding="utf-8") for file in (key, certificate)))
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both)}
    file = folder / "client.properties"
    lines = (f"{name}={value.replace(_BACKSLASH, 2 * _BACKSLASH)}\n" for name, value in found.items())
    _write_private(file, "".join(lines))
    return file


def _write_private(file: Path, text: str) -> None:
    """Kedge refuses files with passwords that others may read."""
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def _value(options: Sequence[str], name: str) -> str | None:
    """The value of an option; the last one counts."""
    found = None
    for word, following in zip(options, (*options[1:], None), strict=True):
        if word == name:
            found = following
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


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
