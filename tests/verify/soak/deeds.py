"""What is done to the cluster of a soak. Each deed leaves the cluster able to heal: of brokers and of nodes of the
store, at most one is down at a time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import kafka
from kafka.admin import NewTopic

from tests.kit.waiting import until
from tests.verify.soak import ledger
from tests.verify.soak.ledger import COPIES, LEDGER
from tests.verify.soak.traffic import PARTITIONS, TOPIC
from tests.wire.attacks import ATTACKS

SPARE: Final = "spare"
KEPT: Final = {TOPIC: PARTITIONS, LEDGER: ledger.PARTITIONS, COPIES: ledger.PARTITIONS}
REPLICAS: Final = 3
KEDGE: Final = (sys.executable, "-c", "from kedge.controller.cli import main; main()")
HEAL_S: Final = 300.0
ATTACKED_S: Final = 8.0
ATTACK_PART: Final = 10
"""Sizes of attacks are divided by it: all servers and clients of a soak share a machine."""
TRIED: Final = sorted(ATTACKS.keys() - {"brokers", "half-requests"})
"""A new partition may be placed on a broker that registers, as in Kafka, so that one never heals. There is no page."""
THROTTLE: Final = 10_000_000
"""Bytes a second: brokers keep all records, so after two hours a move copies some 100 MB a replica, within HEAL_S."""


class Process(Protocol):
    """A controller, or a node of the store."""

    def kill(self) -> None: ...
    def restart(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class Deeds:
    """`order`: tells the process of the brokers. `folder`: for plans."""

    def __init__(
        self,
        bootstrap: str,
        *,
        order: Callable[[str, int], None],
        brokers: Sequence[int],
        controllers: Sequence[Process],
        nodes: Sequence[Process],
        folder: Path,
        chance: random.Random,
    ) -> None:
        self._bootstrap, self._order, self._brokers = bootstrap, order, list(brokers)
        self._controllers, self._nodes, self._folder, self._chance = controllers, nodes, folder, chance
        self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        self.all: Mapping[str, Callable[[], object]] = {
            "move": self._move,
            "move, throttled": self._move_throttled,
            "cancel": self._cancel,
            "fewer partitions": self._fewer,
            "attack": self._attack,
            "broker dies": self._broker_dies,
            "controller dies": lambda: self._dies(self._controllers),
            "controller stands still": lambda: self._stands_still(self._controllers),
            "node of the store dies": lambda: self._dies(self._nodes),
            "node of the store stands still": lambda: self._stands_still(self._nodes),
        }

    def close(self) -> None:
        """End its client."""
        self._admin.close()

    def prepare(self) -> None:
        """The topics are there."""
        configs = {"min.insync.replicas": "2"}
        for topic, partitions in KEPT.items():
            self._admin.create_topics([NewTopic(topic, partitions, REPLICAS, topic_configs=configs)])
        self._admin.create_topics([NewTopic(SPARE, 4, REPLICAS)])
        self.until_healed()

    def draw(self) -> str:
        """One deed, by chance; its name. What the cluster refuses at that moment is part of it."""
        name = self._chance.choice(sorted(self.all))
        kind = self.all[name]()
        return name if kind is None else f"{name}, {kind}"

    def until_healed(self) -> None:
        """Nothing moves, and every replica is in sync. AssertionError with what is not."""
        try:
            until(lambda: not self._unhealed(), "the cluster is healed", HEAL_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._unhealed()}") from error

    def _unhealed(self) -> str:
        """What is not healed; empty if all is."""
        try:
            topics = self._admin.describe_topics([*KEPT, SPARE])
            moving = self._admin.list_partition_reassignments()
        except kafka.errors.KafkaError as error:
            self._renew()
            return repr(error)
        partitions = [(topic["name"], p) for topic in topics for p in topic["partitions"]]
        ill = [
            f"{name}-{p['partition_index']}: leader {p['leader_id']}, ISR {p['isr_nodes']} of {p['replica_nodes']}"
            for name, p in partitions
            if p["leader_id"] < 0 or sorted(p["isr_nodes"]) != sorted(p["replica_nodes"])
        ]
        return "; ".join([*([f"moving: {moving}"] if moving else []), *ill])

    def _renew(self) -> None:
        """A new client: kafka-python asks one broker for all, and where its metadata is from when that one was dead, it
        does not find it for five minutes."""
        with suppress(kafka.errors.KafkaError):
            admin = kafka.KafkaAdminClient(bootstrap_servers=self._bootstrap)
            self._admin.close()
            self._admin = admin

    def _targets(self, count: int) -> dict[int, list[int]]:
        chosen = self._chance.sample(range(PARTITIONS), count)
        return {partition: self._chance.sample(self._brokers, REPLICAS) for partition in chosen}

    def _move(self) -> None:
        targets = {kafka.TopicPartition(TOPIC, p): r for p, r in self._targets(4).items()}
        self._ask(lambda: self._admin.alter_partition_reassignments(targets))

    def _move_throttled(self) -> None:
        rows = [{"topic": TOPIC, "partition": p, "replicas": r} for p, r in self._targets(3).items()]
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": rows}))
        where = ("--execute", "--additional", "--reassignment-json-file", str(plan), "--throttle", str(THROTTLE))
        self._command("reassign-partitions", *where)

    def _cancel(self) -> None:
        def cancel() -> None:
            moving = self._admin.list_partition_reassignments()
            if moving:
                self._admin.alter_partition_reassignments(dict.fromkeys(list(moving)[:2]))

        self._ask(cancel)

    def _fewer(self) -> None:
        """Partitions are removed from a topic of its own, and come again."""
        for count in (2, 4):
            self._command("topics", "--alter", "--topic", SPARE, "--partitions", str(count), "--yes")

    def _attack(self) -> str:
        """Which one. The cluster answers when it is over."""
        name = self._chance.choice(TRIED)
        size = ("--seconds", str(ATTACKED_S), "--part", str(ATTACK_PART))
        command = [sys.executable, "-m", "tests.wire.attacks", name, self._bootstrap, *size]
        subprocess.run(command, capture_output=True, check=True, timeout=HEAL_S)
        until(self._answers, f"an answer after the attack {name}")
        return name

    def _answers(self) -> bool:
        try:
            return bool(self._admin.describe_cluster())
        except kafka.errors.KafkaError:
            self._renew()
            return False

    def _broker_dies(self) -> None:
        self.until_healed()  # two that are down might be all that have a record
        broker = self._chance.choice(self._brokers)
        self._order("kill", broker)
        self._pause(1, 10)
        self._order("start", broker)

    def _dies(self, processes: Sequence[Process]) -> None:
        process = self._chance.choice(processes)
        process.kill()
        self._pause(1, 8)
        process.restart()

    def _stands_still(self, processes: Sequence[Process]) -> None:
        process = self._chance.choice(processes)
        process.pause()
        self._pause(1, 8)
        process.resume()

    def _pause(self, least_s: float, most_s: float) -> None:
        time.sleep(self._chance.uniform(least_s, most_s))

    def _command(self, command: str, *arguments: str) -> None:
        words = [*KEDGE, "kafka", command, "--bootstrap-server", self._bootstrap, *arguments]
        subprocess.run(words, capture_output=True, check=False, timeout=HEAL_S)

    def _ask(self, ask: Callable[[], Any]) -> None:
        try:
            ask()
        except kafka.errors.KafkaError:
            self._renew()  # no controller at that moment, or a broker that is down
