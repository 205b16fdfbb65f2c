"""The operators' commands against Kedge's own brokers: what Kedge can do beyond Kafka, by its private requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.waiting import until
from tests.serve.conftest import Run, commands_of
from tests.wire.living import Living

pytestmark = pytest.mark.slow

PROGRAM = "from kedge.controller.cli import main; main()"


@pytest.mark.checklist(221, 222, 223, 224)
def test_a_topic_gets_fewer_partitions_later_or_at_once(run: Run) -> None:
    """What is done at once is requested first, and no server answers here."""
    done = run("topics", "--create", "--topic", "shrunk", "--replica-assignment", "1:2,2:3,3:1")
    name = "shrunk"
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "Created topic shrunk.")
    fewer = ("topics", "--alter", "--topic", name, "--partitions", 2)
    done = run(*fewer)
    assert (
        done.exit_code,
        "nothing was changed: --yes deletes 1 partition of shrunk at once, with all that it holds;" in done.stderr,
    ) == (1, True)
    done = run(*fewer, "--delete-partitions-delay")
    assert (done.exit_code, "WARNING: If partitions are removed from a topic that has a key" in done.stderr) == (
        0,
        True,
    )
    assert done.stdout == "Read-only now, and deleted when the retention ends: partition(s) 2 of topic shrunk.\n"
    described = run("topics", "--describe", "--topic", name).stdout.splitlines()
    assert [line.endswith("Status: readOnly") for line in described[1:]] == [False, False, True]
    done = run("topics", "--alter", "--topic", name, "--partitions", 1, "--delete-partitions-delay")
    problem = "topic shrunk is being reduced now; nothing was changed; try again when that has ended"
    assert (done.exit_code, done.stderr) == (1, f"Error while executing topic command : {problem}\n")
    done = run(*fewer, "--yes")
    assert (done.exit_code, done.stdout) == (0, "Deleted partition(s) 2 of topic shrunk.\n")
    until(lambda: "PartitionCount: 2\t" in run("topics", "--describe", "--topic", name).stdout)


def test_more_partitions_than_a_topic_has_are_refused_before_they_are_placed(living: Living, run: Run) -> None:
    many = ("--topic", "many", "--partitions", "2147483647")
    living.topic("many", [[1, 2]])
    for words in (("--create", *many, "--replication-factor", "2"), ("--alter", *many)):
        done = run("topics", *words, "--ignore-racks")
        assert (done.exit_code, "--ignore-racks places at most 100000 partitions" in done.stderr) == (1, True)


@pytest.mark.checklist(153, 154, 155)
def test_where_some_brokers_have_racks_and_some_none_that_has_to_be_said(tmp_path: Path) -> None:
    """Nothing is made or proposed before."""
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics":[{"topic":"blind"}]}')
    wanted = ("topics", "--create", "--topic", "blind", "--partitions", "3", "--replication-factor", "2")
    spread = ("reassign-partitions", "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3")
    with Living(racks={1: "a", 2: "b", 3: ""}) as living:
        run = commands_of(living.bootstrap)
        for words in (wanted, ("topics", "--create", "--topic", "blind")):
            done = run(*words)
            assert (done.exit_code, done.stdout) == (1, "")
            assert "Not all brokers have rack information. Add --ignore-racks in command line" in done.stderr
        assert run("topics", "--list").stdout == ""
        assert run(*wanted, "--ignore-racks").stdout == "Created topic blind.\n"
        done = run("topics", "--alter", "--topic", "blind", "--partitions", "6")
        assert (done.exit_code, "Add --ignore-racks" in done.stderr) == (1, True)
        assert run("topics", "--alter", "--topic", "blind", "--partitions", "6", "--ignore-racks").exit_code == 0
        done = run(*spread)
        assert (done.exit_code, "Add --disable-rack-aware in command line" in done.stderr) == (1, True)
        proposed = json.loads(run(*spread, "--disable-rack-aware", "--json").stdout)["proposed"]["partitions"]
        leaders = [entry["replicas"][0] for entry in proposed]
        assert (leaders[:3], sorted(leaders[:3])) == (leaders[3:], [1, 2, 3])


def test_a_setting_that_is_described_and_cannot_be_changed_is_said_to_be_read_only(run: Run) -> None:
    assert "broker.id=1 " in run("configs", "--describe", "--all", "--broker", 1).stdout
    done = run("configs", "--alter", "--broker", 1, "--add-config", "broker.id=2")
    said = "broker.id is read-only: it is set when the broker or the controller is started"
    assert (done.exit_code, done.stderr) == (1, f"Error: brokers/1: {said}\n")


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "--create", "--topic", "{name}"),
        ("topics", "--list"),
        ("configs", "--alter", "--broker", "1", "--add-config", "log.cleaner.threads=2"),
        ("configs", "--describe", "--broker", "1"),
        ("reassign-partitions", "--list"),
    ],
    ids=" ".join,
)
def test_a_stdout_that_cannot_be_written_is_one_line(living: Living, arguments: tuple[str, ...]) -> None:
    """As of every other command; where the reader is gone, there is nothing to say."""
    living.topic("orders", [[1]])

    def ended(stdout: Any, name: str) -> tuple[int, str]:
        words = [argument.format(name=name) for argument in arguments]
        command = [sys.executable, "-c", PROGRAM, "kafka", words[0], "--bootstrap-server", living.bootstrap, *words[1:]]
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr

    with Path("/dev/full").open("w") as full:
        assert ended(full, "full") == (2, "kedge: stdout: No space left on device\n")
    out, into = os.pipe()
    os.close(out)
    with os.fdopen(into, "w") as pipe:
        assert ended(pipe, "gone") == (1, "")
