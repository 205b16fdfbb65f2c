"""Controllers that are broken on purpose."""

from __future__ import annotations

from typing import Any, Final

import attrs

from kedge.controller.codec import legacy as codec
from kedge.controller.keys.configs import TopicConfigKeys
from kedge.controller.keys.intents import NewIntentKeys
from kedge.controller.machine import RULES
from kedge.controller.model.events import AlterIsr, Decision, NotificationDone, ReductionKeyDue
from kedge.controller.model.requests import NewPartitions
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import InvariantBroken, NotInTime, Rig
from kedge.controller.rig.outside import submit_by_key
from kedge.controller.rules import completion, deletion, isr, leader_election, legacy, reassignment, takeover
from kedge.controller.rules.reduction import clock, partitions, purge
from kedge.controller.runtime import requests
from kedge.controller.runtime.lanes import Lane
from kedge.controller.runtime.ready import Ready
from kedge.controller.runtime.term import Term
from kedge.stores.base import ABSENT, PRESENT, Check, Put
from kedge.stores.memory import MemoryStore
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, Fence, Token
from tests.simulation.clusters import AFTER, ORDERS, asked, leading, leave_alone, orders, settle
from tests.simulation.mutant import Mutant, Patch, replaced
from tests.verify.explore import run_seed

SOON = Settings(delete_topic_partition_interval_delay_ms=100)  # how often clocks of read-only partitions are looked at


