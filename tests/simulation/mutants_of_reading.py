"""Controllers that read the store wrongly, on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import attrs

from kedge.controller.codec import keys, partition_state
from kedge.controller.codec import topic as topic_codec
from kedge.controller.keys.brokers import RegistrationKeys
from kedge.controller.keys.topic_load import TopicLoad
from kedge.controller.machine import RULES
from kedge.controller.model.events import BrokerCame, BrokerGone, Decision, Event, PartitionDue
from kedge.controller.model.records import Record
from kedge.controller.records import BadKey, BrokerRegistered
from kedge.controller.rig import InvariantBroken, Rig
from kedge.controller.rules import foreign_writes, leader_election
from kedge.controller.runtime.committer import Committer, End, Result
from kedge.controller.runtime.reconcile import Reconcile
from kedge.controller.runtime.requests import Builder
from kedge.controller.state import ClusterState
from kedge.stores.base import Changed, Resync
from kedge.stores.faults import LoseReply, at_commit
from tests.simulation.clusters import AFTER, ORDERS, leading, orders, put, settle
from tests.simulation.mutant import Mutant, Patch, replaced

STATE: Final = keys.state("orders", 0)
TOPIC: Final = keys.topic("orders")


def ignores_resync(patch: Patch) -> None:
    """Hints were lost, and no key is read again."""
    right = Reconcile.hint
    patch.setattr(Reconcile, "hint", lambda self, event: None if isinstance(event, Resync) else right(self, event))


def trusts_the_hint(patch: Patch) -> None:
    """A hint at a broker's key is taken for what it says: that the broker went, if it was there. Nothing is read."""
    right = Reconcile.hint

    def hint(self: Reconcile, event: Any) -> None:
        right(self, event)
        if isinstance(event, Changed) and event.key.startswith(keys.BROKER_IDS + "/"):
            gone = int(event.key.rpartition("/")[2])
            registered = self.registrations
            if gone in registered.brokers:
                del registered.brokers[gone]
                registered.hinted, registered.is_due = {}, True

    patch.setattr(Reconcile, "hint", hint)


def drops_unknown_fields(patch: Patch) -> None:
    """A state key is written with the fields that we know."""
    right = partition_state.encode
    patch.setattr(partition_state, "encode", lambda said, epoch: right(attrs.evolve(said, extra=None), epoch))


def takes_its_own_commit_for_foreign(patch: Patch) -> None:
    """What a commit wrote whose reply was lost is taken for a foreign write: undone, read, decided again."""
    right = Committer._look_up  # noqa: SLF001

    def look_up(self: Committer, attempt: Any) -> Result:
        result = right(self, attempt)
        return Result(End.CONFLICT, index=0, why="mine") if result.end is End.APPLIED and attempt.ops[2:] else result

    patch.setattr(Committer, "_look_up", look_up)


def lets_a_birth_overtake_the_death(patch: Patch) -> None:
    """A broker that bounced is live again before its death was worked off, which then finds no dead broker."""

    def came(view: Any, event: BrokerCame) -> Decision:
        return Decision() if event.broker.broker_id in view.brokers else Decision((BrokerRegistered(event.broker),))

    def brokers(self: RegistrationKeys, now_ms: int) -> list[Event]:
        self.is_due = False
        changed = [b for b in self.brokers.values() if self.state.brokers.get(b.broker_id, b).epoch != b.epoch]
        gone = [BrokerGone(now_ms, b.broker_id, self.state.brokers[b.broker_id].epoch) for b in changed]
        return [*gone, *(BrokerCame(now_ms, b) for b in changed)]

    patch.setitem(RULES, BrokerCame, came)
    patch.setattr(RegistrationKeys, "due", brokers)


def takes_the_unreadable_for_new(patch: Patch) -> None:
    """A partition whose state key cannot be read is one without a state: it gets its first leader."""
    patch.setattr(ClusterState, "load_problem", lambda *_: None)
    patch.setattr(BadKey, "apply", Record.apply)
    due = leader_election.partition_due
    right = TopicLoad._add_topic  # noqa: SLF001

    def add_topic(self: TopicLoad, key: Any, *rest: Any) -> None:
        right(self, key, *rest)
        self.events += [PartitionDue(self._now_ms, key.topic.name, p) for p in range(len(key.assignments))]

    patch.setitem(RULES, PartitionDue, due)
    patch.setattr(TopicLoad, "_add_topic", add_topic)


