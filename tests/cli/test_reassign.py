"""`kedge kafka reassign-partitions` without a server: options that do not fit, bad plans, and its output."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.cli.kafka.errors import Failed, dumped
from kedge.controller.cli.kafka.throttled import Lists, lists
from kedge.controller.cli.kafka.values import Move
from kedge.controller.cli.reassign.plan import document, parse_plan, read_plan, read_topics
from kedge.controller.cli.reassign.progress import Row, table
from kedge.controller.cli.reassign.verify import rollback_text
from kedge.controller.cli.root import kedge
from kedge.controller.codec.printed import CURRENT, PROPOSED
from kedge.controller.model.values import TopicPartition
from tests.cli.ran import refused

NOWHERE = ("--bootstrap-server", "127.0.0.1:1")
PLAN = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
ACTIONS = "--generate, --execute, --verify, --progress, --list, --cancel, --cancel-all"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    file.write_text(PLAN)
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(kedge, ["kafka", "reassign-partitions", *map(str, arguments)])


@pytest.mark.checklist(71)
@pytest.mark.parametrize("actions", [(), ("--list", "--verify"), ("--execute", "--cancel-all")])
def test_there_is_exactly_one_action(actions: tuple[str, ...]) -> None:
    assert f"Command must include exactly one action: {ACTIONS}" in refused(run(*NOWHERE, *actions))


@pytest.mark.checklist(60)
def test_brokers_and_zookeeper_together_are_refused(plan: Path) -> None:
    done = run(*NOWHERE, "--zookeeper", "127.0.0.1:1", "--execute", "--reassignment-json-file", plan)
    assert (done.exit_code, "Only one of --bootstrap-server and --zookeeper can be given" in done.stderr) == (2, True)


@pytest.mark.checklist(70)
@pytest.mark.parametrize("action", ["--progress", "--list", "--cancel", "--cancel-all"])
def test_what_zookeeper_cannot_do_is_refused(action: str, plan: Path) -> None:
    more = () if action in {"--list", "--cancel-all"} else ("--reassignment-json-file", plan)
    done = run("--zookeeper", "127.0.0.1:1", action, *more)
    assert (done.exit_code, f"{action} needs --bootstrap-server" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_unreachable_server_is_one_line_and_exit_code_1(as_json: bool, tmp_path: Path) -> None:
    config = tmp_path / "properties"
    config.write_text("socket.connection.setup.timeout.ms=200")
    done = run(*NOWHERE, "--cancel-all", "--command-config", config, *(["--json"] if as_json else []))
    assert (done.exit_code, done.stderr) == (1, "Error: 127.0.0.1:1: Connection refused\n")
    assert done.stdout == ('{"error": "127.0.0.1:1: Connection refused"}\n' if as_json else "")


@pytest.mark.checklist(74)
@pytest.mark.parametrize(
    "text,problem",
    [
        ("", "The input string shouldn't be empty"),
        ("{", "Failed to parse the JSON: "),
        ("[" * 100_000, "Failed to parse the JSON: "),
        ("[]", "Expected a JSON object, got []"),
        ("{}", "Partition reassignment list cannot be empty"),
        ('{"version":2}', "Not supported version field value 2"),
        ('{"version":true}', "Not supported version field value true"),
        ('{"partitions":{}}', "partitions: expected a list, got {}"),
        ('{"partitions":[7]}', "partitions: expected objects, got 7"),
        ('{"partitions":[{"partition":0,"replicas":[1]}]}', "topic: expected a string, got null"),
        ('{"partitions":[{"topic":"t","partition":-1,"replicas":[1]}]}', "partition: expected a number from 0"),
        ('{"partitions":[{"topic":"t","partition":"0","replicas":[1]}]}', "partition: expected a number from 0 to"),
        ('{"partitions":[{"topic":"t","partition":0}]}', "t-0: replicas: expected a list of broker ids, got null"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[1.5]}]}', "t-0: replicas: expected a number from 0"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[true]}]}', "t-0: replicas: expected a number from 0"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[99999999999]}]}', "t-0: replicas: expected a number"),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":"x"}]}',
            "t-0: log_dirs: expected a list",
        ),
    ],
)
def test_bad_plan_is_one_line_and_no_request(text: str, problem: str, tmp_path: Path) -> None:
    """No server listens at the address: a plan that was accepted would end with that error."""
    file = tmp_path / "plan.json"
    file.write_text(text)
    for action in ("--execute", "--verify", "--progress", "--cancel"):
        done = run(*NOWHERE, action, "--reassignment-json-file", file)
        assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert done.stderr.startswith(f"Error: {problem}")


def test_a_file_that_is_not_there_or_no_text_is_one_line(tmp_path: Path) -> None:
    done = run(*NOWHERE, "--verify", "--reassignment-json-file", tmp_path / "gone")
    said = f"Error: Unable to read file {tmp_path / 'gone'}: No such file or directory\n"
    assert (done.exit_code, done.stderr) == (1, said)
    (tmp_path / "bytes").write_bytes(b"\xff{}")
    done = run(*NOWHERE, "--verify", "--reassignment-json-file", tmp_path / "bytes")
    assert (done.exit_code, done.stderr) == (1, "Error: Failed to parse the JSON: not text in UTF-8 or UTF-16\n")


@pytest.mark.parametrize(
    "text,problem",
    [
        ('{"topics":[]}', "names no topics"),
        ('{"topics":[{"topic":"a"},{"topic":"a"}]}', "List of topics to reassign contains duplicate entries: a"),
        ('{"topics":[{"name":"a"}]}', "topic: expected a string, got null"),
        ('{"version":7,"topics":[{"topic":"a"}]}', "Not supported version field value 7"),
    ],
)
def test_bad_lists_of_topics_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text(text)
    with pytest.raises(Failed, match=problem):
        read_topics(file)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True], ids=["generate", "execute"])
def test_saved_output_is_a_plan(tmp_path: Path, kept: bool) -> None:
    """Of both assignments the proposed one; the output of --execute has the current one alone, for a rollback."""
    tp, file = TopicPartition("t", 0), tmp_path / "saved.txt"
    text = rollback_text({tp: (1, 2)})
    if not kept:
        text = f"{CURRENT}\n{dumped(document({tp: (1, 2)}))}\n\n{PROPOSED}\n{dumped(document({tp: (3, 4)}))}\n"
    file.write_text(text)
    assert read_plan(file).targets == {tp: (1, 2) if kept else (3, 4)}
    config = tmp_path / "properties"
    config.write_text("socket.connection.setup.timeout.ms=100")
    done = run(*NOWHERE, "--verify", "--reassignment-json-file", file, "--command-config", config)
    heading = CURRENT if kept else PROPOSED
    assert f"kedge: {file}: of the saved output the assignment below {heading!r} is taken" in done.stderr


@pytest.mark.parametrize(
    "text, name",
    [
        ('{"partitions":[],"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}', "partitions"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[1],"replicas":[2]}]}', "replicas"),
    ],
)
def test_a_name_that_a_plan_has_twice_is_refused(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    done = run(*NOWHERE, "--verify", "--reassignment-json-file", file)
    assert (done.exit_code, done.stderr) == (1, f"Error: {file}: {name!r} occurs twice in one object\n")


@given(st.text())
def test_whatever_stands_in_a_file_is_a_plan_or_refused(text: str) -> None:
    with suppress(Failed):
        assert parse_plan(text).entries


@pytest.mark.slow
@given(
    st.dictionaries(
        st.builds(TopicPartition, st.text("abc", min_size=1), st.integers(0, 9)),
        st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True).map(tuple),
        min_size=1,
    )
)
def test_what_is_printed_is_a_plan_again(assignment: dict[TopicPartition, tuple[int, ...]]) -> None:
    assert parse_plan(dumped(document(assignment))).targets == dict(sorted(assignment.items()))


def test_directories_stand_beside_the_replicas() -> None:
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2, 3], "log_dirs": ["any", "/d", "any"]}
    assert parse_plan(json.dumps({"partitions": [entry]})).dirs == {(TopicPartition("t", 0), 2): "/d"}


def test_a_throttle_names_where_data_come_from_and_where_they_go() -> None:
    """A move that runs keeps its sources also where the plan gives it another target; brokers of all take part."""
    t0, t1, u0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
    running = {t1: Move((1, 2, 3), (3,), (1,)), u0: Move((5, 10, 2), (2,), ())}
    held = lists(running, {t0: (2, 9), t1: (4, 2)}, {t0: (1, 2), t1: (1, 2, 3)})
    assert held == Lists(
        {"t": "0:1,0:2,1:1,1:2", "u": "0:10,0:5"},
        {"t": "0:9,1:4", "u": "0:2"},
        (1, 2, 4, 5, 9, 10),
        {t0: ((1, 2), (9,)), t1: ((1, 2), (4,)), u0: ((5, 10), (2,))},
    )


@pytest.mark.checklist(68)
def test_the_table_of_progress_has_the_columns_of_the_page() -> None:
    rows = [
        Row("my_topic", 0, 0, "In sync"),
        Row("my_topic", 0, 1, "Behind: 10456 messages behind", 10456),
        Row("asdf", 0, 1, "Unknown topic"),
        Row("my_topic", 42, 1, "Unknown partition"),
    ]
    assert table(rows).splitlines() == [
        "Topic      Partition  Broker  Status",
        "-------------------------------------",
        "my_topic   0          0       In sync",
        "my_topic   0          1       Behind: 10456 messages behind",
        "asdf       0          1       Unknown topic",
        "my_topic   42         1       Unknown partition",
    ]
    wide = table([Row("a_long_name_of_a_topic", 123456, 1000001, "In sync"), Row("b\x1b[2J", 0, 1, "In sync")])
    assert wide.splitlines()[2] == "a_long_name_of_a_topic  123456     1000001  In sync"
    assert wide.splitlines()[3].startswith("b\\x1b[2J ")
