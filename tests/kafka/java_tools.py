"""Kafka's own command line tools, run in one process beside the test (`java/KafkaTools.java`): a JVM for each would
take longer than all that they do."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from servers import NoServer
from tests.kafka_jars import java, kafka_classpath

REASSIGN: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOPICS: Final = "org.apache.kafka.tools.TopicCommand"
CONFIGS: Final = "kafka.admin.ConfigCommand"
LOG_DIRS: Final = "org.apache.kafka.tools.LogDirsCommand"
ACLS: Final = "kafka.admin.AclCommand"
GROUPS: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS: Final = "org.apache.kafka.tools.TransactionsCommand"
_PROGRAM: Final = Path(__file__).parent / "java" / "KafkaTools.java"
_ANSWER_S: Final = 120.0


@attrs.frozen
class Ran:
    code: int
    out: str
    err: str


class JavaTools:
    """Kafka's tools of one version. Not thread-safe."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self._line()

    def __call__(self, tool: str, *arguments: object) -> Ran:
        """Its `main` with these arguments."""
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join([tool, *map(str, arguments)]) + "\n")
        self._process.stdin.flush()
        code, out, err = self._line().split(" ")
        return Ran(int(code), _text(out), _text(err))

    def _line(self) -> str:
        assert self._process.stdout is not None
        watchdog = threading.Timer(_ANSWER_S, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline().rstrip("\n")
        watchdog.cancel()
        if not line:
            raise NoServer(f"Kafka's tools gave no answer: {self._log.read_text(errors='replace')[-2000:]}")
        return line


@contextlib.contextmanager
def java_tools(folder: Path) -> Iterator[JavaTools]:
    """Kafka's tools, until the end of the block. `folder`: for the log. Raises NoServer."""
    path = kafka_classpath()
    (folder / "log4j.properties").write_text("log4j.rootLogger=OFF\n", encoding="utf-8")
    options = [f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}", "-XX:TieredStopAtLevel=1", "-Xmx256m"]
    command = [java(), *options, "-XX:+UseSerialGC", "-cp", path, str(_PROGRAM)]
    log = folder / "tools.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "CLASSPATH": ""},
        ) as process,
    ):
        try:
            yield JavaTools(process, log)
        finally:
            process.kill()


def _text(given: str) -> str:
    return base64.b64decode(given.removeprefix("=")).decode()
