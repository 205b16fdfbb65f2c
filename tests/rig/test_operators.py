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


STEPS = {
    "a value of another client is an operator's and is restored": (
        "foreign 770000 right, ours 5000 wrong, ours - wrong, ours 770000 right"
    ),
    "a rate that a throttle hides counts once answered": (
        "set 770000, ours 5000, done, settle 1, ours - wrong, ours 770000 right"
    ),
    "what is shown decides whether an unanswered request is done": (
        "set 770000, ours 5000, settle 2, ours - right, ours 770000 wrong"
    ),
    "what was not done in its term is not done later": "set 770000, settle 2, failed, ours 770000 wrong",
    "a request that failed may be done while its term lasts": "set 770000, failed, settle 1, ours 770000 right",
    "what was answered and is not done is reported": "set 770000, done, settle 1 reported",
    "a foreign write before a request": "set 770000, foreign 7700000, ours 770000, done, settle 1 right",
    "a foreign write after it, which the answer alone does not show": (
        "set 770000, ours 770000, foreign 7700000, done, settle 1 right"
    ),
    "elements stand beside those of a throttle": (
        "append 90:90, append 91:91, ours 0:1/90:90/91:91, subtract 90:90, ours 0:1/91:91 wrong, ours 91:91 right"
    ),
    "a topic of the same name has nothing of the deleted one": "foreign 90:90, deleted, ours - right",
    "what is answered once its topic is deleted was done before": (
        "set 90:90, ours 90:90, forget, done, settle 1, ours - right"
    ),
}
"""Values with a colon are lists of the topic t, others rates of broker 1. A step ends with what is checked then."""


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_throttles_that_are_not_an_operators_are_found(told: Told, steps: str) -> None:
    kind: MarkKind = "topics" if ":" in steps else "brokers"
    answers: list[Future[Any]] = []
    for step in steps.split(", "):
        verb, *words = step.split()
        value = None if not words or words[0] == "-" else words[0].replace("/", ",")
        reported: list[str] = []
        if verb in {"foreign", "ours"}:
            told.commit(FOREIGN if verb == "foreign" else CONTROLLER, value, kind)
        elif verb in {"set", "append", "subtract"}:
            answers.append(told.ask(OpType[verb.upper()], value, kind))
        elif verb == "settle":
            reported = told.operators.settle(int(words[0]))
        elif verb == "deleted":
            told.operators.follow(Committed(2, CONTROLLER, (Delete(key_of("topics"), Version(1)),)))
        elif verb == "forget":
            told.operators.forget("topics", "t")
        elif verb == "done":
            answers[-1].set_result(None)
        else:
            answers[-1].set_exception(TimeoutError())
        assert len(reported) == ("reported" in words), step
        if words and words[-1] in {"right", "wrong"}:
            assert bool(told.wrong()) is (words[-1] == "wrong"), step


def test_unchanged_value_of_another_client_is_no_operators(told: Told) -> None:
    """Another setting of the same key is written, beside a throttle."""
    told.commit(CONTROLLER, OURS)
    told.operators.follow(Committed(2, FOREIGN, (Put(key_of("brokers"), text(**{RATE: OURS, "other": "1"}), ABSENT),)))
    assert told.wrong()
    told.commit(CONTROLLER, None)
    assert not told.wrong()


def test_deletion_of_what_is_not_there_needs_no_commit(told: Told) -> None:
    told.ask(OpType.DELETE, None).set_result(None)
    assert told.operators.settle(1) == []


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
