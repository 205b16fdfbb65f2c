"""Transcripts: lines of commands, below each the indented lines that it left. Comments (#) and blank lines stay.

A word `name=value` is an option; what is left out is taken from the state as it stands, so that a line says only what
it is about. `Script.play` gives the text again with what was left now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.config_requests import AlterConfigOp, OpType
from kedge.controller.model.records import KeyAt, KeyVersion, KeyVersions
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttle_configs import Family
from kedge.controller.model.throttles import CommitLimits
from kedge.controller.model.values import (
    Broker,
    BrokerRegistration,
    ConfigEntity,
    Partition,
    Replicas,
    Topic,
    TopicPartition,
    UnreadConfigs,
)
from kedge.controller.runtime.jobs import jobs_of
from kedge.controller.state import Batch
from tests.kit.transcripts import played
from tests.rules.planting import Line, Planting, ids, name_of, plan, read_line
from tests.rules.telling import following, lines
from tests.rules.world import Ran


def _lists(text: str) -> tuple[Replicas, ...]:
    return tuple(ids(part) for part in text.split("/"))


class Script(Planting):
    """One world and the commands that act on it. Behind ` &` one Decision is made alone; what follows on it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[e.Event] = []

    def play(self, text: str) -> str:
        """The transcript with its commands, and what they leave."""
        return played(text, self._command)

    def _command(self, text: str) -> Iterator[str]:
        verb, line = read_line(text.removesuffix(" &"))
        method: Callable[[Line], e.Event | list[str] | None] = getattr(self, f"do_{verb}")
        left = method(line)
        if isinstance(left, e.Event):
            return self.step(left) if text.endswith(" &") else lines(self.world.state, self.world.run(left))
        return iter(left or ())

    def step(self, event: e.Event) -> Iterator[str]:
        """One Decision; what follows on it waits."""
        decision = self.world.decide(event)
        due = [job.event for job in jobs_of(decision.expand, None)]
        self.waiting += due
        reply = None if decision.reply is e.LATER else decision.reply
        yield from lines(self.world.state, Ran(reply, list(decision.records), Batch()))
        yield from (f"then {following(one)}" for one in due)

    # --- requests

    def do_alter(self, line: Line) -> e.Event:
        timeout = line.options.get("timeout")
        return e.AlterReassignment(
            self.world.now_ms,
            *name_of(line.words[0]),
            ids(line.words[1]),
            None if timeout is None else int(timeout),
            allow_replication_factor_change="same_factor" not in line.words,
            policy_message=line.options.get("policy"),
        )

    def do_cancel(self, line: Line) -> e.Event:
        return e.AlterReassignment(self.world.now_ms, *name_of(line.words[0]), None, force="force" in line.words)

    def do_rollback(self, line: Line) -> e.Event:
        return e.AlterReassignment(self.world.now_ms, *name_of(line.words[0]), None, to_origin=True)

    def do_isr(self, line: Line) -> e.Event:
        topic, number = name_of(line.words[0])
        p = self.world.state.partition(topic, number)
        leader = int(line.options.get("leader", p.leader if p else 1))
        live = self.world.state.brokers.get(leader)
        known = line.options["known"].split(",") if "known" in line.options else []
        return e.AlterIsr(
            self.world.now_ms,
            topic,
            number,
            leader,
            int(line.options.get("epoch", p.leader_epoch if p else 0)),
            int(line.options.get("at", self.world.state.partition_epoch(p) if p else 0)),
            ids(line.words[1]),
            int(line.options.get("broker_epoch", live.epoch if live else 1)),
            int(line.options.get("recovery", 0)),
            {int(b): int(epoch) for b, _, epoch in (one.partition(":") for one in known)},
        )

    def do_elect(self, line: Line) -> e.Event:
        return e.ElectLeader(self.world.now_ms, *name_of(line.words[0]), "unclean" in line.words)

    def do_create(self, line: Line) -> e.Event:
        configs = {name: value for name, value in line.options.items() if "." in name}
        return e.CreateTopic(
            self.world.now_ms,
            line.words[0],
            int(line.options.get("partitions", -1)),
            int(line.options.get("factor", -1)),
            _lists(line.options["assign"]) if "assign" in line.options else None,
            configs,
            "only" in line.words,
            f"id-of-{line.words[0]}",
            int(line.options.get("start", 0)),
            int(line.options.get("start", 0)),
            line.options.get("policy"),
        )

    def do_expand(self, line: Line) -> e.Event:
        assignments = _lists(line.options["assign"]) if "assign" in line.options else None
        return e.CreatePartitions(
            self.world.now_ms, line.words[0], int(line.words[1]), assignments, "only" in line.words
        )

    def do_delete(self, line: Line) -> e.Event:
        return e.DeleteTopic(self.world.now_ms, line.words[0])

    def do_deletionkey(self, line: Line) -> e.Event:
        at = KeyAt(keys.delete_topic(line.words[0]), int(line.options.get("version", 77)))
        return e.DeletionKeyRead(self.world.now_ms, line.words[0], at)

    def do_deletion(self, line: Line) -> e.Event:
        return e.TopicDeletionDue(self.world.now_ms, line.words[0])

    def do_gone(self, line: Line) -> e.Event:
        return e.TopicGoneDue(self.world.now_ms, line.words[0])

    def do_reduce(self, line: Line) -> e.Event:
        """`reduce t 2`, or `reduce t ids=2,3`; `now`: at once."""
        count = int(line.words[1]) if len(line.words) > 1 and line.words[1] != "now" else None
        named = ids(line.options["ids"]) if "ids" in line.options else None
        return e.DeletePartitions(self.world.now_ms, line.words[0], count, named, "now" in line.words)

    def do_reductionkey(self, line: Line) -> e.Event:
        """`reductionkey t 3:500 4:500:now`; `absent`, `broken`."""
        name, *said = line.words
        now_ms, at = self.world.now_ms, self._at(keys.delete_partitions(name), line)
        if "absent" in said:
            return e.ReductionKeyRead(now_ms, name, KeyAt(at.path, 0), {})
        if "broken" in said:
            return e.ReductionKeyRead(now_ms, name, at, {}, problem="not JSON")
        return e.ReductionKeyRead(now_ms, name, at, _retirements(said))

    def _at(self, path: str, line: Line) -> KeyAt:
        """The key as another program left it: at the version in the line, or one above what is known."""
        return KeyAt(path, int(line.options.get("version", self.world.state.versions.of(path) + 5)))

    def do_reduction(self, line: Line) -> e.Event:
        return e.ReductionDue(self.world.now_ms, line.words[0], "found" in line.words)

    def do_reduced(self, line: Line) -> e.Event:
        return e.ReductionKeyDue(self.world.now_ms, line.words[0])

    def do_clocks(self, line: Line) -> e.Event:
        """`clocks empty=t-3:5`: the leader of t-3 reports an empty log under the leader epoch 5."""
        said = [word.rsplit(":", 1) for word in line.options.get("empty", "").split(",") if word]
        return e.RetirementsDue(self.world.now_ms, frozenset((*name_of(name), int(epoch)) for name, epoch in said))

    def do_purge(self, line: Line) -> e.Event:
        return e.PurgeDue(self.world.now_ms, line.words[0])

    def do_forget(self, line: Line) -> e.Event:
        return e.ForgetBroker(self.world.now_ms, int(line.words[0]))

    # --- brokers

    def do_die(self, line: Line) -> e.Event:
        live = self.world.state.brokers.get(int(line.words[0]))
        return e.BrokerGone(
            self.world.now_ms, int(line.words[0]), int(line.options.get("epoch", live.epoch if live else 1))
        )

    def do_come(self, line: Line) -> e.Event:
        return e.BrokerCame(self.world.now_ms, _broker(line.words[0], line.options))

    def do_unread(self, line: Line) -> e.Event:
        return e.BrokerUnread(self.world.now_ms, int(line.words[0]), int(line.options["epoch"]))

    def do_known(self, line: Line) -> e.Event:
        epoch = line.options.get("epoch")
        return e.BrokerKnown(self.world.now_ms, int(line.words[0]), None if epoch is None else int(epoch))

    def do_redescribe(self, line: Line) -> e.Event:
        return e.BrokerRedescribed(self.world.now_ms, _broker(line.words[0], line.options))

    def do_dead(self, line: Line) -> e.Event:
        return e.DeathDone(self.world.now_ms, int(line.words[0]), int(line.options.get("epoch", 1)))

    def do_disk(self, line: Line) -> e.Event:
        return e.DiskReported(self.world.now_ms, *name_of(line.words[0]), int(line.words[1]), line.words[2] == "gone")

    def do_ack(self, line: Line) -> e.Event:
        found = tuple(self.world.state.open_intents(int(line.words[0])))
        return e.DeletionAcknowledged(self.world.now_ms, found * int(line.options.get("times", 1)))

    def do_shutdown(self, line: Line) -> e.Event:
        live = self.world.state.brokers.get(int(line.words[0]))
        epoch = int(line.options.get("epoch", live.epoch if live else 1))
        return e.ShutdownAsked(self.world.now_ms, int(line.words[0]), epoch)

    def do_leaves(self, line: Line) -> e.Event:
        return e.ReplicaLeaves(self.world.now_ms, *name_of(line.words[0]), int(line.words[1]))

    def do_decided(self, line: Line) -> e.Event:
        return e.ShutdownDecided(self.world.now_ms, int(line.words[0]), int(line.options["epoch"]))

    # --- keys of others

    def do_preferredkey(self, line: Line) -> e.Event:
        named = tuple(TopicPartition(*name_of(word)) for word in line.words)
        return e.PreferredElectionPut(self.world.now_ms, KeyAt("/admin/p", 3), named)

    def do_logdir(self, line: Line) -> e.Event:
        return e.LogDirNotified(self.world.now_ms, KeyAt("/log_dir/1", 3), int(line.words[0]))

    def do_unusable(self, line: Line) -> e.Event:
        return e.NotificationDone(self.world.now_ms, KeyAt(line.words[0], 3), problem="not JSON")

    def do_config(self, line: Line) -> e.Event:
        at = self._at(keys.topic_config(line.words[0]), line)
        return e.ConfigKeyRead(self.world.now_ms, line.words[0], _settings(line), at)

    def do_defaults(self, line: Line) -> e.Event:
        return self._broker_config("<default>", line)

    def do_brokerconfigs(self, line: Line) -> e.Event:
        return self._broker_config(line.words[0], line)

    def _broker_config(self, name: str, line: Line) -> e.Event:
        return e.BrokerConfigRead(self.world.now_ms, name, _settings(line), self._at(keys.broker_config(name), line))

    # --- settings

    def do_replace(self, line: Line) -> e.Event:
        """`replace topics/t name=value ...`; `check`: validate only."""
        ops = tuple(AlterConfigOp(name, value) for name, value in line.options.items() if "." in name)
        return self._alter(line, ops, replaces=True)

    def do_change(self, line: Line) -> e.Event:
        """`change brokers/1 set:name=value append:name=value delete:name ...`."""
        said: list[tuple[str, str | None]] = [(name, value) for name, value in line.options.items() if ":" in name]
        said += [(word, None) for word in line.words[1:] if ":" in word]
        ops = [(*name.split(":", 1), value) for name, value in said]
        return self._alter(line, tuple(AlterConfigOp(str(name), value, OpType(op)) for op, name, value in ops))

    def _alter(self, line: Line, ops: tuple[AlterConfigOp, ...], *, replaces: bool = False) -> e.Event:
        kind, _, name = line.words[0].partition("/")
        policy = line.options.get("policy")
        entity = ConfigEntity(kind, name)
        return e.AlterConfigs(self.world.now_ms, entity, ops, replaces, "check" in line.words, policy)

    # --- the machine's own, and what is found

    def do_rebalance(self, _: Line) -> e.Event:
        return e.RebalanceDue(self.world.now_ms)

    def do_preferred(self, line: Line) -> e.Event:
        return e.PartitionDue(self.world.now_ms, *name_of(line.words[0]), e.Reason.PREFERRED)

    def do_due(self, line: Line) -> e.Event:
        """`due t-0`, `due t-0 RETIRE`."""
        return e.PartitionDue(self.world.now_ms, *name_of(line.words[0]), e.Reason[(*line.words, "CHECK")[1]])

    def do_died(self, line: Line) -> e.Event:
        return e.PartitionDue(self.world.now_ms, *name_of(line.words[0]), e.Reason.DIED)

    def do_deadline(self, line: Line) -> e.Event:
        return e.PartitionDue(self.world.now_ms, *name_of(line.words[0]), e.Reason.DEADLINE)

    def do_topickey(self, line: Line) -> e.Event:
        return e.TopicKeyDue(self.world.now_ms, line.words[0])

    def do_stray(self, line: Line) -> e.Event:
        return e.PartitionDue(self.world.now_ms, *name_of(line.words[0]), e.Reason.STRAY)

    def do_topicid(self, line: Line) -> e.Event:
        return e.TopicIdMissing(self.world.now_ms, line.words[0], line.words[1])

    def do_intents(self, line: Line) -> e.Event:
        return e.IntentsDue(self.world.now_ms, int(line.words[0]))

    def do_kafka(self, line: Line) -> e.Event:
        return self._kafka(line.words[0], line.options)

    def _kafka(self, name: str, options: Mapping[str, str]) -> e.KafkaMoveFound:
        lists = (ids(options[field]) for field in ("R", "adding", "removing"))
        return e.KafkaMoveFound(self.world.now_ms, *name_of(name), *lists)

    def do_statekey(self, line: Line) -> e.Event:
        topic, number = name_of(line.words[0])
        known = self.world.state.key_version(topic, number)
        at = KeyVersion(int(line.options.get("version", known.version + 5)), known.generation + 1)
        return e.StateKeyRead(self.world.now_ms, topic, number, self._found(topic, number, line), self._why(line), at)

    def _found(self, topic: str, number: int, line: Line) -> Partition | None:
        p = self.world.state.partition(topic, number)
        if "I" not in line.options or p is None:
            return None
        isr, epoch = ids(line.options["I"]), int(line.options.get("epoch", p.leader_epoch))
        leader, recovery = int(line.options.get("leader", p.leader)), int(line.options.get("recovery", 0))
        extra = {"other": line.options["extra"]} if "extra" in line.options else None
        return Partition(topic, number, p.replicas, isr, leader, epoch, None, 0, recovery, extra)

    def _why(self, line: Line) -> str | None:
        return "not JSON" if "broken" in line.words else None

    def do_topicread(self, line: Line) -> e.Event:
        name = line.words[0]
        lists = _lists(line.options["R"]) if "R" in line.options else ()
        extra = {"other": line.options["extra"]} if "extra" in line.options else None
        found = Topic(name, line.options.get("id", f"id-of-{name}"), {}, extra) if lists else None
        rows = tuple(Partition(name, i, replicas, replicas, replicas[0], 3) for i, replicas in enumerate(lists))
        if "I" in line.options:
            rows = (attrs.evolve(rows[0], isr=ids(line.options["I"])), *rows[1:])
        states = tuple(KeyVersion(1, 0) for _ in lists)
        moves = (
            (self._kafka(f"{name}-0", dict(line.options) | {"R": line.options["R"].split("/")[0]}),)
            if "adding" in line.options
            else ()
        )
        broken = {0: "not JSON"} if "broken_state" in line.words else {}
        why, at, config_at = self._why(line), self._at(keys.topic(name), line), KeyAt(keys.topic_config(name), 0)
        versions = KeyVersions.of(states)
        return e.TopicKeyRead(self.world.now_ms, name, at, found, rows, versions, {}, config_at, moves, why, broken)

    # --- throttles

    def do_reassign(self, line: Line) -> e.Event:
        """`reassign t-0=3,4 u-0=1 throttle=1000`; `keys=`: how many a commit takes."""
        options = {name: value for name, value in line.options.items() if name in ("throttle", "keys")}
        named = [(name_of(n), ids(target)) for n, target in line.options.items() if n not in options]
        targets = tuple(e.NamedTarget(*name, target) for name, target in named)
        throttle = int(options["throttle"]) if "throttle" in options else None
        return e.ReassignPartitions(*self._common(line), targets, throttle)

    def _common(self, line: Line) -> tuple[int, bool, bool, CommitLimits]:
        limits = CommitLimits(int(line.options.get("keys", 1000)), 1_000_000)
        return self.world.now_ms, "only" in line.words, "stays" not in line.words, limits

    def do_rates(self, line: Line) -> e.Event:
        """`rates 1=5000/6000 2=7000/7000`, `reassignment` for the other family."""
        pairs = [(int(b), *map(int, rate.split("/"))) for b, rate in line.options.items() if b != "keys"]
        family: Family = "reassignment" if "reassignment" in line.words else "replication"
        rates = tuple((broker, leader, follower) for broker, leader, follower in pairs)
        return e.AlterThrottledRates(*self._common(line), rates, family)

    def do_lists(self, line: Line) -> e.Event:
        """`lists t-0=1,2/3`; `all` is every broker."""
        found = []
        for name, sides in line.options.items():
            if name != "keys":
                leaders, followers = (None if side == "all" else ids(side) for side in sides.split("/"))
                found.append((*name_of(name), leaders, followers))
        return e.AlterThrottledReplicas(*self._common(line), tuple(found))

    def do_removal(self, _: Line) -> e.Event:
        return e.ThrottleRemovalDue(self.world.now_ms)

    def do_brokerconfig(self, line: Line) -> e.Event:
        return self._broker_config(line.words[0], line)

    # --- the legacy key

    def do_legacykey(self, line: Line) -> e.Event:
        found, at = plan(line), self._at(keys.REASSIGN_PARTITIONS, line)
        return e.LegacyKeyRead(self.world.now_ms, at if found.is_there else KeyAt(at.path, 0), found)

    def do_legacyplan(self, _: Line) -> e.Event:
        return e.LegacyPlanDue(self.world.now_ms)

    def do_legacydue(self, _: Line) -> e.Event:
        return e.LegacyKeyDue(self.world.now_ms)


def _retirements(words: list[str]) -> dict[int, Retirement]:
    found = {}
    for word in words:
        number, timestamp, *rest = word.split(":")
        found[int(number)] = Retirement(int(timestamp), rest == ["now"])
    return found


def _settings(line: Line) -> Mapping[str, str]:
    """`unread`: those that were known last, of a key that cannot be read."""
    configs = {name: value for name, value in line.options.items() if name != "version"}
    return UnreadConfigs(configs) if "unread" in line.words else configs


def _broker(word: str, options: Mapping[str, str]) -> Broker:
    broker, _, rack = word.partition(":")
    return Broker(BrokerRegistration(int(broker), rack=rack or None), int(options.get("epoch", 2)))
