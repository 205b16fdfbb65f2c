"""`kedge` beside Kafka's own tools at one gateway: each sees what the other began, and they print the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from tests.clients.cluster import Withheld
from tests.clients.driven import JavaTools

pytestmark = [pytest.mark.server, pytest.mark.full]

MOVES = "reassign-partitions"
FILE = "--reassignment-json-file"


def run(cluster: Withheld, command: str, *words: object) -> str:
    """What our command printed, which must have succeeded."""
    done = CliRunner().invoke(kedge, ["kafka", command, "--bootstrap-server", cluster.bootstrap, *map(str, words)])
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def lies(plan: str) -> list[tuple[int, list[int]]]:
    """Partitions and their replicas; directories are left out, which only newer tools ask for."""
    return [(row["partition"], row["replicas"]) for row in json.loads(plan)["partitions"]]


@pytest.mark.checklist(73)
def test_kafkas_tool_takes_a_proposal_of_the_command(
    java: JavaTools, cluster: Withheld, named: str, tmp_path: Path
) -> None:
    topics, proposed = tmp_path / "topics.json", tmp_path / "proposed.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": named}]}))
    words = ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,3")
    ours, theirs = run(cluster, MOVES, *words).splitlines(), java("reassign", *words).done.splitlines()
    assert [ours[0], *ours[2:4]] == [theirs[0], *theirs[2:4]]
    assert lies(ours[1]) == lies(theirs[1]) == [(0, [1, 2]), (1, [2, 3])]
    assert [(p, sorted(replicas)) for p, replicas in lies(ours[4])] == [(0, [1, 3]), (1, [1, 3])]
    proposed.write_text(ours[4])
    assert java("reassign", "--execute", FILE, str(proposed)).code == 0
    assert cluster.moving(named) == [0, 1]


@pytest.mark.checklist(61, 72, 123, 128)
def test_kafkas_tools_see_and_cancel_a_move_of_the_command(
    java: JavaTools, cluster: Withheld, named: str, tmp_path: Path
) -> None:
    """By the plan that the command lists. What moves is described with one column more, and nothing else is."""
    plan: Any = {"version": 1, "partitions": [{"topic": named, "partition": 0, "replicas": [3, 2]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    begun = run(cluster, MOVES, "--execute", FILE, file).splitlines()[-1]
    assert begun == f"Successfully started partition reassignment for {named}-0"
    assert cluster.moving(named) == [0]
    assert run(cluster, MOVES, "--list", "--text") == java("reassign", "--list").done
    assert run(cluster, MOVES, "--verify", FILE, file) == java("reassign", "--verify", FILE, str(file)).done
    describe = ("--describe", "--topic", named)
    ours, theirs = (run(cluster, "topics", *describe), java("topics", *describe).done)
    head, moving, still = theirs.splitlines()
    assert ours.splitlines() == [head, f"{moving}\tTarget Replicas: 3,2", still]
    listed = run(cluster, MOVES, "--list")
    assert lies(listed) == [(0, [3, 2])]
    file.write_text(listed)
    cancelled = java("reassign", "--cancel", FILE, str(file)).done
    assert cancelled.startswith(f"Successfully cancelled partition reassignment for: {named}-0\n")
    assert (cluster.moving(named), lies(run(cluster, MOVES, "--list"))) == ([], [])
    assert run(cluster, "topics", *describe) == java("topics", *describe).done
