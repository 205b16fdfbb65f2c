"""Members of groups of stock clients, each in a process that can be killed, and what they report as it happens.

To a program, a JSON list a line:
    open NAME SETTINGS TOPICS       a member with these settings of Kafka's consumer; it commits after each poll
    close NAME
TOPICS is a list, or a regular expression: that of a client if it begins with `^`, else the coordinator's (librdkafka
and franz-go send theirs to the coordinator in any case, if the group is of the consumer protocol).
From it: NAME assigned|revoked|lost PARTITIONS, NAME read RECORD, NAME uncommitted|failed REASON, NAME closed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

import attrs

from kedge.controller.groups.requests import GroupSettings
from tests.clients import driven, machine
from tests.kit.waiting import until

CLIENTS: Final = ("librdkafka", *(f"java-{version}" for version in machine.KAFKA_VERSIONS), "franz-go")
SETTINGS: Final = GroupSettings(consumer_heartbeat_interval_ms=200, consumer_session_timeout_ms=6000)
"""Of coordinators: short times, so that rebalances take little."""
COMMON: Final = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
CLASSIC: Final = {"heartbeat.interval.ms": 200, "session.timeout.ms": 6000}
"""Settings of the classic protocol alone: those of the consumer protocol are the coordinator's."""
_IN_JAVA: Final = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}

Partition = tuple[str, int]


@attrs.frozen
class Record:
    topic: str
    partition: int
    offset: int
    value: str


@attrs.define(eq=False)
class Member:
    """What a member has reported so far. `calls`: of its rebalance listener."""

    name: str
    program: Program
    partitions: set[Partition] = attrs.field(factory=set)
    calls: list[tuple[str, list[Partition]]] = attrs.field(factory=list)
    records: list[Record] = attrs.field(factory=list)
    uncommitted: list[str] = attrs.field(factory=list)
    failures: list[str] = attrs.field(factory=list)
    is_closed: bool = False

    @property
    def numbers(self) -> list[int]:
        """The values that it has read."""
        return [int(record.value) for record in list(self.records)]

    def close(self) -> None:
        """It left its group."""
        self.program.send("close", self.name)
        until(lambda: self.is_closed, f"{self.name} closes")

    def reported(self, what: str, detail: Any) -> None:
        match what:
            case "read":
                self.records.append(Record(*detail))
            case "uncommitted":
                self.uncommitted.append(detail)
            case "failed":
                self.failures.append(detail)
            case "closed":
                self.is_closed = True
            case _:
                rows = [(topic, number) for topic, number in detail]
                self.calls.append((what, rows))
                # In one step, since the test reads it at any time.
                self.partitions = self.partitions | {*rows} if what == "assigned" else self.partitions - {*rows}


class Program:
    """A process with members of one client. `with` kills it."""

    def __init__(self, client: str, bootstrap: str) -> None:
        self.client = client
        if client == "librdkafka":
            command = [sys.executable, "-P", str(machine.HERE / "consuming_librdkafka.py"), bootstrap]
        elif client == "franz-go":
            command = [str(machine.in_go()), "franz-go consuming", bootstrap]
        else:
            command = [*driven.java_program("Consuming", client.removeprefix("java-")), bootstrap]
        self._members: dict[str, Member] = {}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._reader = threading.Thread(target=self._read, name=client)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Its members end without a word."""
        with self._process as process:
            process.kill()
            self._reader.join()

    def open(self, name: str, settings: Mapping[str, Any], wanted: Sequence[str] | str) -> Member:
        self._members[name] = Member(name, self)
        self.send("open", name, {**COMMON, **settings}, wanted)
        return self._members[name]

    def send(self, *words: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, what, detail = json.loads(line)
            self._members[name].reported(what, detail)


class Programs:
    """Members of any client, in one process of each client unless they are to be killed. `with` ends all."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._stack = ExitStack()
        self._shared: dict[str, Program] = {}
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def new(self, client: str) -> Program:
        """A process of its own."""
        return self._stack.enter_context(Program(client, self._bootstrap))

    def shared(self, client: str) -> Program:
        if client not in self._shared:
            self._shared[client] = self.new(client)
        return self._shared[client]

    def open(
        self, client: str, group: str, wanted: Sequence[str] | str, *, alone: bool = False, **settings: Any
    ) -> Member:
        """A member of the consumer protocol. `alone`: in a process of its own."""
        self._count += 1
        program = self.new(client) if alone else self.shared(client)
        named = {key.replace("_", "."): value for key, value in settings.items()}
        common = CLASSIC if named.get("group.protocol") == "classic" else {"group.protocol": "consumer"}
        if client.startswith("java") and "partition.assignment.strategy" in named:
            named["partition.assignment.strategy"] = _IN_JAVA[named["partition.assignment.strategy"]]
        return program.open(f"{client} {self._count}", {"group.id": group, **common, **named}, wanted)
