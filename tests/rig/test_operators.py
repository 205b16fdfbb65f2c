"""What of throttles is an operator's, commit by commit."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.throttles import MarkKind
from kedge.controller.rig import Rig
from kedge.controller.rig.operators import MARKS, Operators
from kedge.controller.rig.outside import configs
from kedge.controller.rig.server import FOREIGN, Committed, RecordingServer, write
from kedge.stores.base import ABSENT, Delete, Put, Version

RATE, LIST = RATES["replication"][0], LISTS[0]
OURS, THEIRS = "5000", "770000"
CONTROLLER = "controller 101"


def key_of(kind: MarkKind) -> str:
    return keys.topic_config("t") if kind == "topics" else keys.broker_config("1")


def text(**configs: str | None) -> bytes:
    found = {name: value for name, value in configs.items() if value is not None}
    return json.dumps({"version": 1, "config": found}).encode()


class Told:
    """Operators, and the answers that they get."""

    def __init__(self) -> None:
        self.operators = Operators()

    def commit(self, sender: str, value: str | None, kind: MarkKind = "brokers") -> None:
        """The key of broker 1, or of topic t, holds this."""
        config = RATE if kind == "brokers" else LIST
        put = Put(key_of(kind), text(**{config: value}), ABSENT)
        self.operators.follow(Committed(1, sender, (put,)))

    def ask(self, op: OpType, value: str | None, kind: MarkKind = "brokers") -> Future[Any]:
        """An operator asks the admin API of the term of epoch 1, and is not answered yet."""
        self.operators.settle(1)
        answer: Future[Any] = Future()
        change = AlterConfigOp(RATE if kind == "brokers" else LIST, value, op)
        self.operators.asked(kind, "1" if kind == "brokers" else "t", change, answer)
        return answer

    def wrong(self) -> list[str]:
        return self.operators.wrong(["t"], [1])


@pytest.fixture
def told() -> Told:
    return Told()


def test_value_written_by_another_client_is_an_operators_and_is_restored(told: Told) -> None:
    told.commit(FOREIGN, THEIRS)
    assert not told.wrong()
    told.commit(CONTROLLER, OURS)
    assert told.wrong()
    told.commit(CONTROLLER, None)
    assert told.wrong()
    told.commit(CONTROLLER, THEIRS)
    assert not told.wrong()


def test_unchanged_value_of_another_client_is_no_operators(told: Told) -> None:
    """Another setting of the same key is written, beside a throttle."""
    told.commit(CONTROLLER, OURS)
    told.operators.follow(Committed(2, FOREIGN, (Put(key_of("brokers"), text(**{RATE: OURS, "other": "1"}), ABSENT),)))
    assert told.wrong()
    told.commit(CONTROLLER, None)
    assert not told.wrong()


def test_operators_rate_hidden_by_a_throttle_in_its_commit_counts_once_answered(told: Told) -> None:
    answer = told.ask(OpType.SET, THEIRS)
    told.commit(CONTROLLER, OURS)
    answer.set_result(None)
    assert told.operators.settle(1) == []
    told.commit(CONTROLLER, None)
    assert told.wrong()
    told.commit(CONTROLLER, THEIRS)
    assert not told.wrong()


def test_what_is_shown_tells_whether_what_was_asked_for_without_an_answer_is_done(told: Told) -> None:
    told.ask(OpType.SET, THEIRS)
    told.commit(CONTROLLER, OURS)
    told.operators.settle(2)
    told.commit(CONTROLLER, None)
    assert not told.wrong()
    told.commit(CONTROLLER, THEIRS)
    assert told.wrong()


def test_what_was_not_done_in_the_term_is_not_done_later(told: Told) -> None:
    answer = told.ask(OpType.SET, THEIRS)
    told.operators.settle(2)
    answer.set_exception(TimeoutError())
    told.commit(CONTROLLER, THEIRS)
    assert told.wrong()


def test_a_request_that_failed_may_be_done_while_its_term_lasts(told: Told) -> None:
    told.ask(OpType.SET, THEIRS).set_exception(TimeoutError())
    told.operators.settle(1)
    told.commit(CONTROLLER, THEIRS)
    assert not told.wrong()


def test_what_was_answered_and_is_not_done_is_reported(told: Told) -> None:
    told.ask(OpType.SET, THEIRS).set_result(None)
    assert len(told.operators.settle(1)) == 1
    told.ask(OpType.DELETE, None).set_result(None)  # nothing was there: no commit
    assert told.operators.settle(1) == []


@pytest.mark.parametrize("writes_first", [True, False])
def test_foreign_write_during_a_request_may_come_before_or_after_it(told: Told, writes_first: bool) -> None:
    """The answer alone does not say."""
    answer = told.ask(OpType.SET, THEIRS)
    sides = [(FOREIGN, "7700000"), (CONTROLLER, THEIRS)]
    for sender, value in sides if writes_first else reversed(sides):
        told.commit(sender, value)
    answer.set_result(None)
    assert told.operators.settle(1) == []
    assert not told.wrong()


def test_elements_that_are_appended_and_subtracted_stand_beside_those_of_a_throttle(told: Told) -> None:
    told.ask(OpType.APPEND, "90:90", "topics")
    told.ask(OpType.APPEND, "91:91", "topics")
    told.commit(CONTROLLER, "0:1,90:90,91:91", "topics")
    told.ask(OpType.SUBTRACT, "90:90", "topics")
    told.commit(CONTROLLER, "0:1,91:91", "topics")
    assert told.wrong()
    told.commit(CONTROLLER, "91:91", "topics")
    assert not told.wrong()


def test_a_topic_of_the_same_name_has_nothing_of_the_deleted_one(told: Told) -> None:
    told.commit(FOREIGN, "90:90", "topics")
    told.operators.follow(Committed(2, CONTROLLER, (Delete(key_of("topics"), Version(1)),)))
    told.commit(CONTROLLER, None, "topics")
    assert not told.wrong()


def test_what_is_answered_once_its_topic_is_deleted_was_done_before(told: Told) -> None:
    answer = told.ask(OpType.SET, "90:90", "topics")
    told.commit(CONTROLLER, "90:90", "topics")
    told.operators.forget("topics", "t")
    answer.set_result(None)
    assert told.operators.settle(1) == []
    told.commit(CONTROLLER, None, "topics")
    assert not told.wrong()


def test_what_is_left_out_is_not_checked_and_the_rest_is(told: Told) -> None:
    told.operators.leave_out("brokers", "1", [RATE])
    told.commit(CONTROLLER, OURS)
    assert not told.wrong()
    told.commit(CONTROLLER, "0:1", "topics")
    assert told.wrong()


def test_what_anybody_asks_the_admin_api_of_a_rig_for_is_followed() -> None:
    """What is set, and what goes since it is not named; that a controller loses it is seen."""
    rig = Rig(brokers=dict.fromkeys((1, 2, 3)), check=False)
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    rig.result(rig.admin.incremental_alter_configs({broker: [AlterConfigOp(RATE, THEIRS)]}).all())
    rig.run(100)
    assert configs(rig, "brokers", "1") == {RATE: THEIRS}
    assert rig.operators.wrong([], [1]) == []
    rig.result(rig.admin.alter_configs({broker: {}}, validate_only=True).all())
    with rig.server.speaking(CONTROLLER):
        write(rig.server, key_of("brokers"), text())
    rig.run(100)
    assert len(rig.operators.wrong([], [1])) == 1
    write(rig.server, key_of("brokers"), text(**{RATE: THEIRS}))
    rig.run(100)
    rig.result(rig.admin.alter_configs({broker: {}}).all())
    rig.run(100)
    assert configs(rig, "brokers", "1") == {}
    assert rig.operators.wrong([], [1]) == []


@pytest.mark.parametrize("is_marked", [True, False])
def test_what_a_tree_begins_with_is_an_operators_unless_something_is_marked(told: Told, is_marked: bool) -> None:
    server = RecordingServer()
    write(server, key_of("brokers"), text(**{RATE: THEIRS}))
    if is_marked:
        write(server, MARKS[1], b'{"version":1,"brokers":[1]}')
    told.operators.load(server)
    assert not told.wrong()
    told.commit(CONTROLLER, None)
    assert bool(told.wrong()) is not is_marked


def test_a_request_replaces_until_it_was_answered_or_its_term_is_over(told: Told) -> None:
    first: Future[Any] = Future()
    second: Future[Any] = Future()
    told.operators.settle(1)
    told.operators.replacing(first)
    told.operators.replacing(second)
    first.set_result(None)
    second.set_exception(TimeoutError())
    told.operators.settle(1)
    assert told.operators.may_replace
    told.operators.settle(2)
    assert not told.operators.may_replace


@pytest.mark.parametrize("name", ["", "<default>"])
def test_what_all_brokers_have_is_no_throttle_of_an_operators(name: str) -> None:
    """Throttles stand in the settings of single brokers."""
    rig = Rig(brokers=dict.fromkeys((1, 2, 3)))
    op = AlterConfigOp(RATE, THEIRS)
    rig.result(rig.admin.incremental_alter_configs({ConfigResource(ConfigResourceType.BROKER, name): [op]}).all())
    rig.wait.until_converged()
    rig.check_end()
