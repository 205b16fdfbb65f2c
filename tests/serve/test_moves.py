"""Moves by `kedge kafka reassign-partitions` on Kedge's own brokers: begun, followed, listed and described."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from kafka import KafkaProducer

from kedge import (
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    Controller,
    Hooks,
    NewTopic,
    ThrottledRate,
    TopicPartition,
)
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.wire import Gateway
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.serve.conftest import Run, commands_of
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S

pytestmark = pytest.mark.slow

FILE = "--reassignment-json-file"
MOVES = "reassign-partitions"
RECORDS = 100  # of 10 kB


def filled(living: Living, name: str, *replicas: list[int]) -> TopicPartition:
    """A topic with records in partition 0, which is given back."""
    tp = living.topic(name, replicas)[0]
    producer = KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    for sent in [producer.send(name, value=b"x" * 10_000, partition=0) for _ in range(RECORDS)]:
        sent.get(DEADLINE_S)
    producer.close()
    return tp


def plan(folder: Path, name: str, targets: dict[int, list[int]]) -> Path:
    file = folder / "plan.json"
    rows = [{"topic": name, "partition": p, "replicas": replicas} for p, replicas in targets.items()]
    file.write_text(json.dumps({"partitions": rows}))
    return file


def throttles(living: Living, topic: str, broker: int = 2) -> dict[str, str | None]:
    """What is set of them on the broker and on the topic."""
    resources = [
        ConfigResource(ConfigResourceType.BROKER, str(broker)),
        ConfigResource(ConfigResourceType.TOPIC, topic),
    ]
    found = living.cluster.controller.admin.describe_configs(resources)
    set_ = {ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_TOPIC_CONFIG}
    settings = [each for resource in resources for each in found[resource].result(DEADLINE_S).values()]
    return {each.name: each.value for each in settings if "throttled" in each.name and each.source in set_}


def lag(living: Living, tp: TopicPartition, broker: int) -> int:
    """By the logs themselves."""
    ends, leader = living.cluster.log_ends(tp)
    assert leader is not None
    return leader.end_offset - ends[broker].end_offset


@pytest.mark.checklist(61, 62, 63, 65, 68, 69, 127, 176, 229)
def test_progress_shows_the_true_lag_of_a_throttled_move(living: Living, run: Run, tmp_path: Path) -> None:
    """Each lag that is printed lies between those that the logs had before and after the command. The throttle is set
    by new configs, changed, and gone at the end. No --verify is needed, so none is suggested."""
    tp = filled(living, "lagging", [1, 2])
    file = plan(tmp_path, tp.topic, {0: [2, 3]})
    done = run(MOVES, "--execute", FILE, file, "--throttle", 1024)
    assert done.stdout.splitlines()[-1] == "Successfully started partition reassignment for lagging-0"
    assert "--verify" not in done.stdout
    rates = {"leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate"}
    for broker in (1, 2, 3):
        assert throttles(living, tp.topic, broker) == dict.fromkeys(rates, "1024")
    until(lambda: 3 in living.cluster.log_ends(tp)[0])
    (kept, added) = json.loads(run(MOVES, "--progress", FILE, file, "--json").stdout)["replicas"]
    assert [(kept["broker"], kept["behind"]), added["broker"]] == [(2, None), 3]
    assert 0 < added["behind"] <= RECORDS
    assert [row["replicas"] for row in json.loads(run(MOVES, "--list").stdout)["partitions"]] == [[2, 3]]
    seen: list[int] = []

    def look() -> None:
        before = lag(living, tp, 3)
        head, rule, kept, added = run(MOVES, "--progress", FILE, file).stdout.splitlines()
        assert (head, rule) == ("Topic      Partition  Broker  Status", "-" * 37)
        assert kept == "lagging    0          2       In sync"
        *columns, shown, noun, behind = added.split()
        assert (columns, noun, behind) == (["lagging", "0", "3", "Behind:"], "messages", "behind")
        assert lag(living, tp, 3) <= int(shown) <= before
        seen.append(int(shown))

    look()
    assert run(MOVES, "--execute", FILE, file, "--throttle", 30_000).exit_code == 0
    assert throttles(living, tp.topic) == dict.fromkeys(rates, "30000")

    def has_shrunk_twice() -> bool:
        look()
        return len(set(seen)) >= 3

    until(has_shrunk_twice)
    assert seen == sorted(seen, reverse=True)
    assert 0 < seen[-1] < seen[0] <= RECORDS
    assert run(MOVES, "--execute", FILE, file, "--throttle", 2**40).exit_code == 0
    done = run(MOVES, "--progress", "--watch", FILE, file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.split(maxsplit=3)[2:] for line in done.stdout.splitlines()[2:]] == [["2", "In sync"], ["3", "In sync"]]
    until(lambda: throttles(living, tp.topic) == {})


@pytest.mark.full
@pytest.mark.checklist(126, 230)
def test_all_moves_are_cancelled_and_their_throttles_go(living: Living, run: Run, tmp_path: Path) -> None:
    tp = filled(living, "cancelled", [1, 2])
    run(MOVES, "--execute", FILE, plan(tmp_path, tp.topic, {0: [1, 3]}), "--throttle", 1024)
    assert throttles(living, tp.topic)
    for cancelled in ([{"topic": tp.topic, "partition": 0}], []):
        done = run(MOVES, "--cancel-all", "--json")
        assert (done.exit_code, json.loads(done.stdout)["cancelled"]) == (0, cancelled)
    assert throttles(living, tp.topic) == {}


@pytest.mark.full
@pytest.mark.checklist(72, 126)
@pytest.mark.parametrize("ending", ["--verify", "--cancel", "--cancel-all"])
def test_what_operators_throttle_themselves_outlives_moves(
    *, living: Living, run: Run, tmp_path: Path, ending: str
) -> None:
    """Their KIP-73 rates and lists, which no move needs, and a KIP-542 rate that a throttled move replaced."""
    tp = filled(living, "kept", [1, 2])
    own = {
        "leader.reassignment.throttled.rate": "777",
        "leader.replication.throttled.rate": "5000000",
        "follower.replication.throttled.rate": "6000000",
    }
    lists = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "0:2"}
    words = ",".join(f"{name}={value}" for name, value in own.items())
    assert run("configs", "--alter", "--broker", 2, "--add-config", words).exit_code == 0
    words = ",".join(f"{name}={value}" for name, value in lists.items())
    assert run("configs", "--alter", "--topic", tp.topic, "--add-config", words).exit_code == 0
    before = throttles(living, tp.topic)
    assert before == {**own, **lists}

    file = plan(tmp_path, tp.topic, {0: [2, 3]})
    assert run(MOVES, "--execute", FILE, file, "--throttle", 1024).exit_code == 0
    assert throttles(living, tp.topic)["leader.reassignment.throttled.rate"] == "1024"
    if ending == "--verify":
        done = run(MOVES, ending, FILE, file)
        assert "is still in progress" in done.stdout
        assert throttles(living, tp.topic)["leader.reassignment.throttled.rate"] == "1024"
        run(MOVES, "--execute", FILE, file, "--throttle", 2**40)
        until(lambda: not living.is_moving)
    done = run(MOVES, ending) if ending == "--cancel-all" else run(MOVES, ending, FILE, file)
    assert (done.exit_code, done.stderr, throttles(living, tp.topic)) == (0, "", before)
    said = "Throttles of reassignments are removed; those that operators set themselves are kept."
    assert done.stdout.splitlines()[-1] == said


def test_verify_takes_back_a_throttle_whose_move_never_began(living: Living, run: Run, tmp_path: Path) -> None:
    """As a command leaves it that is killed between the two; no end of a move would take it back."""
    tp = filled(living, "crashed", [1, 2])
    rates = {2: ThrottledRate(1024, 1024)}
    admin = living.cluster.controller.admin
    admin.alter_interbroker_throttled_rates(rates, family="reassignment").all().result(DEADLINE_S)
    assert throttles(living, tp.topic)
    assert run(MOVES, "--verify", FILE, plan(tmp_path, tp.topic, {0: [1, 2]})).exit_code == 0
    assert throttles(living, tp.topic) == {}


@pytest.mark.checklist(61, 123, 128)
def test_topics_shows_targets_of_partitions_that_move_and_of_no_others(
    living: Living, run: Run, tmp_path: Path
) -> None:
    """From the command that begins the move by the admin API until its end."""
    tp = filled(living, "shown", [1, 2], [2, 1])
    file = plan(tmp_path, tp.topic, {0: [2, 3]})

    def described() -> list[str]:
        return run("topics", "--describe", "--topic", tp.topic).stdout.splitlines()

    def targets() -> list[list[int] | None]:
        (topic,) = json.loads(run("topics", "--describe", "--topic", tp.topic, "--json").stdout)["topics"]
        return [each.get("target_replicas") for each in topic["partitions"]]

    before = described()
    assert not any("Target Replicas" in line for line in before)
    assert run(MOVES, "--execute", FILE, file, "--throttle", 1024).exit_code == 0
    assert living.gateway.counts["AlterPartitionReassignments"] == 1
    head, moving, still = described()
    assert (head, still) == (before[0], before[2])
    assert "\tReplicas: 2,3,1\t" in moving
    assert moving.endswith("\tTarget Replicas: 2,3")
    assert targets() == [[2, 3], None]
    assert [row["replicas"] for row in json.loads(run(MOVES, "--list").stdout)["partitions"]] == [[2, 3]]
    assert run(MOVES, "--execute", FILE, file, "--throttle", 2**40).exit_code == 0
    assert run(MOVES, "--progress", "--watch", FILE, file).exit_code == 0
    until(lambda: "\tIsr: 2,3\t" in described()[1])
    assert targets() == [None, None]
    assert "\tReplicas: 2,3\t" in described()[1]


@pytest.mark.checklist(73)
def test_a_proposal_shows_what_is_there_and_is_a_plan(living: Living, run: Run, tmp_path: Path) -> None:
    """Nothing moves before it is executed; then every partition lies as it says."""
    living.topic("spread", [[1, 2], [1, 2], [1, 2]])
    topics, proposed = tmp_path / "topics.json", tmp_path / "proposed.json"
    topics.write_text('{"topics":[{"topic":"spread"}],"version":1}')
    done = run(MOVES, "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2,3", "--seed", 7)
    title, current, empty, new_title, new = done.stdout.splitlines()
    assert (title, empty) == ("Current partition replica assignment", "")
    assert [row["replicas"] for row in json.loads(current)["partitions"]] == [[1, 2]] * 3
    assert new_title == "Proposed partition reassignment configuration"
    wanted = [row["replicas"] for row in json.loads(new)["partitions"]]
    assert sorted(replicas[0] for replicas in wanted) == [1, 2, 3]
    assert (living.is_moving, living.gateway.counts["AlterPartitionReassignments"]) == (False, 0)
    proposed.write_text(new)
    assert run(MOVES, "--execute", FILE, proposed).exit_code == 0
    assert run(MOVES, "--progress", "--watch", FILE, proposed).exit_code == 0
    (topic,) = json.loads(run("topics", "--describe", "--topic", "spread", "--json").stdout)["topics"]
    assert [each["replicas"] for each in topic["partitions"]] == wanted


@pytest.mark.checklist(154, 155)
def test_a_proposal_puts_no_two_replicas_into_a_rack_unless_that_is_asked_for(tmp_path: Path) -> None:
    """Six brokers in three racks, replicas of each partition in one: the proposal spreads them, and leads evenly."""
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics":[{"topic":"close"}]}')
    with Living(racks=racks) as living:
        living.topic("close", [[1, 2], [3, 4], [5, 6]] * 2)
        asked = ("--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2,3,4,5,6", "--json")

        def proposed(seed: int, *more: str) -> list[list[int]]:
            done = commands_of(living.bootstrap)(MOVES, *asked, "--seed", seed, *more)
            return [entry["replicas"] for entry in json.loads(done.stdout)["proposed"]["partitions"]]

        def shares_a_rack(replicas: list[int]) -> bool:
            return len({racks[broker] for broker in replicas}) < len(replicas)

        for seed in range(5):
            found = proposed(seed)
            assert not any(map(shares_a_rack, found))
            assert sorted(replicas[0] for replicas in found) == [1, 2, 3, 4, 5, 6]
        blind = [proposed(seed, "--disable-rack-aware") for seed in range(5)]
        assert any(shares_a_rack(replicas) for found in blind for replicas in found)


def veto(tp: TopicPartition, target: Sequence[int]) -> str | None:
    return f"broker 3 takes no more than it has, not {tp}" if 3 in target else None


@pytest.mark.parametrize("as_json", [False, True])
def test_each_refused_partition_has_a_line_and_the_others_move(as_json: bool, tmp_path: Path) -> None:
    file = plan(tmp_path, "t", {0: [1, 3], 1: [2, 1], 2: [3]})
    with Controller(MemoryStore(), 1, Brokers(), hooks=Hooks(alter_policy=veto)) as controller:
        controller.start()
        for broker in (1, 2, 3):
            controller.register_broker(BrokerRegistration(broker))
        until(lambda: len(controller.describe().live_brokers) == 3)
        new = NewTopic(-1, -1, [[1], [1], [1]])
        controller.admin.create_topics({"t": new}).all().result(DEADLINE_S)
        with Gateway(controller, cluster_id="kedge-under-test") as gateway:
            run = commands_of(f"{gateway.address.host}:{gateway.address.port}")
            done = run(MOVES, "--execute", FILE, file, *(["--json"] if as_json else []))
            lines = [f"t-{p}: broker 3 takes no more than it has, not t-{p}" for p in (0, 2)]
            assert (done.exit_code, done.stderr.splitlines()) == (1, ["Error reassigning partition(s):", *lines])
            if as_json:
                answer = json.loads(done.stdout)
                assert answer["started"] == [{"topic": "t", "partition": 1}]
                assert [(each["partition"], each["code"]) for each in answer["refused"]] == [(0, 44), (2, 44)]
            listed = json.loads(run(MOVES, "--list").stdout)["partitions"]
            assert [entry["partition"] for entry in listed] == [1]
