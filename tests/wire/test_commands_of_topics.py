"""`kedge kafka topics` at Kedge's own gateway: places with and without racks, and the question before partitions go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from tests.wire.living import Living

pytestmark = pytest.mark.slow

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
KEDGE = (sys.executable, "-c", "from kedge.controller.cli import main; main()")


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(racks=RACKS) as opened:
        yield opened


def replicas(living: Living, topic: str) -> list[tuple[int, ...]]:
    return living.cluster.controller.query(lambda view: [p.replicas for p in view.partitions_of(topic)]).result(30)


@pytest.mark.checklist(154)
@pytest.mark.parametrize("option, by_id", [("--ignore-racks", True), ("--if-not-exists", False)])
def test_without_racks_leaders_follow_the_ids(living: Living, option: str, by_id: bool) -> None:
    topic = f"by-id-{by_id}"
    words = ["kafka", "topics", "--bootstrap-server", living.bootstrap, "--create", "--topic", topic, option]
    done = CliRunner().invoke(kedge, [*words, "--partitions", "6", "--replication-factor", "2"])
    assert done.exit_code == 0, done.output
    leaders = [each[0] for each in replicas(living, topic)]
    assert ([(broker - leaders[0]) % 6 for broker in leaders] == [0, 1, 2, 3, 4, 5]) == by_id
    assert by_id or all(len({RACKS[broker] for broker in each}) == 2 for each in replicas(living, topic))


@pytest.mark.checklist(221)
def test_before_partitions_go_a_person_is_asked(living: Living) -> None:
    """At a terminal; keyed records are named, and only yes deletes."""
    living.topic("shrunk", [[1, 2], [2, 3], [3, 1]])
    words = [
        *KEDGE,
        "kafka",
        "topics",
        "--bootstrap-server",
        living.bootstrap,
        "--alter",
        "--topic",
        "shrunk",
        "--partitions",
    ]

    def answered(answer: bytes) -> tuple[int, str]:
        person, terminal = os.openpty()
        try:
            os.write(person, answer)
            done = subprocess.run(
                [*words, "2"], stdin=terminal, capture_output=True, text=True, check=False, timeout=60
            )
        finally:
            os.close(person)
            os.close(terminal)
        return done.returncode, done.stderr

    code, said = answered(b"n\n")
    assert code == 1
    assert "WARNING: If partitions are removed from a topic that has a key" in said
    assert "Delete 1 partition of shrunk at once, with all that it holds?" in said
    assert len(replicas(living, "shrunk")) == 3
    assert answered(b"y\n")[0] == 0
    assert len(replicas(living, "shrunk")) <= 3
