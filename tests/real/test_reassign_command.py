"""`kedge kafka reassign-partitions --zookeeper`: the key of Kafka's old tool, on a real ZooKeeper
with a controller of Kedge behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.stores import open_store
from tests.real.cluster import Cluster
from tests.real.served import Served, serve

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

FILE = "--reassignment-json-file"
DEPRECATED = "Warning: --zookeeper is deprecated, and will be removed in a future version. Use --bootstrap-server.\n"


@pytest.fixture
def zookeeper() -> Iterator[Served]:
    with serve("zookeeper") as served:
        yield served


def run(zookeeper: Served, *arguments: object) -> Result:
    place = zookeeper.place.partition("://")[2]
    return CliRunner().invoke(kedge, ["kafka", "reassign-partitions", "--zookeeper", place, *map(str, arguments)])


def is_there(zookeeper: Served, key: str) -> bool:
    with closing(open_store(zookeeper.place)) as store:
        return store.get(key, sync=True, timeout_s=10) is not None


@pytest.mark.checklist(59, 115, 117)
def test_a_plan_goes_by_the_key_and_is_verified(zookeeper: Served, tmp_path: Path) -> None:
    """Only one plan at a time."""
    with Cluster(zookeeper, tmp_path, controllers=1, brokers=3, session_s=10.0) as cluster:
        (t0, t1) = cluster.create_topic("t", [[1, 2], [2, 1]], records=1)
        plan, topics = tmp_path / "plan.json", tmp_path / "topics.json"
        plan.write_text('{"partitions":[{"topic":"t","partition":0,"replicas":[3,2]}]}')
        topics.write_text('{"topics":[{"topic":"t"}]}')
        cluster.note({t0: (3, 2)})
        cluster.hold_back({t0: (3, 2)})

        done = run(zookeeper, "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2,3", "--seed", 1)
        assert (done.exit_code, done.stderr) == (0, DEPRECATED)
        assert json.loads(done.stdout.splitlines()[1])["partitions"][1]["replicas"] == [2, 1]

        done = run(zookeeper, "--execute", FILE, plan)
        assert (done.exit_code, done.stderr) == (0, DEPRECATED)
        assert done.stdout.splitlines()[2] == (
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}'
        )
        assert done.stdout.splitlines()[-1] == "Successfully started partition reassignment for t-0"
        done = run(zookeeper, "--execute", FILE, plan)
        assert (done.exit_code, done.stderr) == (1, DEPRECATED + "Error: There is an existing assignment running.\n")
        done = run(zookeeper, "--verify", FILE, plan)
        assert (
            done.stdout == "Status of partition reassignment:\nReassignment of partition t-0 is still in progress.\n\n"
        )

        cluster.let_go({t0: (3, 2)})
        cluster.until(lambda: cluster.settled({t0: (3, 2)}), "the move is complete")
        cluster.until(
            lambda: '"completed"' in run(zookeeper, "--verify", FILE, plan, "--json").stdout, "the key is gone"
        )
        done = run(zookeeper, "--verify", FILE, plan)
        assert done.stdout == "Status of partition reassignment:\nReassignment of partition t-0 is completed.\n\n"
        assert done.stderr == DEPRECATED
        assert cluster.partition(t1).replicas == (2, 1)
        cluster.until_converged()
        assert cluster.findings() == ()


REFUSED = {
    '{"topic":"t","partition":0,"replicas":[1,9]}': "Unknown broker id 9",
    '{"topic":"u","partition":0,"replicas":[1]}': "Topic u not found.",
    '{"topic":"t","partition":7,"replicas":[1]}': "Unable to find partition: t-7",
    '{"topic":"t","partition":0,"replicas":[1],"log_dirs":["/d"]}': "log_dirs: expected none with --zookeeper, ",
}


def test_what_is_not_there_is_refused_and_nothing_written(zookeeper: Served, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    with Cluster(zookeeper, tmp_path, controllers=1, brokers=1, session_s=10.0) as cluster:
        cluster.create_topic("t", [[1]], records=0)
        for entry, problem in REFUSED.items():
            plan.write_text(f'{{"partitions":[{entry}]}}')
            done = run(zookeeper, "--execute", FILE, plan)
            assert (done.exit_code, done.stdout) == (1, "")
            assert f"Error: {problem}" in done.stderr
            assert not is_there(zookeeper, "/admin/reassign_partitions")
