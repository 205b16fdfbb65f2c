"""What a registry of Prometheus exposes is what the snapshot says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kedge import BrokerMeters, ControllerCollector
from kedge.controller.metrics import ALL, HistogramValue, MeterValue, Sample, Snapshot
from tests.runtime.world import Cluster, cluster_of_three

Exposed = dict[tuple[str, frozenset[tuple[str, str]]], float]


def exposed(*sources: object) -> tuple[Exposed, dict[str, str]]:
    """What the parser of prometheus_client reads of the exposition: samples, and the types of the families."""
    registry = CollectorRegistry()
    registry.register(ControllerCollector(*sources))  # type: ignore[arg-type]
    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    found: Exposed = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found, {family.name: family.type for family in families}


def expected(snapshot: Snapshot, sample: Sample) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a sample is exposed as, but for buckets."""
    labels = dict([snapshot.source])
    if sample.metric.tag is not None:
        labels[sample.metric.tag.replace("-", "_")] = str(sample.tag_value)
    name, marked = sample.metric.prometheus_name, frozenset(labels.items())
    if isinstance(sample.value, HistogramValue):
        return {(f"{name}_count", marked): sample.value.count, (f"{name}_sum", marked): sample.value.total}
    if isinstance(sample.value, MeterValue):
        return {(f"{name}_total", marked): sample.value.count, (f"{name}_rate", marked): sample.value.per_second}
    return {(f"{name}_total" if sample.metric.kind == "counter" else name, marked): sample.value}


def busy() -> Cluster:
    cluster = cluster_of_three()
    cluster.done(cluster.move([4, 5, 6]))
    return cluster


def test_every_value_is_exposed_and_read_back_by_the_parser() -> None:
    snapshot = busy().controller.metrics()
    found, types = exposed(lambda: snapshot)
    for sample in snapshot.samples:
        for key, value in expected(snapshot, sample).items():
            assert found[key] == pytest.approx(value), key
    assert types["kafka_controller_kafkacontroller_offlinepartitionscount"] == "gauge"
    assert types["kafka_controller_controllereventmanager_eventqueuetimems"] == "histogram"
    assert types["kedge_controller_commits_conflicts"] == "counter"


def test_buckets_are_cumulative_and_end_with_all() -> None:
    found, _ = exposed(busy().controller.metrics)
    name = "kedge_controller_commits_ops"
    buckets = sorted((float(dict(labels)["le"]), n) for (n_, labels), n in found.items() if n_ == f"{name}_bucket")
    assert [n for _, n in buckets] == sorted(n for _, n in buckets)
    assert buckets[-1] == (float("inf"), found[f"{name}_count", frozenset({("controller_id", "1")})])


def test_one_collector_tells_of_several_controllers_and_brokers() -> None:
    cluster = busy()
    first, second = cluster.controller, cluster.another(2)
    cluster.run()
    meters = BrokerMeters(3, cluster.clock.monotonic_s)
    meters.received(500, reassignment=True, throttled_by=["reassignment"])
    found, _ = exposed(first.metrics, second.metrics, meters.metrics)
    active = "kafka_controller_kafkacontroller_activecontrollercount"
    assert [found[active, frozenset({("controller_id", str(i))})] for i in (1, 2)] == [1, 0]
    broker = frozenset({("broker_id", "3")})
    assert found["kafka_server_brokertopicmetrics_reassignmentbytesin_total", broker] == 500
    assert found["kafka_server_followerreassignment_byte_rate", broker] > 0


def test_by_broker_is_a_family_of_its_own_so_that_a_sum_counts_once() -> None:
    found, _ = exposed(busy().controller.metrics)
    name = "kafka_server_replicamanager_reassigningpartitions"
    assert sum(value for (n, _), value in found.items() if n == name) == 1
    assert sum(value for (n, _), value in found.items() if n == f"{name}_by_broker") == 1


def test_a_second_collector_in_a_registry_is_refused() -> None:
    """It would say every name twice. Registering one reads no values."""
    registry = CollectorRegistry()
    registry.register(ControllerCollector(lambda: pytest.fail("nobody scrapes")))
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(ControllerCollector(busy().controller.metrics))


@pytest.mark.parametrize("sources", [(), (3,)])
def test_what_is_no_source_is_refused(sources: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="needs callable sources"):
        ControllerCollector(*sources)  # type: ignore[arg-type]


def test_no_two_metrics_have_one_name() -> None:
    assert len({metric.prometheus_name for metric in ALL}) == len(ALL) == len({(m.mbean, m.tag) for m in ALL})


def program(*lines: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_nothing_of_it_is_imported_unless_it_is_used() -> None:
    done = program(
        "import kedge.controller.host, kedge.controller.metrics, sys", "print('prometheus_client' in sys.modules)"
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.slow
def test_without_the_extra_one_error_names_it() -> None:
    hidden = "import sys; sys.modules['prometheus_client'] = None; sys.modules['prometheus_client.core'] = None"
    done = program(hidden, "import kedge.controller.metrics", "import kedge.controller.metrics.prometheus")
    assert done.returncode == 1
    assert done.stderr.rstrip().splitlines()[-1].endswith("pip install 'kedge[metrics]'")
