"""`kedge kafka reassign-partitions --progress --watch` on a terminal, while throttled moves run behind a gateway."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from tests.cli.ran import KEDGE
from tests.kit.waiting import until
from tests.terminal import Terminal
from tests.wire.living import Living, records
from tests.wire.served import DEADLINE_S, RawClient

pytestmark = pytest.mark.full

TABLE = (
    "Topic      Partition  Broker  Status",
    "-------------------------------------",
    "orders     0          3       In sync",
    "orders     1          1       In sync",
)


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[tuple[Living, tuple[str, ...]]]:
    """Two partitions of a thousand messages are to go elsewhere, and the command that watches. Until `free` a byte a
    second is copied, so a few messages may arrive."""
    with Living() as living:
        first, second = living.topic("orders", [[1], [2]])
        with RawClient(living.address) as client:
            for tp in (first, second):
                data = {"index": tp.partition, "records": records(*[b"a" * 500] * 1000)}
                asked = {"topic_data": [{"name": "orders", "partition_data": [data]}], "transactional_id": None}
                answer = client.ask("Produce", 9, acks=1, timeout_ms=10_000, **asked)
                assert answer.responses[0].partition_responses[0].error_code == 0
        living.throttle(1)
        living.move(first, [3])
        living.move(second, [1])
        plan = tmp_path / "plan.json"
        rows = [{"topic": "orders", "partition": p, "replicas": replicas} for p, replicas in enumerate(([3], [1]))]
        plan.write_text(json.dumps({"version": 1, "partitions": rows}))
        watch = ("--progress", "--watch", "--reassignment-json-file", str(plan))
        yield living, (*KEDGE, "kafka", "reassign-partitions", "--bootstrap-server", living.bootstrap, *watch)


def free(living: Living, follower: int) -> None:
    rates = {broker: ["leader"] for broker in (1, 2)}
    rates[follower] = [*rates.get(follower, ()), "follower"]
    ops = {
        ConfigResource(ConfigResourceType.BROKER, str(broker)): [
            AlterConfigOp(f"{side}.reassignment.throttled.rate", op=OpType.DELETE) for side in sides
        ]
        for broker, sides in rates.items()
    }
    living.cluster.controller.admin.incremental_alter_configs(ops).all().result(DEADLINE_S)


COPIED = r"{} of 2 done, [\d.]+ \w+ of 99\d\.\d KiB"


@pytest.mark.parametrize(
    "columns, told",
    [(120, f"{COPIED}.*, slowest orders-[01] ━"), (72, f"{COPIED} ━"), (40, "{} of 2 done")],
    ids=["wide", "medium", "narrow"],
)
def test_a_bar_fills_as_copies_arrive_and_the_table_stands_alone_at_the_end(
    moving: tuple[Living, tuple[str, ...]], columns: int, told: str
) -> None:
    living, command = moving
    with Terminal(command, columns=columns) as terminal:
        until(lambda: terminal.sees(re.compile("  0% " + told.format(0)).match))
        free(living, 1)
        until(lambda: terminal.sees(re.compile(" 50% " + told.format(1)).match))
        free(living, 3)
        assert terminal.ended(DEADLINE_S) == 0
        assert terminal.seen[-1] == TABLE
        assert terminal.shows_cursor()
        bars = [lines for lines in terminal.seen if lines and lines != TABLE and "%" in lines[0]]
        assert bars[0][0].startswith("  0% reading the plan")
        assert all(len(lines) == 1 for lines in bars), "a bar has one line"
        percents = [int(lines[0][:3]) for lines in bars]
        assert percents == sorted(percents)
        assert not terminal.sees(lambda line: re.search(r"\.\.\.|…|Traceback", line))


def test_who_interrupts_it_gets_the_terminal_back_and_the_moves_go_on(
    moving: tuple[Living, tuple[str, ...]],
) -> None:
    living, command = moving
    with Terminal(command, columns=80) as terminal:
        until(lambda: terminal.sees(re.compile("0 of 2 done, ").search))
        assert not terminal.shows_cursor()
        terminal.interrupt()
        assert terminal.ended(DEADLINE_S) == 1
        assert terminal.seen[-1] == ("Error: interrupted",)
        assert terminal.shows_cursor()
    assert living.is_moving