def says_all_is_named(patch: Patch) -> None:
    """A request is full, whatever could not be read."""
    right = Builder.leader_and_isr

    def full_one(self: Builder, broker: Any, numbers: Any, *, full: bool) -> Any:
        return attrs.evolve(right(self, broker, numbers, full=full), full=full)

    patch.setattr(Builder, "leader_and_isr", full_one)


def drops_fields_of_topics(patch: Patch) -> None:
    """A topic key is written with the fields that we know."""
    right = topic_codec.encode
    patch.setattr(topic_codec, "encode", lambda topic, lists: right(attrs.evolve(topic, extra=None), lists))


def _hints_are_lost(_: Rig) -> None:
    """More happens than a stream holds, while the controller stands still for less than its session."""
    rig = orders(store={"queue_events_max": 2})
    node = leading(rig)
    rig.mishaps.pause_controller(node.node_id, 400)
    for broker in (1, 2, 3):
        rig.mishaps.bounce_broker(broker)
    rig.run(1_000)
    settle(rig)


def _bounces(rig: Rig) -> None:
    """The leader is another process before anybody looked: a death, then a birth."""
    epoch = rig.partition(ORDERS).leader_epoch
    rig.mishaps.bounce_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader_epoch > epoch, timeout_s=20, what="a death was worked off")
    settle(rig)


def _writes_a_field_of_its_own(rig: Rig) -> None:
    """A later version of some tool keeps a note in the state key, and the partition moves."""
    put(rig, STATE, {**json.loads(rig.server.table.rows[STATE][0]), "note": {"by": "somebody"}})
    rig.reassign({ORDERS: AFTER})
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    settle(rig)
    if json.loads(rig.server.table.rows[STATE][0]).get("note") != {"by": "somebody"}:
        raise InvariantBroken(rig.server.revision, "an unknown field of a state key is lost")


def _replies_are_lost(_: Rig) -> None:
    """The reply to every commit of a move, each in a run of its own."""
    for nth in range(1, 8):
        rig = orders(records=50)
        rig.mishaps.plan_store_faults(leading(rig).node_id, at_commit(nth, LoseReply()))
        rig.reassign({ORDERS: AFTER})
        rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
        settle(rig)


def _broken(key: str, *, dies: int) -> Callable[[Rig], None]:
    """A key is unreadable when another controller takes over; then a broker dies for good, and the key is mended."""

    def scenario(rig: Rig) -> None:
        rig.mishaps.break_key(key)
        rig.mishaps.kill_controller(leading(rig).node_id)
        rig.run(2_000)
        rig.mishaps.kill_broker(dies)
        rig.run(500)
        rig.mishaps.mend_key(key)
        rig.until(lambda: dies not in rig.partition(ORDERS).isr, timeout_s=20, what=f"{dies} has left the isr")
        assert rig.partition(ORDERS).leader in (1, 2)
        rig.mishaps.heal()
        settle(rig)

    return scenario


def _a_field_in_the_topic_key(rig: Rig) -> None:
    """Of another program; the controller writes the key with a move. The rig itself asks for the field in the end."""
    rig.foreign_fields[TOPIC] = {"note"}
    put(rig, TOPIC, {**json.loads(rig.server.table.rows[TOPIC][0]), "note": 1})
    rig.reassign({ORDERS: AFTER})
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    settle(rig)


MUTANTS: Final = {
    "ignores resync": Mutant(ignores_resync, _hints_are_lost, "not within"),
    "trusts the hint": Mutant(trusts_the_hint, _bounces, "not within"),
    "drops unknown fields": Mutant(drops_unknown_fields, _writes_a_field_of_its_own, "unknown field"),
    "takes its own commit for foreign": Mutant(
        takes_its_own_commit_for_foreign, _replies_are_lost, "invariant|not within"
    ),
    "lets a birth overtake the death": Mutant(lets_a_birth_overtake_the_death, _bounces, "a death was worked off"),
    **{
        f"misses deaths: {name}": Mutant(
            replaced(foreign_writes, "missed", lambda *_: ()), scenario, "has left the isr"
        )
        for name, scenario in (
            ("follower, state", _broken(STATE, dies=3)),
            ("leader, topic", _broken(TOPIC, dies=1)),
            ("follower, topic", _broken(TOPIC, dies=3)),
        )
    },
    "takes the unreadable for new": Mutant(takes_the_unreadable_for_new, _broken(STATE, dies=1), "invariant 10"),
    "says all is named": Mutant(says_all_is_named, _broken(TOPIC, dies=1), "invariant 10"),
    "drops fields of topics": Mutant(drops_fields_of_topics, _a_field_in_the_topic_key, "invariant 10: .*note"),
}
