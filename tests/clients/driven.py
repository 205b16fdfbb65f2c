"""A stock client in a process beside the test, asked line by line: a JSON list goes in, a JSON object comes out."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Any, Final, Self

import attrs

from tests import kafka_jars
from tests.clients import machine

_ANSWER_S: Final = 90.0
# The tools live for seconds: what the JVM does to be fast later is time lost.
_JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class Rejected(AssertionError):
    """The client called it an error; `said` is how."""

    def __init__(self, said: Any) -> None:
        super().__init__(said)
        self.said = said


class Driven:
    """A process that answers each line with one. `with` ends it."""

    def __init__(self, command: Sequence[str], variables: dict[str, str] | None = None) -> None:
        self._command = command
        self._variables = {**os.environ, **(variables or {})}

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, env=self._variables, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def __call__(self, *words: Any) -> Any:
        """What it answered. Raises Rejected."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(_ANSWER_S, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        assert line, f"{self._command[0]} ended, or did not answer within {_ANSWER_S} s: {words}"
        answer = json.loads(line)
        if "error" in answer:
            raise Rejected(answer["error"])
        return answer["ok"]


@attrs.frozen
class Said:
    """How a tool ended: its exit code, and what stood on its two outputs."""

    code: int
    out: str
    err: str

    @property
    def done(self) -> str:
        """What it printed, of a tool that must have succeeded."""
        assert self.code == 0, self
        return self.out


_TOOLS: Final = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "reassign": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "configs": "kafka.admin.ConfigCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "all-groups": "org.apache.kafka.tools.GroupsCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
}


class JavaTools(Driven):
    """Kafka's tools of one version, against one cluster, in one JVM."""

    def __init__(self, version: str, bootstrap: str) -> None:
        super().__init__(java_program("Tools", version))
        self.version = version
        self._bootstrap = bootstrap

    def __call__(self, *words: str, at: str | None = None) -> Said:
        """One run of a tool, with these arguments. `at`: the address of another cluster."""
        tool, *arguments = words
        name = _TOOLS[tool]
        if tool == "broker-api-versions" and self.version == "3.9.1":
            name = "kafka.admin.BrokerApiVersionsCommand"
        where = () if tool == "dump-log" else ("--bootstrap-server", at or self._bootstrap)
        if tool == "transactions":  # it takes the address before the verb only
            return Said(**super().__call__(name, *where, *arguments))
        return Said(**super().__call__(name, *arguments, *where))


def in_java(name: str, version: str = kafka_jars.VERSION, *arguments: str) -> Driven:
    """The program of this name of the folder `java`, beside Kafka's jars of this version."""
    return Driven([*java_program(name, version), *arguments])


def java_program(name: str, version: str) -> list[str]:
    """The command of this program of the folder `java`, beside Kafka's jars of this version."""
    program = str(machine.HERE / "java" / f"{name}.java")
    return [kafka_jars.java(), *_JVM, "-cp", kafka_jars.kafka_classpath(version), program]


def kafkajs(bootstrap: str, **more: Any) -> Driven:
    """Its admin client, and a member of a group. `more`: of its settings."""
    modules = {"NODE_PATH": str(machine.kafkajs())}
    return Driven([machine.node(), str(machine.HERE / "js" / "drive.js"), bootstrap, json.dumps(more)], modules)


def in_go(name: str, bootstrap: str, *login: str) -> Driven:
    """The client of this name: one of those in `go/drive.go`. `login`: the file of an authority, a name and a password,
    over TLS: for SCRAM-SHA-512 with kadm, for PLAIN with the others."""
    return Driven([str(machine.in_go()), name, bootstrap, *login])
