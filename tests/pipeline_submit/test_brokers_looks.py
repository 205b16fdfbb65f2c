"""What a submission reads of a cluster over Kafka's protocol: sizes of replicas, and replicas that are not in sync."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.errors import Failed
from kedge.controller.cli.kafka.values import Description
from kedge.controller.model.copying import Copy
from kedge.controller.model.values import TopicPartition
from kedge.pipeline import Brokers, Gathered, from_brokers
from kedge.pipeline.brokers.submitting import by_brokers
from kedge.pipeline.errors import BadInput
from kedge.pipeline.submit import Event, Options, submit
from kedge.pipeline.submit.exported import read_export
from tests.kit.waiting import until
from tests.pipeline_submit.served import LAYOUT, exported, replicas, sizes, wanted
from tests.wire.living import Living

pytestmark = pytest.mark.slow

NAME = "orders"
BOTH = pytest.mark.parametrize("living", ["kedge", "kafka"], indirect=True)
KAFKA = pytest.mark.parametrize("living", ["kafka"], indirect=True)


@pytest.fixture
def plan(living: Living, tmp_path: Path) -> Path:
    return exported(tmp_path, living.bootstrap, "--throttle", "30000")


def followed(cluster: Cluster, plan: Path, at: Callable[[Event], object] = lambda _: None) -> list[Event]:
    """The events that follow the first wave, for each of which `at` is called."""
    events: list[Event] = []

    def tell(event: Event) -> None:
        if event.kind == "following":
            events.append(event)
            at(event)

    done = submit(plan, by_brokers(cluster), Options(poll_s=0.1, timeout_s=50, throttles=False, tell=tell), last=1)
    assert done.waves == (1,)
    return events


@BOTH
def test_progress_is_by_the_sizes_of_logs(
    living: Living, cluster: Cluster, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the brokers that send and receive. They copy slowly until a reading shows a part of the bytes."""
    monkeypatch.setattr("kedge.pipeline.submit.measuring.READ_S", 0.2)
    wave = read_export(plan).waves[0]
    whole = sum(sizes(cluster)[move.name, move.before[0]] * len(move.added) for move in wave.moves)
    living.cluster.copying.rate_bytes_s = 2_000

    def is_between(copy: Copy) -> bool:
        return 0 < (copy.copied or 0) < whole

    def speed_up(event: Event) -> None:
        if is_between(event.copy):
            living.cluster.copying.rate_bytes_s = None

    first, *others = (event.copy for event in followed(cluster, plan, speed_up))
    assert (first.copied, first.to_copy) == (0, whole)
    assert any(map(is_between, others))
    assert {copy.to_copy for copy in others} == {whole}


class Silent(Cluster):
    """Brokers that do not report the sizes of their logs."""

    def log_dirs(self, broker: int, of: Iterable[TopicPartition] | None = None) -> Description:  # noqa: ARG002
        """None."""
        raise Failed(f"broker {broker} did not answer DescribeLogDirs")


@KAFKA
def test_wave_is_followed_without_sizes(cluster: Cluster, plan: Path) -> None:
    events = followed(Silent(cluster.client), plan)
    assert {(event.copy.to_copy, event.slowest) for event in events} == {(None, "")}
    assert {event.moves_done for event in events} >= {0}


@KAFKA
def test_wave_waits_for_brokers_that_are_not_in_sync(
    living: Living, cluster: Cluster, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kedge.pipeline.submit.driver.WAIT_S", 0.2)
    living.cluster.kill_broker(2)
    until(lambda: not any(2 in partition.isr for partition in cluster.topics([NAME])[NAME].partitions))
    waited: list[str] = []

    def restart(event: Event) -> None:
        if event.kind == "waiting":
            if not waited:
                living.cluster.restart_broker(2)
            waited.append(event.text)

    submit(plan, by_brokers(cluster), Options(poll_s=0.1, timeout_s=50, tell=restart))
    text = "2 under-replicated partitions that no reassignment moves: orders-0 (not in sync: 2); "
    assert waited[0] == f"{text}orders-1 (not in sync: 2)"
    assert replicas(cluster, NAME) == wanted(LAYOUT, plan, NAME)


# --- as functions of the library


@KAFKA
def test_functions_of_the_library_connect_by_themselves(living: Living, cluster: Cluster, plan: Path) -> None:
    """A snapshot is read and a plan is run without a process of its own."""
    brokers = Brokers(living.bootstrap)
    gathered = Gathered()
    from_brokers(brokers, gathered)
    assert [row[:3] for row in gathered.partitions if row[0] == NAME] == [(NAME, p, r) for p, r in enumerate(LAYOUT)]
    assert submit(str(plan), brokers, Options(throttles=False, poll_s=0.1)).end == "done"
    assert replicas(cluster, NAME) == wanted(LAYOUT, plan, NAME)


def test_servers_that_cannot_be_used_are_bad_input(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("socket.connection.setup.timeout.ms=300\n")
    with pytest.raises(BadInput, match=r"127\.0\.0\.1:1"):
        from_brokers(Brokers("127.0.0.1:1", config), Gathered())
    with pytest.raises(BadInput, match="bootstrap servers: 'nowhere' is not HOST:PORT"):
        from_brokers(Brokers("nowhere"), Gathered())
