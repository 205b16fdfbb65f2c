"""Transcripts: lines of commands, below each the indented lines that it left. Comments (#) and blank lines stay.

A word `name=value` is an option; what is left out is taken from the state as it stands, so that a line says only what it is
about. `Script.play` gives the text again with what was left now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from controller.model import events as e
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import Broker, BrokerRegistration, DeleteIntent, Move, Partition, Replicas, Topic
from tests.rules.telling import lines
from tests.rules.world import Ran, World

Words = list[str]
Options = dict[str, str]


def ids(text: str) -> Replicas:
    """`1,2,3`; `-` is none."""
    return () if text == "-" else tuple(int(word) for word in text.split(","))


def name_of(text: str) -> tuple[str, int]:
    topic, _, partition = text.rpartition("-")
    return topic, int(partition)


def _lists(text: str) -> tuple[Replicas, ...]:
    return tuple(ids(part) for part in text.split("/"))


class Script:
    """One world and the commands that act on it."""

    def __init__(self) -> None:
        self.world = World()

    def play(self, text: str) -> str:
        """The transcript with its commands, and what they leave."""
        told = []
        for line in text.splitlines():
            if line.startswith("  "):
                continue
            told.append(line)
            if line and not line.startswith("#"):
                told += [f"  {out}" for out in self._command(line)]
        return "\n".join(told) + "\n"

    def _command(self, line: str) -> Iterator[str]:
        verb, *rest = line.partition("  #")[0].split()
        words = [word for word in rest if "=" not in word or word.startswith("-")]
        options = dict(word.split("=", 1) for word in rest if word not in words)
        method: Callable[[Words, Options], Ran | e.Event | None] = getattr(self, f"do_{verb}")
        outcome = method(words, options)
        if isinstance(outcome, e.Event):
            outcome = self.world.run(outcome)
        return iter(()) if outcome is None else lines(self.world.state, outcome)

    # --- what is planted

    def do_broker(self, words: Words, options: Options) -> None:
        for word in words:
            broker, _, rack = word.partition(":")
            self.world.plant_broker(int(broker), rack or None, int(options.get("epoch", 1)))

    def do_topic(self, words: Words, options: Options) -> None:
        topic_id = options.pop("id", None)
        self.world.plant_topic(words[0], "" if topic_id == "-" else topic_id, options)

    def do_partition(self, words: Words, options: Options) -> None:
        topic, number = name_of(words[0])
        replicas = ids(options["R"])
        isr = ids(options.get("I", options["R"]))
        move = None
        if "T" in options:
            move = Move(ids(options["T"]), ids(options.get("origin", options["R"])), 500)
        leader = int(options.get("leader", isr[0] if isr else -1))
        epoch = int(options.get("epoch", 3 if isr else -1))
        recovery = int(options.get("recovery", 0))
        status = int(options.get("status", 0))
        self.world.plant(Partition(topic, number, replicas, isr, leader, epoch, move, status, recovery))

    def do_intent(self, words: Words, options: Options) -> None:
        topic, number = name_of(words[1])
        broker = int(words[0])
        topic_id = options.get("id", f"id-of-{topic}")
        intent = DeleteIntent(broker, topic, topic_id, number, int(options.get("epoch", 2)))
        self.world.state.intents.load(broker, 900 + len(self.world.state.intents), 1, [intent])

    def do_unreadable(self, words: Words, options: Options) -> None:
        topic, number = name_of(words[0]) if "-" in words[0] else (words[0], None)
        self.world.state.set_problem(topic, number, "the key is broken")

    def do_setting(self, words: Words, options: Options) -> None:
        typed = {name: int(value) for name, value in options.items()}
        self.world.state.settings = attrs.evolve(self.world.state.settings, **typed)

    def do_now(self, words: Words, options: Options) -> None:
        self.world.now_ms = int(words[0])

    # --- requests

    def do_alter(self, words: Words, options: Options) -> e.Event:
        timeout = options.get("timeout")
        return e.AlterReassignment(
            self.world.now_ms,
            *name_of(words[0]),
            ids(words[1]),
            None if timeout is None else int(timeout),
            allow_replication_factor_change="same_factor" not in words,
            policy_message=options.get("policy"),
        )

    def do_cancel(self, words: Words, options: Options) -> e.Event:
        return e.AlterReassignment(self.world.now_ms, *name_of(words[0]), None, force="force" in words)

    def do_rollback(self, words: Words, options: Options) -> e.Event:
        return e.AlterReassignment(self.world.now_ms, *name_of(words[0]), None, to_origin=True)

    def do_isr(self, words: Words, options: Options) -> e.Event:
        topic, number = name_of(words[0])
        p = self.world.state.partition(topic, number)
        leader = int(options.get("leader", p.leader if p else 1))
        live = self.world.state.brokers.get(leader)
        return e.AlterIsr(
            self.world.now_ms,
            topic,
            number,
            leader,
            int(options.get("epoch", p.leader_epoch if p else 0)),
            int(options.get("at", self.world.state.partition_epoch(p) if p else 0)),
            ids(words[1]),
            int(options.get("broker_epoch", live.epoch if live else 1)),
            int(options.get("recovery", 0)),
        )

    def do_elect(self, words: Words, options: Options) -> e.Event:
        return e.ElectLeader(self.world.now_ms, *name_of(words[0]), "unclean" in words)

    def do_create(self, words: Words, options: Options) -> e.Event:
        configs = {name: value for name, value in options.items() if "." in name}
        return e.CreateTopic(
            self.world.now_ms,
            words[0],
            int(options.get("partitions", -1)),
            int(options.get("factor", -1)),
            _lists(options["assign"]) if "assign" in options else None,
            configs,
            "only" in words,
            f"id-of-{words[0]}",
            int(options.get("start", 0)),
            int(options.get("start", 0)),
            options.get("policy"),
        )

    def do_expand(self, words: Words, options: Options) -> e.Event:
        assignments = _lists(options["assign"]) if "assign" in options else None
        return e.CreatePartitions(self.world.now_ms, words[0], int(words[1]), assignments, "only" in words)

    # --- brokers

    def do_die(self, words: Words, options: Options) -> e.Event:
        live = self.world.state.brokers.get(int(words[0]))
        return e.BrokerGone(self.world.now_ms, int(words[0]), int(options.get("epoch", live.epoch if live else 1)))

    def do_come(self, words: Words, options: Options) -> e.Event:
        return e.BrokerCame(self.world.now_ms, _broker(words[0], options))

    def do_redescribe(self, words: Words, options: Options) -> e.Event:
        return e.BrokerRedescribed(self.world.now_ms, _broker(words[0], options))

    def do_dead(self, words: Words, options: Options) -> e.Event:
        return e.DeathDone(self.world.now_ms, int(words[0]), int(options.get("epoch", 1)))

    def do_disk(self, words: Words, options: Options) -> e.Event:
        return e.DiskReported(self.world.now_ms, *name_of(words[0]), int(words[1]), words[2] == "gone")

    def do_ack(self, words: Words, options: Options) -> e.Event:
        found = tuple(self.world.state.open_intents(int(words[0])))
        return e.DeletionAcknowledged(self.world.now_ms, found * int(options.get("times", 1)))

    # --- the machine's own, and what is found

    def do_due(self, words: Words, options: Options) -> e.Event:
        return e.PartitionDue(self.world.now_ms, *name_of(words[0]))

    def do_died(self, words: Words, options: Options) -> e.Event:
        return e.ReplicaDied(self.world.now_ms, *name_of(words[0]), int(words[1]))

    def do_deadline(self, words: Words, options: Options) -> e.Event:
        return e.MoveDeadline(self.world.now_ms, *name_of(words[0]))

    def do_topickey(self, words: Words, options: Options) -> e.Event:
        return e.TopicKeyDue(self.world.now_ms, words[0])

    def do_stray(self, words: Words, options: Options) -> e.Event:
        return e.StrayIsrFound(self.world.now_ms, *name_of(words[0]))

    def do_topicid(self, words: Words, options: Options) -> e.Event:
        return e.TopicIdMissing(self.world.now_ms, words[0], words[1])

    def do_intents(self, words: Words, options: Options) -> e.Event:
        return e.IntentsDue(self.world.now_ms, int(words[0]))

    def do_kafka(self, words: Words, options: Options) -> e.Event:
        return self._kafka(words[0], options)

    def _kafka(self, name: str, options: Options) -> e.KafkaMoveFound:
        lists = (ids(options[field]) for field in ("R", "adding", "removing"))
        return e.KafkaMoveFound(self.world.now_ms, *name_of(name), *lists)

    def do_statekey(self, words: Words, options: Options) -> e.Event:
        topic, number = name_of(words[0])
        known = self.world.state.key_version(topic, number)
        at = KeyVersion(int(options.get("version", known.version + 5)), known.generation + 1)
        return e.StateKeyRead(self.world.now_ms, topic, number, self._found(topic, number, options), self._why(words), at)

    def _found(self, topic: str, number: int, options: Options) -> Partition | None:
        p = self.world.state.partition(topic, number)
        if "I" not in options or p is None:
            return None
        isr, epoch = ids(options["I"]), int(options.get("epoch", p.leader_epoch))
        leader, recovery = int(options.get("leader", p.leader)), int(options.get("recovery", 0))
        extra = {"other": options["extra"]} if "extra" in options else None
        return Partition(topic, number, p.replicas, isr, leader, epoch, None, 0, recovery, extra)

    def _why(self, words: Words) -> str | None:
        return "not JSON" if "broken" in words else None

    def do_topicread(self, words: Words, options: Options) -> e.Event:
        name = words[0]
        known = self.world.state.key_version(name, None)
        at = KeyVersion(int(options.get("version", known.version + 5)), known.generation + 1)
        lists = _lists(options["R"]) if "R" in options else ()
        extra = {"other": options["extra"]} if "extra" in options else None
        found = Topic(name, options.get("id", f"id-of-{name}"), {}, extra) if lists else None
        rows = tuple(Partition(name, i, replicas, replicas, replicas[0], 3) for i, replicas in enumerate(lists))
        if "I" in options:
            rows = (attrs.evolve(rows[0], isr=ids(options["I"])), *rows[1:])
        states = tuple(KeyVersion(1, 0) for _ in lists)
        moves = (self._kafka(f"{name}-0", options | {"R": options["R"].split("/")[0]}),) if "adding" in options else ()
        broken = {0: "not JSON"} if "broken_state" in words else {}
        versions = KeyVersions(at, states, 0)
        why = self._why(words)
        return e.TopicKeyRead(self.world.now_ms, name, found, rows, {}, versions, moves, why, broken)


def _broker(word: str, options: Options) -> Broker:
    broker, _, rack = word.partition(":")
    return Broker(BrokerRegistration(int(broker), rack=rack or None), int(options.get("epoch", 2)))


def play(file: Path) -> str:
    """What `file` would be if it was recorded now."""
    return Script().play(file.read_text(encoding="utf-8"))
