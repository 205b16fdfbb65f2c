"""`kedge plan submit --bootstrap-server`: plans handed over by Kafka's protocol, to Kedge's gateway and to one that
offers what Kafka does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from click.testing import Result

from kedge import NewTopic
from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.values import Change, Op, Resource, ResourceType
from kedge.controller.wire.apis import APIS, logdirs, versions
from kedge.controller.wire.apis.logdirs import NO_DIRECTORY
from kedge.pipeline.submit.kept import progress_file
from tests.kit.commands import plan as run
from tests.kit.waiting import until
from tests.pipeline_submit.served import (
    KAFKAS_KEYS,
    LAYOUT,
    RACKS,
    exported,
    fill,
    objects,
    replicas,
    targets,
    throttles,
    wanted,
)
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S, Served

pytestmark = pytest.mark.slow

TOPIC: Final = "orders"
FAST, SLOW = "100MB", "1024"
COMMAND: Final = (sys.executable, "-c", "from kedge.controller.cli.root import kedge; kedge()", "plan", "submit")
OPERATORS: Final = {
    Resource(ResourceType.BROKER, "3"): {"leader.replication.throttled.rate": "777000"},
    Resource(ResourceType.TOPIC, TOPIC): {"follower.replication.throttled.replicas": "0:2"},
}


BOTH: Final = pytest.mark.parametrize("living", ["kedge", "kafka"], indirect=True)
AS_KEDGE: Final = pytest.mark.parametrize("living", ["kedge"], indirect=True)


def throttle(cluster: Cluster, settings: dict[Resource, dict[str, str]]) -> None:
    """An operator sets them."""
    changes = {at: [Change(name, Op.SET, value) for name, value in of.items()] for at, of in settings.items()}
    assert not cluster.alter_configs(changes)


def submit(living: Living, plan: Path, *more: object) -> Result:
    return run("submit", plan, "--bootstrap-server", living.bootstrap, "--poll", "0.1s", "--timeout", "50s", *more)


def begin(living: Living, plan: Path) -> subprocess.Popen[str]:
    """In a process of its own, which has a wave that runs."""
    command = [*COMMAND, str(plan), "--bootstrap-server", living.bootstrap, "--poll", "0.1s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: living.is_moving or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.full
@pytest.mark.checklist(245)
@BOTH
def test_waves_are_handed_over_under_rates_that_are_gone_at_the_end_and_undone(
    living: Living, cluster: Cluster, tmp_path: Path
) -> None:
    """What operators set themselves is as before."""
    throttle(cluster, OPERATORS)
    plan = exported(tmp_path, living.bootstrap, "--throttle", FAST)
    before = replicas(cluster, TOPIC)
    dry = submit(living, plan, "--dry-run")
    assert (dry.exit_code, replicas(cluster, TOPIC)) == (0, before), dry.output
    done = submit(living, plan, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    *waves, last = objects(done)
    assert len(waves) >= 2
    assert (last["end"], last["throttles"]) == ("done", True)
    assert replicas(cluster, TOPIC) == wanted(LAYOUT, plan, TOPIC)
    assert throttles(cluster, RACKS, TOPIC) == OPERATORS
    again = submit(living, plan)
    assert again.stdout == "done: 0 waves, 0 moves submitted\n"
    back = submit(living, plan, "--rollback")
    assert (back.exit_code, back.stderr) == (0, "")
    assert replicas(cluster, TOPIC) == before
    assert throttles(cluster, RACKS, TOPIC) == OPERATORS


@pytest.mark.full
@BOTH
def test_who_is_killed_in_a_wave_is_followed_by_one_who_ends_it(
    living: Living, cluster: Cluster, tmp_path: Path
) -> None:
    """Its rates stand, and its moves run, until then; what it had replaced of an operator's is not lost."""
    throttle(cluster, OPERATORS)
    plan = exported(tmp_path, living.bootstrap, "--throttle", "30000")
    process = begin(living, plan)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert throttles(cluster, RACKS, TOPIC) != OPERATORS
    assert json.loads(progress_file(plan).read_bytes())["waves"] == {"1": "sent"}
    done = submit(living, plan)
    assert (done.exit_code, done.stderr) == (0, "")
    assert replicas(cluster, TOPIC) == wanted(LAYOUT, plan, TOPIC)
    assert throttles(cluster, RACKS, TOPIC) == OPERATORS


