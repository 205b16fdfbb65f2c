"""The commands of a transcript that say what stands in the store before anything happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kedge.controller.codec import keys
from kedge.controller.model.legacy import NO_KEY, LegacyEntry, LegacyKey
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttles import KINDS, OLD, MarkKey, OwnerMark
from kedge.controller.model.values import BROKERS_WITHOUT_INTENT, DeleteIntent, KafkaMove, Move, Partition, Replicas
from tests.rules.world import World


@attrs.frozen
class Line:
    """A command's words, and its options `name=value`."""

    words: list[str]
    options: Mapping[str, str]


def read_line(text: str) -> tuple[str, Line]:
    """The verb, and what it is about; what follows two blanks and # is a comment."""
    verb, *rest = text.partition("  #")[0].split()
    words = [word for word in rest if "=" not in word]
    return verb, Line(words, dict(word.split("=", 1) for word in rest if "=" in word))


def ids(text: str) -> Replicas:
    """`1,2,3`; `-` is none."""
    return () if text == "-" else tuple(int(word) for word in text.split(","))


def name_of(text: str) -> tuple[str, int]:
    """`topic-0`, and `topic--1` as well."""
    cut = text.index("--") if "--" in text else text.rindex("-")
    return text[:cut], int(text[cut + 1 :])


def plan(line: Line) -> LegacyKey:
    """The legacy key that a line is about: `t-0:4,5`, `absent` or `broken`."""
    if "absent" in line.words:
        return NO_KEY
    if "broken" in line.words:
        return LegacyKey(problem="not JSON")
    named = [word.rsplit(":", 1) for word in line.words]
    return LegacyKey(tuple(LegacyEntry(*name_of(name), ids(target)) for name, target in named))


class Planting:
    """What is planted leaves nothing in the transcript."""

    def __init__(self) -> None:
        self.world = World()

    def do_anew(self, _: Line) -> None:
        """Another cluster."""
        self.world = type(self.world)()

    def do_broker(self, line: Line) -> None:
        for word in line.words:
            broker, _, rack = word.partition(":")
            self.world.plant_broker(int(broker), rack or None, int(line.options.get("epoch", 1)))

    def do_topic(self, line: Line) -> None:
        topic_id = line.options.get("id")
        configs = {name: value for name, value in line.options.items() if "." in name}
        self.world.plant_topic(line.words[0], "" if topic_id == "-" else topic_id, configs)

    def do_partition(self, line: Line) -> None:
        topic, number = name_of(line.words[0])
        replicas = ids(line.options["R"])
        isr = ids(line.options.get("I", line.options["R"]))
        move = None
        if "T" in line.options:
            move = Move(ids(line.options["T"]), ids(line.options.get("origin", line.options["R"])), 500)
        leader = int(line.options.get("leader", isr[0] if isr else -1))
        epoch = int(line.options.get("epoch", 3 if isr else -1))
        recovery = int(line.options.get("recovery", 0))
        status = int(line.options.get("status", 0))
        left = line.options.get("brokers_without_intent")
        extra = None if left is None else {BROKERS_WITHOUT_INTENT: list(ids(left))}
        self.world.plant(Partition(topic, number, replicas, isr, leader, epoch, move, status, recovery, extra))

    def do_intent(self, line: Line) -> None:
        topic, number = name_of(line.words[1])
        broker = int(line.words[0])
        topic_id = line.options.get("id", f"id-of-{topic}")
        intent = DeleteIntent(broker, topic, topic_id, number, int(line.options.get("epoch", 2)))
        self.world.state.intents.load(broker, 900 + len(self.world.state.intents), [intent])

    def do_plan(self, line: Line) -> None:
        """What a takeover finds in the legacy key."""
        found = plan(line)
        self.world.state.versions.put(keys.REASSIGN_PARTITIONS, int(line.options.get("version", found.is_there)))
        self.world.state.legacy.load(found)

    def do_unreadable(self, line: Line) -> None:
        topic, number = name_of(line.words[0]) if "-" in line.words[0] else (line.words[0], None)
        self.world.state.load_problem(topic, number, "the key is broken")

    def do_deleting(self, line: Line) -> None:
        self.world.state.versions.put(keys.delete_topic(line.words[0]), 1)
        self.world.state.start_deletion(line.words[0])

    def do_reducing(self, line: Line) -> None:
        """What a takeover finds in the key of a reduction: `reducing t 3:500`."""
        entries = {int(w.split(":")[0]): Retirement(int(w.split(":")[1]), w.endswith(":now")) for w in line.words[1:]}
        self.world.state.versions.put(keys.delete_partitions(line.words[0]), 1)
        self.world.state.load_reduction(line.words[0], entries, None)

    def do_retired(self, line: Line) -> None:
        """`retired t 2:5`: the last leader epoch of a partition that was purged."""
        row = self.world.state.topics[line.words[0]]
        epochs = {int(word.split(":")[0]): int(word.split(":")[1]) for word in line.words[1:]}
        row.topic = attrs.evolve(row.topic, retired_epochs=epochs)

    def do_atonce(self, line: Line) -> None:
        """How many keys one Decision may write."""
        self.world.state.keys_at_once = int(line.words[0])

    def do_setting(self, line: Line) -> None:
        typed: dict[str, Any] = {name: int(value) for name, value in line.options.items()}
        typed = {name: bool(value) if name.endswith("_enable") else value for name, value in typed.items()}
        self.world.state.settings = attrs.evolve(self.world.state.settings, **typed)

    def do_now(self, line: Line) -> None:
        self.world.now_ms = int(line.words[0])

    def do_kafkamoves(self, line: Line) -> None:
        """`kafkamoves t 0 1 R=1,2,3 adding=3 removing=1`: Kafka's own moves of these partitions wait."""
        name, *partitions = line.words
        move = KafkaMove(*(ids(line.options[field]) for field in ("R", "adding", "removing")))
        row = self.world.state.topics[name]
        row.topic = attrs.evolve(row.topic, kafka_moves={int(one): move for one in partitions})

    def do_oldmark(self, line: Line) -> None:
        """`oldmark brokers 1 2`: another program marked these owners as a whole."""
        kind = KINDS[line.words[0] == "brokers"]
        marks = {owner: OwnerMark(None) for owner in line.words[1:]}
        self.world.state.throttles.load(kind, OLD[kind], marks, MarkKey())