def _move_half_way(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    rig.run(500)
    rig.mishaps.heal()
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    settle(rig)


def completes_early(patch: Patch) -> None:
    """Complete as soon as one member of T is in sync."""
    right = completion.advance_move

    def advance_early(view: Any, partition: Any) -> Any:
        partition = right(view, partition)
        move = partition.move
        able = [b for b in move.target if b in partition.isr] if move is not None else []
        if not able:
            return partition
        left = tuple(b for b in partition.isr if b in move.target)
        epoch = partition.leader_epoch + 1
        return partition.but(replicas=move.target, isr=left, leader=able[0], leader_epoch=epoch, move=None)

    patch.setattr(completion, "advance_move", advance_early)


def sends_before_the_commit(patch: Patch) -> None:
    """What is decided goes out while the store has not heard of it."""
    right = Term._work_off  # noqa: SLF001

    def send_first(self: Term, ready: Ready) -> bool:
        self._publisher.publish_records(ready.batch.log)
        self.dispatcher.send()
        return right(self, ready)

    patch.setattr(Term, "_work_off", send_first)


def deletes_keys_before_logs(patch: Patch) -> None:
    """A topic's keys go though a broker has not deleted its log."""

    def are_gone(view: Any, name: str) -> bool:
        return bool(view.topic(name)) and view.left_to_stop(name) == 0

    patch.setattr(deletion, "_are_logs_gone", are_gone)


def leaves_settings_behind(patch: Patch) -> None:
    """The settings of a deleted topic stay for the next of its name."""
    right = TopicConfigKeys.op

    def op(self: TopicConfigKeys, of: str, key: str) -> Any:
        return right(self, of, key) if of in self.state.topics else None

    patch.setattr(TopicConfigKeys, "op", op)


def has_no_fence(patch: Patch) -> None:
    """Commits succeed though another one was elected meanwhile."""

    def ops(self: Fence, nonce: str) -> tuple[Check, Put]:
        token = Token(self.term.controller_epoch, self.next_seq, nonce)
        expect = ABSENT if self.token is None else PRESENT
        return (Check(EPOCH_KEY, PRESENT), Put(TOKEN_KEY, token.encode(), expect))

    patch.setattr(Fence, "ops", ops)


def keeps_the_leader_epoch(patch: Patch) -> None:
    """Another leader under the same epoch."""
    right = leader_election.elect_offline

    def elect(view: Any, partition: Any, *, unclean: bool) -> Any:
        after = right(view, partition, unclean=unclean)
        return after and attrs.evolve(after, leader_epoch=partition.leader_epoch)

    patch.setattr(leader_election, "elect_offline", elect)


def deletes_what_stays(patch: Patch) -> None:
    """A cancel deletes every replica that lags, also the original ones."""
    right = completion.change

    def change(view: Any, before: Any, decided: Any, *cause: Any, **more: Any) -> Any:
        if decided.move is None:
            more["dropped"] = [*more["dropped"], *(b for b in decided.replicas if b != decided.leader)]
        return right(view, before, decided, *cause, **more)

    patch.setattr(reassignment, "change", change)


def sends_nothing_after_a_takeover(patch: Patch) -> None:
    """What was committed and never sent is forgotten."""
    right = Term._begin  # noqa: SLF001

    def begin(self: Term, events: Any) -> None:
        right(self, events)
        for lane in self.dispatcher._lanes.values():  # noqa: SLF001
            lane.full = lane.metadata_full = lane.peers = False
            lane.intents.clear()

    patch.setattr(Term, "_begin", begin)


def shrinks_t(patch: Patch) -> None:
    """T loses who joined."""
    right = completion.advance_move

    def advance_and_shrink(view: Any, partition: Any) -> Any:
        partition = right(view, partition)
        move = partition.move
        if move is not None and any(b in partition.isr for b in move.target):
            left = tuple(b for b in move.target if b not in partition.isr)
            return partition.but(move=attrs.evolve(move, target=left))
        return partition

    patch.setattr(completion, "advance_move", advance_and_shrink)


def invents_moves(patch: Patch) -> None:
    """The key is written again with another target."""
    patch.setattr(codec, "dump_ids", lambda ids: "[" + ",".join(str(b) for b in reversed(ids)) + "]")


def _by_key(rig: Rig) -> None:
    submit_by_key(rig, {ORDERS: AFTER, TopicPartition("nowhere", 0): (1,)})
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    rig.wait.until_converged(timeout_s=20)


def _zombie(rig: Rig) -> None:
    zombie = leading(rig)
    rig.mishaps.pause_controller(zombie.node_id)
    leading(rig)
    rig.run(100)
    rig.mishaps.resume_controller(zombie.node_id, deaf_ms=300)
    asked(zombie, AFTER)
    rig.run(200)


def _last_of_the_isr_dies(rig: Rig) -> None:
    leave_alone(rig)
    rig.mishaps.kill_broker(1)
    rig.mishaps.restart_broker(2)
    rig.run(300)


def _leader_dies(rig: Rig) -> None:
    rig.mishaps.kill_broker(1)
    rig.run(300)


def _cancelled(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    rig.reassign({ORDERS: None})
    rig.run(200)
    rig.mishaps.heal()
    settle(rig)


def _intent_and_failover(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    rig.reassign({ORDERS: [1, 2]})
    rig.run(100)
    rig.mishaps.kill_controller(leading(rig).node_id)
    rig.mishaps.heal()
    settle(rig)


def _crash_after_the_commit(rig: Rig) -> None:
    node = leading(rig)
    asked(node, AFTER)
    rig.step()
    rig.mishaps.kill_controller(node.node_id)
    leading(rig)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)


def _unreachable(rig: Rig) -> None:
    node = leading(rig)
    rig.mishaps.cut_off(node.node_id, from_=4)
    rig.reassign({ORDERS: AFTER})
    rig.run(200)
    rig.mishaps.mend(node.node_id)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)


def restarts_the_time(patch: Patch) -> None:
    """A takeover counts the retention of a read-only partition from then on."""
    right = takeover.reduction_found

    def found(view: Any, read: Any) -> Any:
        taken, events = right(view, read)
        if taken is not None:
            entries = {p: attrs.evolve(one, timestamp_ms=read.now_ms) for p, one in taken.entries.items()}
            taken = attrs.evolve(taken, entries=entries)
        return taken, events

    patch.setattr("kedge.controller.keys.reductions.reduction_found", found)


def restarts_ids(patch: Patch) -> None:
    """A partition that comes back begins under the leader epoch of a new one."""
    right = leader_election.elect_first

    def elect(view: Any, partition: Any) -> Any:
        first = right(view, partition)
        return first and first.but(leader_epoch=0)

    patch.setattr(leader_election, "elect_first", elect)


def drops_the_status(patch: Patch) -> None:
    """An isr change writes the state key as if there was no status."""
    right: Any = isr.alter_isr

    def alter(view: Any, event: Any) -> Any:
        decision = right(view, event)
        records = [attrs.evolve(one, after=one.after.but(status_code=0)) for one in decision.records]
        return attrs.evolve(decision, records=tuple(records))

    patch.setitem(RULES, AlterIsr, alter)


def goes_offline_at_once(patch: Patch) -> None:
    """No retention is waited for."""
    patch.setattr(clock, "is_over", lambda *_: True)
    patch.setattr(partitions, "is_over", lambda *_: True)


def _three(rig: Rig) -> None:
    rig.create_topic("three", replicas=[[1, 2, 3]] * 3, records=20, configs={"retention.ms": "4000"})


def _reduced_with_a_failover(rig: Rig) -> None:
    _three(rig)
    rig.delete_partitions("three", 2)
    for _ in range(2):
        rig.run(2_500)
        rig.mishaps.kill_controller(leading(rig).node_id)
        leading(rig)
        for node_id in [n for n, node in rig.nodes.items() if node.process is None]:
            rig.mishaps.restart_controller(node_id)
    rig.until(lambda: len(rig.committed.topics["three"].assignments) == 2, timeout_s=2, what="it is gone")


def _reduced_and_expanded(rig: Rig) -> None:
    _three(rig)
    rig.delete_partitions("three", 2, immediate=True)
    rig.wait.until_converged(timeout_s=5)
    rig.result(rig.admin.create_partitions({"three": NewPartitions(3)}).all())
    settle(rig)


def _read_only_for_long(rig: Rig) -> None:
    rig.create_topic("long", replicas=[[1, 2, 3]] * 2, records=20)
    rig.delete_partitions("long", 1)
    rig.run(10_000)


def _isr_of_read_only(rig: Rig) -> None:
    _three(rig)
    rig.delete_partitions("three", 2)
    rig.mishaps.kill_broker(3)
    rig.run(1_500)
    rig.mishaps.restart_broker(3)
    rig.run(1_000)


def _reduced_with_a_broker_down(rig: Rig) -> None:
    _three(rig)
    rig.mishaps.kill_broker(3)
    rig.run(1_500)
    rig.delete_partitions("three", 2, immediate=True)
    rig.run(1_000)


def _key_put(rig: Rig) -> None:
    other = MemoryStore(rig.server)
    value = b'{"version":1,"partitions":[{"topic":"orders","partition":0}]}'
    other.commit([Put("/admin/preferred_replica_election", value, ABSENT)], timeout_s=1)
    other.close()
    rig.wait.until_converged(timeout_s=5)


def _deleted_with_a_broker_down(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    rig.run(100)
    rig.delete_topic("orders", wait=False)
    rig.run(300)
    rig.mishaps.heal()
    rig.until(lambda: "orders" not in rig.committed.topics, timeout_s=20, what="orders is gone")
    settle(rig)


def _some_seed(_: Rig) -> None:
    for seed in range(1, 60):
        error = run_seed(seed).error
        if error is not None:
            raise InvariantBroken(0, error) if "InvariantBroken" in error else NotInTime(error)


def controller() -> Rig:
    """What the scenarios begin with."""
    return orders(copy_rate_bytes_s=1_000_000, settings=SOON)


MUTANTS: Final = {
    "completes early": Mutant(completes_early, _move_half_way, "invariant [34]"),
    "sends before the commit": Mutant(sends_before_the_commit, _move_half_way, "invariant 9"),
    "does not send removed replicas": Mutant(
        replaced(completion, "intend_deletion", lambda *_: []), _move_half_way, "invariant 7"
    ),
    "loads no intents": Mutant(
        replaced(NewIntentKeys, "load", lambda *_: []), _intent_and_failover, "to be deleted|no longer a member"
    ),
    "has no fence": Mutant(has_no_fence, _zombie, "invariant 5"),
    "elects outside the ISR": Mutant(
        replaced(leader_election, "is_unclean_allowed", lambda *_: True), _last_of_the_isr_dies, "invariant 1"
    ),
    "keeps the leader epoch": Mutant(keeps_the_leader_epoch, _leader_dies, "invariant 5"),
    "deletes what stays": Mutant(deletes_what_stays, _cancelled, "invariant 4"),
    "sends nothing after a takeover": Mutant(sends_nothing_after_a_takeover, _crash_after_the_commit, "not within"),
    "shrinks T": Mutant(shrinks_t, _move_half_way, "invariant [234]"),
    "does not tell leaders the targets": Mutant(replaced(requests, "TARGETS_SINCE", 99), _move_half_way, "invariant 9"),
    "forgets what failed": Mutant(replaced(Lane, "not_delivered", lambda *_: False), _unreachable, "not within"),
    "keeps the legacy key": Mutant(
        replaced(legacy, "add_consequences", lambda _, __, decision: decision), _by_key, "not within"
    ),
    "invents moves": Mutant(invents_moves, _by_key, "invariant 3"),
    "deletes keys before logs": Mutant(deletes_keys_before_logs, _deleted_with_a_broker_down, "invariant 7"),
    "leaves settings behind": Mutant(
        leaves_settings_behind, _deleted_with_a_broker_down, "invariant 8|is left of a topic"
    ),
    "believes every ISR": Mutant(replaced(isr, "_check_epochs", lambda *_: None), _some_seed, "invariant"),
    "leaves notifications": Mutant(replaced(RULES, NotificationDone, lambda *_: Decision()), _key_put, "not handled"),
    "restarts the time": Mutant(restarts_the_time, _reduced_with_a_failover, "not within"),
    "restarts ids": Mutant(restarts_ids, _reduced_and_expanded, "invariant 8"),
    "drops the status": Mutant(drops_the_status, _isr_of_read_only, "invariant 8"),
    "purges before all have deleted": Mutant(
        replaced(purge, "_is_gone", lambda _, __, p: p.is_offline), _reduced_with_a_broker_down, "invariant [78]"
    ),
    "goes offline at once": Mutant(goes_offline_at_once, _read_only_for_long, "invariant 8"),
    "leaves the reduction key": Mutant(
        replaced(RULES, ReductionKeyDue, lambda *_: Decision()), _reduced_and_expanded, "names no existing partition"
    ),
}