@pytest.mark.full
@pytest.mark.checklist(245)
@BOTH
def test_a_wave_that_runs_is_cancelled_with_its_rates_and_undone(
    living: Living, cluster: Cluster, tmp_path: Path
) -> None:
    throttle(cluster, OPERATORS)
    fill(living.bootstrap, TOPIC, len(LAYOUT), 15)  # a wave takes minutes
    plan = exported(tmp_path, living.bootstrap, "--throttle", SLOW)
    before = replicas(cluster, TOPIC)
    process = begin(living, plan)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 1
    assert "what runs continues in the cluster; the same command continues, --rollback undoes" in said
    done = submit(living, plan, "--cancel")
    assert (done.exit_code, done.stdout.startswith("cancelled: 1 wave, 2 moves ")) == (0, True), done.output
    assert not living.is_moving
    assert throttles(cluster, RACKS, TOPIC) == OPERATORS
    process = begin(living, plan)
    process.kill()
    process.communicate()
    back = submit(living, plan, "--rollback", "--no-throttle")
    assert (back.exit_code, back.stderr) == (0, "")
    assert replicas(cluster, TOPIC) == before
    assert throttles(cluster, RACKS, TOPIC) == OPERATORS


# --- what is refused, which needs no look at how rates are taken


@pytest.mark.full
@AS_KEDGE
def test_a_cluster_that_was_changed_is_refused_before_anything_is_set(
    living: Living, cluster: Cluster, tmp_path: Path
) -> None:
    plan = exported(tmp_path, living.bootstrap, "--throttle", FAST)
    tp, before = next(iter(targets(plan, "rollback/").items()))
    living.move(tp, before[::-1])
    until(lambda: not living.is_moving)
    done = submit(living, plan)
    assert (
        done.exit_code,
        f"{tp} has the replicas {list(before[::-1])}: the plan moves it from {list(before)}" in done.stderr,
    ) == (
        2,
        True,
    ), done.output
    assert throttles(cluster, RACKS, TOPIC) == {}


@pytest.mark.full
@AS_KEDGE
def test_a_topic_that_was_deleted_is_refused(living: Living, cluster: Cluster, tmp_path: Path) -> None:
    plan = exported(tmp_path, living.bootstrap, "--throttle", FAST)
    assert not cluster.delete_topics([TOPIC])
    until(lambda: TOPIC not in cluster.topics())
    done = submit(living, plan)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the partition does not exist; make a new plan" in done.stderr
    assert not progress_file(plan).exists()


@pytest.mark.parametrize(
    "lacks, denied, says",
    [
        (45, "", "the brokers do not offer AlterPartitionReassignments; expected Kafka 2.4 or later, or Kedge"),
        (0, "ALTER", "the cluster refuses to alter reassignments: Cluster authorization failed."),
        (0, "DESCRIBE", "the cluster refuses to list reassignments: Cluster authorization failed."),
    ],
)
@pytest.mark.parametrize("keys", [range(2**15), KAFKAS_KEYS], ids=["kedge", "kafka"])
def test_what_a_server_refuses_for_good_is_one_line_before_anything_is_set(
    *, keys: range, lacks: int, denied: str, says: str, tmp_path: Path
) -> None:
    """An API that it does not have, and what the operator may not do."""
    forbidden: set[str] = set()
    apis = versions.with_apis({key: api for key, api in APIS.items() if key in keys and key != lacks}, ())
    may = lambda _, operation, resource: (operation, resource) not in {(op, "CLUSTER") for op in forbidden}  # noqa: E731
    with Served(RACKS, apis=apis, authorizer=may) as served:
        new = {TOPIC: NewTopic(replica_assignments=dict(enumerate(LAYOUT)))}
        served.controller.admin.create_topics(new).all().result(DEADLINE_S)
        plan = exported(tmp_path, served.bootstrap)
        forbidden.add(denied)
        done = run("submit", plan, "--bootstrap-server", served.bootstrap)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"kedge: {says}\n")
    assert not progress_file(plan).exists()


def test_brokers_that_do_not_answer_are_one_line(tmp_path: Path) -> None:
    with Served(RACKS) as served:
        new = {TOPIC: NewTopic(replica_assignments=dict(enumerate(LAYOUT)))}
        served.controller.admin.create_topics(new).all().result(DEADLINE_S)
        plan = exported(tmp_path, served.bootstrap)
    config = tmp_path / "config"
    config.write_text("socket.connection.setup.timeout.ms=300\n")
    done = run("submit", plan, "--bootstrap-server", "127.0.0.1:1", "--command-config", config)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "127.0.0.1:1" in done.stderr


@AS_KEDGE
def test_moves_into_an_unknown_directory_are_refused(
    living: Living, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The brokers report a second directory, which the gateway does not let them use."""
    told, before = logdirs._told, replicas(cluster, TOPIC)  # noqa: SLF001 - a gateway knows one directory of a broker
    monkeypatch.setattr(
        logdirs,
        "_told",
        lambda *given: [each for row in told(*given) for each in (row, {**NO_DIRECTORY, "log_dir": "/d"})],
    )
    done = submit(living, exported(tmp_path, living.bootstrap))
    assert done.exit_code == 1
    assert "(57)" in done.stderr
    assert replicas(cluster, TOPIC) == before
