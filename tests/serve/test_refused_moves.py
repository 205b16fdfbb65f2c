"""What a server refuses of a plan is printed partition by partition, and the rest is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge import Controller, Hooks, NewTopic, TopicPartition
from kedge.controller.cli.root import kedge
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.wire import Gateway
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.served import DEADLINE_S

FILE = "--reassignment-json-file"


def veto(tp: TopicPartition, target: Sequence[int]) -> str | None:
    return f"broker 3 takes no more than it has, not {tp}" if 3 in target else None


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_each_refused_partition_has_a_line_and_the_others_move(as_json: bool, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    wanted = {0: [1, 3], 1: [2, 1], 2: [3]}
    plan.write_text(
        json.dumps({"partitions": [{"topic": "t", "partition": p, "replicas": r} for p, r in wanted.items()]})
    )
    with Controller(MemoryStore(), 1, Brokers(), hooks=Hooks(alter_policy=veto)) as controller:
        controller.start()
        for broker in (1, 2, 3):
            controller.register_broker(BrokerRegistration(broker))
        until(lambda: len(controller.describe().live_brokers) == 3)
        new = NewTopic(-1, -1, [[1], [1], [1]])
        controller.admin.create_topics({"t": new}).all().result(DEADLINE_S)
        with Gateway(controller, cluster_id="kedge-under-test") as gateway:
            where = ["--bootstrap-server", f"{gateway.address.host}:{gateway.address.port}"]

            def run(*words: str) -> Result:
                return CliRunner().invoke(kedge, ["kafka", "reassign-partitions", *where, *words])

            done = run("--execute", FILE, str(plan), *(["--json"] if as_json else []))
            lines = [f"t-{p}: broker 3 takes no more than it has, not t-{p}" for p in (0, 2)]
            assert (done.exit_code, done.stderr.splitlines()) == (1, ["Error reassigning partition(s):", *lines])
            if as_json:
                answer = json.loads(done.stdout)
                assert answer["started"] == [{"topic": "t", "partition": 1}]
                assert [(each["partition"], each["code"]) for each in answer["refused"]] == [(0, 44), (2, 44)]
            listed = json.loads(run("--list").stdout)["partitions"]
            assert [entry["partition"] for entry in listed] == [1]
