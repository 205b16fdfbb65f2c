"""Controllers whose throttles are broken on purpose."""

from __future__ import annotations

from typing import Any, Final

import attrs

from kedge.controller.codec import keys
from kedge.controller.keys.throttles import ThrottleKeys
from kedge.controller.machine import RULES
from kedge.controller.model.events import Decision, ThrottleDue, ThrottleRemovalDue
from kedge.controller.model.throttles import ThrottledReplicas
from kedge.controller.model.values import Settings
from kedge.controller.records import ThrottlesEnded
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import is_marked, set_by_hand
from kedge.controller.rules.throttling import due, keeping
from tests.simulation.clusters import AFTER, ORDERS, leading, orders, running, settle
from tests.simulation.enumeration import crash_at, until_so
from tests.simulation.mutant import Mutant, Patch, replaced
from tests.simulation.throttle_scenarios import LEADER_RATE, OPTIONS, ask_for_a_rate


def forgets_what_was(patch: Patch) -> None:
    """A throttle over an operator's value does not keep it."""
    right = keeping.brought

    def brought(*of: Any) -> Any:
        value, mark = right(*of)
        return value, mark and attrs.evolve(mark, previous=None)

    patch.setattr(keeping, "brought", brought)


def removes_before_the_end(patch: Patch) -> None:
    """A takeover removes what is marked, whatever runs."""

    def removal_due(view: Any, event: Any) -> Decision:
        every = ((kind, owner) for kind, marks in view.throttles.marks.items() for owner in marks)
        return Decision((ThrottlesEnded(),), expand=tuple(ThrottleDue(event.now_ms, *one) for one in every))

    patch.setitem(RULES, ThrottleRemovalDue, removal_due)
    patch.setattr(due, "_is_held_up", lambda _: False)


def marks_after_the_settings(patch: Patch) -> None:
    """The mark is written once every throttle is set, not together with each of them."""
    right = ThrottleKeys.op

    def op(self: ThrottleKeys, of: Any, key: str) -> Any:
        is_pending = any(mark.is_pending for mark in self.state.throttles.marks[of].values())
        return None if is_pending else right(self, of, key)

    patch.setattr(ThrottleKeys, "op", op)


def _reassign(rig: Rig) -> None:
    until_so(
        rig,
        lambda: AFTER in (rig.partition(ORDERS).target_replicas, rig.partition(ORDERS).replicas),
        lambda: rig.admin.reassign_partitions({ORDERS: AFTER}, OPTIONS),
    )


def _ended(rig: Rig, timeout_s: float = 60.0) -> None:
    rig.wait.until_replicas({ORDERS: AFTER})
    rig.until(lambda: not is_marked(rig), timeout_s=timeout_s, what="no throttle is marked")
    settle(rig)


def _over_an_operators_rate(rig: Rig) -> None:
    set_by_hand(rig, "brokers", "1", {LEADER_RATE: "7700000"})
    rig.run(100)
    _reassign(rig)
    _ended(rig)


def _an_operator_meanwhile(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    _reassign(rig)
    set_by_hand(rig, "brokers", "1", {LEADER_RATE: "7700000"})
    rig.mishaps.resume_broker(6)
    _ended(rig)


def _an_operator_by_the_api_in_the_same_commit(rig: Rig) -> None:
    ask_for_a_rate(rig, "7700000")
    _reassign(rig)
    _ended(rig)


def _a_topic_that_cannot_be_read(rig: Rig) -> None:
    """Of which another request says nothing."""
    other = rig.create_topic("other", replicas=[[1, 2]])[0]
    rig.mishaps.pause_broker(6)
    _reassign(rig)
    rig.mishaps.break_key(keys.topic("orders"))
    rig.mishaps.kill_controller(leading(rig).node_id)
    asked = {other: ThrottledReplicas([1], [2])}
    answer = rig.admin.alter_interbroker_throttled_replicas(asked).all()
    rig.result(answer)
    rig.mishaps.heal()
    _ended(rig)


def _failover(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    _reassign(rig)
    rig.mishaps.kill_controller(leading(rig).node_id)
    leading(rig)
    rig.run(500)
    rig.mishaps.heal()
    _ended(rig, timeout_s=20)


def _every_crash_of_small_steps(rig: Rig) -> None:
    del rig
    for nth in range(1, 12):
        one = orders(records=50, settings=Settings(commit_decisions_max=1), store={"commit_ops_max": 10})
        crash_at(one, leading(one), nth, "applied, reply lost")
        running(leading(one)).admin.reassign_partitions({ORDERS: AFTER}, OPTIONS)
        one.run(3_000)
        one.mishaps.heal()
        one.until(lambda one=one: not is_marked(one), what="no throttle is marked")  # type: ignore[misc]
        settle(one)


def throttled() -> Rig:
    """What the scenarios begin with."""
    return orders(copy_rate_bytes_s=1_000_000)


_TAKES_ALL: Final = replaced(keeping, "given_back", lambda *_: None)
MUTANTS: Final = {
    # As the proposal has it: whatever stands there goes.
    "removes what it did not set": Mutant(_TAKES_ALL, _an_operator_meanwhile, "invariant 6"),
    "removes what an operator had": Mutant(_TAKES_ALL, _over_an_operators_rate, "invariant 6"),
    "forgets what was": Mutant(forgets_what_was, _over_an_operators_rate, "invariant 6"),
    "forgets what was in the same commit": Mutant(
        forgets_what_was, _an_operator_by_the_api_in_the_same_commit, "invariant 6"
    ),
    # A request that replaces throttles drops the marks of those whose settings cannot be read.
    "forgets who cannot be read": Mutant(
        replaced(due, "is_unread", lambda *_: False), _a_topic_that_cannot_be_read, "invariant 6"
    ),
    "removes before the end": Mutant(removes_before_the_end, _failover, "invariant 6"),
    "marks after the settings": Mutant(marks_after_the_settings, _every_crash_of_small_steps, "invariant 6"),
    "finds no marks": Mutant(replaced(ThrottleKeys, "load", lambda *_: []), _failover, "marked|invariant"),
}
