"""`kedge kafka topics` without a server: options that do not fit are exit code 2 and no request is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.cli.kafka.values import Move, PartitionState, TopicState
from kedge.controller.cli.root import kedge
from kedge.controller.cli.topics.changing import parse_assignment, pattern
from kedge.controller.cli.topics.describing import Row
from tests.kit.waiting import until
from tests.wire.living import Living


@given(st.lists(st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True), min_size=1))
def test_assignments_are_read_as_they_are_written(assignment: list[list[int]]) -> None:
    text = ",".join(":".join(map(str, replicas)) for replicas in assignment)
    assert parse_assignment(text) == assignment
    assert parse_assignment(text.replace(",", " , ").replace(":", " : ")) == assignment


@pytest.mark.parametrize(
    "given, meant",
    [
        ("test.a", {"test.a"}),
        ("test.a,other", {"test.a", "other"}),
        (" 'test.a' ", {"test.a"}),
        ("test.(a|b)", {"test.a", "test-a", "test.b"}),
        ("test..", set()),
        (".*a", {"test.a", "test-a"}),
    ],
)
def test_what_may_be_a_name_is_no_pattern(given: str, meant: set[str]) -> None:
    assert {name for name in ("test.a", "test-a", "test.b", "other") if pattern(given).fullmatch(name)} == meant


@pytest.mark.slow
def test_a_topic_is_deleted_by_its_name_and_what_was_deleted_is_printed() -> None:
    with Living() as living:
        for name in ("test.a", "test-a", "test_b", "test-b"):
            living.topic(name, [[1]])

        def run(*arguments: str) -> Result:
            return CliRunner().invoke(kedge, ["kafka", "topics", "--bootstrap-server", living.bootstrap, *arguments])

        assert run("--list", "--topic", "test.a").stdout == "test.a\n"
        done = run("--delete", "--topic", "test.a")
        assert (done.exit_code, done.stdout) == (0, "Deleted topic test.a.\n")
        until(lambda: "test.a" not in run("--list").stdout)
        done = run("--delete", "--topic", "test.a")
        assert (done.exit_code, done.stderr.endswith("Topic 'test.a' does not exist as expected\n")) == (1, True)
        assert run("--delete", "--topic", "test[-_]b").stdout == "Deleted topics test-b, test_b.\n"
        assert "test-a" in run("--list").stdout.splitlines()


@pytest.mark.slow
def test_a_proposal_that_fills_a_small_rack_is_a_warning_with_figures(tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text('{"topics":[{"topic":"wide"}]}')
    with Living({broker: "abc"[(broker - 1) // 3] for broker in range(1, 8)}) as living:
        living.topic("wide", [[1, 4, 7]] * 60)
        words = [
            "kafka",
            "reassign-partitions",
            "--bootstrap-server",
            living.bootstrap,
            "--generate",
            "--broker-list",
            "1,2,3,4,5,6,7",
        ]
        done = CliRunner().invoke(
            kedge, [*words, "--topics-to-move-json-file", str(tmp_path / "topics.json"), "--json"]
        )
    assert (done.exit_code, len(json.loads(done.stdout)["proposed"]["partitions"])) == (0, 60)
    said = r"kedge: warning: rack c has only broker 7, with 60 replicas; a broker of the larger racks has [12][0-9] to "
    assert re.match(said, done.stderr)


@pytest.mark.parametrize("replicas", [(2, 3, 1), (1, 2)], ids=["metadata with the move", "metadata before the move"])
def test_a_replica_that_is_being_added_does_not_count(replicas: tuple[int, ...]) -> None:
    """Metadata and moves are two requests: the metadata may be older, and lack the replica that is being added."""
    state = PartitionState(0, 1, replicas, (1, 2))
    topic = TopicState("t", "", is_internal=False, partitions=(state,))
    assert Row(topic, state, Move((2, 3, 1), (3,), (1,)), min_isr=1).replication_factor == 2
