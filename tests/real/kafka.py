"""Kafka's own client of ZooKeeper in a process beside the test (`java/KafkaReader.java`)."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from servers import NoServer
from servers.zookeeper import java
from tests.kafka_jars import kafka_classpath

_PROGRAM: Final = Path(__file__).parent / "java" / "KafkaReader.java"
_ANSWER_S: Final = 60.0
_COMPILE_S: Final = 120.0


class Refused(AssertionError):
    """Kafka's reader threw, or read nothing, where something stands."""


class Kafka:
    """Ask it by a line, get its answer."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self._line()

    def __call__(self, *words: object) -> str:
        """What it answers. Raises Refused."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return self._line()

    def decode(self, key: str, value: bytes) -> str:
        """What Kafka's reader of that key understands. Raises Refused."""
        return self("decode", key, base64.b64encode(value).decode())

    def _line(self) -> str:
        assert self._process.stdout is not None
        watchdog = threading.Timer(_ANSWER_S, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline().rstrip("\n")
        watchdog.cancel()
        if not line.startswith("ok "):
            raise Refused(line or f"no answer: {self._log.read_text(errors='replace')[-2000:]}")
        return line[3:]


def compiled(folder: Path) -> Path:
    """The folder with the program's classes. Raises NoServer where the Java is no JDK."""
    compiler = [java(), "-m", "jdk.compiler/com.sun.tools.javac.Main"]
    said = subprocess.run(
        [*compiler, "-cp", kafka_classpath(), "-d", str(folder), str(_PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMPILE_S,
    )
    if said.returncode:
        raise NoServer(
            f"Kafka's readers take a JDK to be asked (Debian's openjdk-17-jdk-headless): {said.stderr[-500:]}"
        )
    return folder


@contextlib.contextmanager
def kafka(address: str, classes: Path, folder: Path) -> Iterator[Kafka]:
    """Kafka's client of the ZooKeeper at `address` (host:port/chroot)."""
    command = [java(), "-Xmx256m", "-cp", f"{classes}{os.pathsep}{kafka_classpath()}", _PROGRAM.stem, address]
    log = folder / "kafka.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            yield Kafka(process, log)
        finally:
            process.kill()
