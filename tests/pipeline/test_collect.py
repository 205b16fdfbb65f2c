"""Collecting: what each source gives, and what of it is rejected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.codec import keys, partition_state, topic
from kedge.controller.codec.broker import encode
from kedge.controller.model.values import BrokerRegistration, Move, Partition, Topic
from kedge.pipeline.collect.cruise_control import from_capacities
from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.kafka_kit import from_broker_metrics, from_partition_meta
from kedge.pipeline.collect.layouts import from_broker_list, from_map
from kedge.pipeline.collect.log_dirs import from_log_dirs
from kedge.pipeline.collect.prometheus import from_prometheus
from kedge.pipeline.collect.store import from_store, from_tree_file
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.check import check
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate
from kedge.stores import ABSENT, MemoryServer, MemoryStore, Put
from tests.kit.data import DATA, LAYOUTS

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def rows(found: Gathered, table: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found.tables()[table].to_pylist()
    return listed


def reasons(found: Gathered) -> list[str]:
    return [row[3] for row in found.rejects.rows]


# --- stores


@pytest.fixture(scope="module")
def read() -> Gathered:
    """Broker 1 is registered, 2 is not; one partition moves; one state key cannot be read."""
    store = MemoryStore(MemoryServer())
    values = {
        keys.topic("t"): topic.encode(Topic("t", "A" * 22), [(1, 2), (2, 1), (1, 2)]),
        keys.state("t", 0): partition_state.encode(Partition("t", 0, (1, 2), (1,), 1, 3), 1),
        keys.state("t", 1): partition_state.encode(Partition("t", 1, (2, 1), (1,), 1, 3, Move((1, 3), (2, 1), 5)), 1),
        keys.state("t", 2): b"{torn",
        keys.state("gone", 0): b"{}",
        keys.topic("broken"): b"[]",
        keys.topic_config("t"): b'{"version":1,"config":{"retention.ms":"1000"}}',
        keys.topic_config("u"): b'{"version":1,"config":{"retention.ms":"soon"}}',
        keys.broker(1): encode(BrokerRegistration(1, "h", rack="a"), 5, 0),
        keys.broker(9): b"{}",
    }
    store.commit([Put(key, value, ABSENT) for key, value in values.items()], timeout_s=5)
    found = Gathered()
    assert from_store(store, "store", found, timeout_s=5) is True
    return found


def test_a_store_gives_partitions_with_their_move_and_retention(read: Gathered) -> None:
    first, second = rows(read, "partition")
    assert (first["replicas"], first["isr"], first["leader"], first["retention_ms"]) == ([1, 2], [1], 1, 1000)
    assert (second["replicas"], second["target_replicas"]) == ([2, 1], [1, 3])


def test_a_broker_with_replicas_and_without_registration_is_dead(read: Gathered) -> None:
    brokers = [(b["broker_id"], b["rack"], b["state"]) for b in rows(read, "broker")]
    assert brokers == [(1, "a", "alive"), (2, None, "dead"), (3, None, "dead")]


def test_keys_that_cannot_be_read_are_rejected_and_cost_nothing_else(read: Gathered) -> None:
    bad = ("/brokers/ids/9", "topics/broken", "topics/t/partitions/2", "topics/gone/partitions/0", "config/topics/u")
    raws = [row[2] for row in read.rejects.rows]
    assert len(raws) == len(bad)
    assert all(any(key in raw for raw in raws) for key in bad)


def test_where_no_broker_is_registered_all_are_taken_for_alive(tmp_path: Path) -> None:
    """As in the file of a memory store, which holds no ephemeral keys."""
    server = MemoryServer()
    with_state = MemoryStore(server)
    with_state.commit([Put(keys.topic("t"), topic.encode(Topic("t", ""), [(1, 2)]), ABSENT)], timeout_s=5)
    server.save(tmp_path / "tree.json")
    found = Gathered()
    from_tree_file((tmp_path / "tree.json").read_bytes(), "tree", found)
    assert [(b["broker_id"], b["state"]) for b in rows(found, "broker")] == [(1, "alive"), (2, "alive")]
    assert rows(found, "partition")[0]["leader"] == -1


@pytest.mark.parametrize("name,moving", [("idle", 0), ("moving", 1)])
def test_a_tree_that_real_kafka_left_is_read_with_its_brokers(name: str, moving: int) -> None:
    found = Gathered()
    from_tree_file((DATA / f"kafka_3_9_tree_{name}.json").read_bytes(), name, found)
    assert [(b["broker_id"], b["rack"], b["state"]) for b in rows(found, "broker")][:3] == [
        (1, "a", "alive"),
        (2, "b", "alive"),
        (3, "c", "alive"),
    ]
    partitions = rows(found, "partition")
    assert len(partitions) > 8
    assert (sum(p["target_replicas"] is not None for p in partitions) > 0) is bool(moving)
    assert reasons(found) == []


# --- maps and lists of brokers


@pytest.mark.parametrize(
    "name,partitions,brokers",
    [("three_brokers", 12, 3), ("nine_brokers", 18, 9), ("many_brokers", 250, 25)],
)
def test_a_map_as_kafka_kit_writes_it_is_read(name: str, partitions: int, brokers: int) -> None:
    found = Gathered()
    from_map((DATA / f"map_{name}.json").read_bytes(), name, found)
    assert (len(rows(found, "partition")), len(rows(found, "broker"))) == (partitions, brokers)
    assert reasons(found) == []


@pytest.mark.parametrize("racks", LAYOUTS.values(), ids=LAYOUTS)
def test_racks_of_brokers_are_read_as_a_list_of_brokers(racks: Mapping[int, str | None]) -> None:
    found = Gathered()
    from_broker_list(json.dumps(racks).encode(), "list", found)
    assert {b["broker_id"]: b["rack"] for b in rows(found, "broker")} == racks


def test_half_of_a_surrogate_pair_is_written_out() -> None:
    """JSON may have it, tables in UTF-8 may not."""
    found = Gathered()
    from_broker_list(rb'{"1":"r\ud800"}', "list", found)
    (broker,) = rows(found, "broker")
    assert broker["rack"] == r"r\ud800"


def test_a_list_of_brokers_may_say_more_than_the_rack() -> None:
    found = Gathered()
    said = {"1": {"rack": "a", "disk_capacity_bytes": 10, "nw_in_capacity_bps": 1.5, "state": "draining"}, "2": ""}
    from_broker_list(json.dumps(said).encode(), "list", found)
    first, second = rows(found, "broker")
    assert (first["disk_capacity_bytes"], first["nw_in_capacity_bps"], first["state"]) == (10, 1.5, "draining")
    assert (second["rack"], second["state"]) == (None, "alive")


@pytest.mark.parametrize(
    "row",
    [
        {"topic": "t", "partition": -1, "replicas": [1]},
        {"topic": "t", "partition": True, "replicas": [1]},
        {"topic": "a b", "partition": 0, "replicas": [1]},
        {"topic": "t", "partition": 0, "replicas": []},
        {"topic": "t", "partition": 0, "replicas": ["x"]},
        {"topic": "t", "partition": 0},
        7,
    ],
)
def test_a_bad_entry_of_a_map_is_rejected_with_its_number(row: object) -> None:
    found = Gathered()
    good = {"topic": "t", "partition": 0, "replicas": [1]}
    from_map(json.dumps({"partitions": [good, row]}).encode(), "map", found)
    assert len(found.partitions) == 1
    assert [(r[0], r[1]) for r in found.rejects.rows] == [("map", 2)]


@pytest.mark.parametrize(
    "row",
    [{"state": "sick"}, {"size": 1}, {"rack": 1.5}, {"disk_capacity_bytes": -1}, {"nw_in_capacity_bps": "x"}, 3.5],
)
def test_a_bad_broker_of_a_list_is_rejected(row: object) -> None:
    found = Gathered()
    from_broker_list(json.dumps({"1": "a", "2": row, "x": "a"}).encode(), "list", found)
    assert [b["broker_id"] for b in rows(found, "broker")] == [1]
    assert len(found.rejects.rows) == 2


# --- sizes, capacities, rates

LOG_DIRS = {
    "version": 1,
    "brokers": [
        {
            "broker": 1,
            "logDirs": [
                {
                    "logDir": "/d",
                    "error": None,
                    "partitions": [
                        {"partition": "a-topic-0", "size": 10, "offsetLag": 0, "isFuture": False},
                        {"partition": "a-topic-1", "size": -1, "offsetLag": 0, "isFuture": False},
                        {"partition": "nohyphen", "size": 1, "offsetLag": 0, "isFuture": False},
                        {"partition": "a-2", "size": 1, "offsetLag": 0, "isFuture": 0},
                    ],
                },
                {"logDir": "/e", "error": "KAFKA_STORAGE_ERROR", "partitions": []},
            ],
        },
        {"broker": "x", "logDirs": []},
    ],
}
PROSE = "Querying brokers for log directories information\nReceived log directory information from brokers 1,2\n"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("prose", ["", PROSE])
def test_the_output_of_kafka_log_dirs_is_read_as_it_is_printed(prose: str, indent: int | None) -> None:
    found = Gathered()
    from_log_dirs((prose + json.dumps(LOG_DIRS, indent=indent) + "\n").encode(), "out", found)
    assert found.logs == [(1, "/d", "a-topic", 0, 10, 0, False)]
    assert len(found.rejects.rows) == 5
    assert any("KAFKA_STORAGE_ERROR" in reason for reason in reasons(found))


def test_metrics_of_kafka_kit_are_sizes_and_free_bytes() -> None:
    found = Gathered()
    meta = {"t": {"0": {"Size": 5.5}, "1": {"Size": -1}, "x": {"Size": 1}}, "a b": {}, "u": []}
    from_partition_meta(json.dumps(meta).encode(), "meta", found)
    assert found.logs == [(None, None, "t", 0, 5, None, False)]
    assert len(found.rejects.rows) == 4
    from_broker_metrics(b'{"1":{"StorageFree":7.0},"2":{"StorageFree":null}}', "metrics", found, now=NOW)
    assert [(row[1], row[5]) for row in found.broker_samples] == [(1, 7)]
    assert len(found.rejects.rows) == 5


def test_capacities_of_cruise_control_are_bytes_and_the_default_goes_to_who_has_none() -> None:
    found = Gathered()
    from_map(b'{"partitions":[{"topic":"t","partition":0,"replicas":[1,2,3]}]}', "map", found)
    said = {
        "brokerCapacities": [
            {"brokerId": "-1", "capacity": {"DISK": "100", "CPU": "100", "NW_IN": "10", "NW_OUT": "20"}, "doc": "x"},
            {"brokerId": "2", "capacity": {"DISK": {"/a": "1", "/b": "2"}, "NW_IN": "1", "NW_OUT": "1"}},
            {"brokerId": "2", "capacity": {"DISK": "1", "NW_IN": "1", "NW_OUT": "1"}},
            {"brokerId": "3", "capacity": {"DISK": "-5", "NW_IN": "1", "NW_OUT": "1"}},
        ]
    }
    from_capacities(json.dumps(said).encode(), "capacity", found)
    loaded = load(validate(found.tables()))["broker"].to_pylist()
    assert {b["broker_id"]: b["disk_capacity_bytes"] for b in loaded} == {1: 100 << 20, 2: 3 << 20, 3: 100 << 20}
    assert loaded[0]["nw_out_capacity_bps"] == 20 * 1024
    assert len(found.rejects.rows) == 2


METRICS = """
# HELP kafka_log_log_size bytes
kafka_log_log_size{topic="t",partition="0",} 100.0
kafka_log_Log_Value{name="Size",topic="t",partition="1"} 1e3 1795000000000
kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate{topic="t"} 5
kafka_server_BrokerTopicMetrics_OneMinuteRate{name="BytesOutPerSec",topic="t",} 7
kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate 50
kafka_server_brokertopicmetrics_reassignmentbytesinpersec_oneminuterate 3
jvm_threads 40
"""


def test_prometheus_text_gives_sizes_and_rates_and_marks_what_was_measured_during_a_move() -> None:
    found = Gathered()
    from_prometheus(METRICS.encode(), "m", found, broker_id=4, now=NOW)
    assert [(row[0], row[3], row[4]) for row in found.logs] == [(4, 0, 100), (4, 1, 1000)]
    assert found.replica_samples == [(NOW, 4, "t", None, 5.0, 7.0, None, True)]
    assert [(row[1], row[3], row[7]) for row in found.broker_samples] == [(4, 50.0, 3.0)]


REQUESTS = """
kafka_network_RequestMetrics_99thPercentile{name="TotalTimeMs",request="Produce",} 12.5
kafka_network_requestmetrics_totaltimems{request="FetchConsumer",quantile="0.99",} 501.0
kafka_network_requestmetrics_totaltimems_99thpercentile{request="FetchFollower",} NaN
kafka_network_requestmetrics_totaltimems_mean{request="Produce",} 1
kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.5",} 2
kafka_network_RequestMetrics_99thPercentile{name="LocalTimeMs",request="Produce",} 3
kafka_network_requestmetrics_totaltimems_99thpercentile{request="Metadata",} 4
"""


def test_prometheus_text_gives_the_times_of_requests_by_broker() -> None:
    """The 99th percentile of the total time, in each of the exporter's spellings; NaN is not known."""
    found = Gathered()
    from_prometheus(REQUESTS.encode(), "m", found, broker_id=4, now=NOW)
    (sample,) = rows(found, "broker_sample")
    times = {name: value for name, value in sample.items() if name.endswith("_ms")}
    assert times == {"produce_p99_ms": 12.5, "fetch_consumer_p99_ms": 501.0, "fetch_follower_p99_ms": None}
    assert reasons(found) == []


@pytest.mark.parametrize(
    "line",
    [
        'kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.99"} -1',
        'kafka_log_log_size{topic="t",partition="0"} -5',
        'kafka_log_log_size{topic="t",partition="0"} NaN',
        'kafka_log_log_size{topic="t",partition="-1"} 5',
        'kafka_log_log_size{topic="t"} 5',
        'kafka_log_log_size{topic="t,partition="0"} 5',
        'kafka_log_log_size{topic="t",partition="0"}',
        'kafka_log_log_size{topic="t",partition="0"} 5 99999999999999999',
        'kafka_log_log_size{topic="t",partition="0",broker_id="x"} 5',
    ],
)
def test_a_line_of_a_known_metric_that_cannot_be_read_is_rejected(line: str) -> None:
    found = Gathered()
    from_prometheus(line.encode(), "m", found, broker_id=4, now=NOW)
    assert (found.logs, found.broker_samples) == ([], [])
    assert [(row[0], row[1], row[2]) for row in found.rejects.rows] == [("m", 1, line)]


def test_the_broker_may_stand_in_a_label_and_must_stand_somewhere() -> None:
    found = Gathered()
    lines = (
        b'kafka_log_log_size{topic="t\\\\",partition="0"} 1\nkafka_log_log_size{topic="t",partition="0",broker="3"} 1'
    )
    from_prometheus(lines, "m", found, broker_id=None, now=NOW)
    assert [row[0] for row in found.logs] == [3]
    assert len(found.rejects.rows) == 1


READERS: dict[str, Callable[[bytes, Gathered], None]] = {
    "map": lambda data, into: from_map(data, "here", into),
    "broker_list": lambda data, into: from_broker_list(data, "here", into),
    "log_dirs": lambda data, into: from_log_dirs(data, "here", into),
    "partition_meta": lambda data, into: from_partition_meta(data, "here", into),
    "broker_metrics": lambda data, into: from_broker_metrics(data, "here", into, now=NOW),
    "capacities": lambda data, into: from_capacities(data, "here", into),
    "prometheus": lambda data, into: from_prometheus(data, "here", into, broker_id=1, now=NOW),
    "tree": lambda data, into: from_tree_file(data, "here", into),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("data", [b"", b"[1]", b'{"partitions":[', b"\xff\xfe", b"a b c", b'{"format":'])
def test_a_file_that_is_not_of_its_kind_is_a_clear_error(name: str, data: bytes) -> None:
    with pytest.raises(BadInput, match="here"):
        READERS[name](data, Gathered())


# --- what no tool writes

WORDS = (
    "version", "partitions", "topic", "partition", "replicas", "brokers", "broker", "logDirs", "logDir", "error",
    "size", "offsetLag", "isFuture", "t-0", "t", "0", "1", "-1", "Size", "StorageFree", "brokerCapacities", "brokerId",
    "capacity", "DISK", "NW_IN", "NW_OUT", "rack", "state", "alive", "disk_capacity_bytes",
    "\ud800",  # JSON may have it, and st.text() makes none
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.sampled_from(WORDS), st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
TOPS = {"map": "partitions", "log_dirs": "brokers", "capacities": "brokerCapacities"}


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(READERS.keys() - {"prometheus"}))
@given(st.data())
def test_any_json_is_taken_rejected_or_refused(name: str, data: st.DataObject) -> None:
    """And what was taken can be validated, loaded and checked."""
    inner = data.draw(JSON | st.lists(JSON, max_size=3))
    value: Any = {TOPS[name]: inner} if name in TOPS and data.draw(st.booleans()) else inner
    into = Gathered()
    with suppress(BadInput):
        READERS[name](json.dumps(value).encode(), into)
    found = validate(into.tables())
    check({**found, **load(found)}, ignore_racks=True)


@pytest.mark.slow
@given(
    st.text(max_size=60) | st.sampled_from(WORDS),
    st.text(max_size=8),
    st.sampled_from(("1", "NaN", "-5", "1e400", "x")),
)
def test_any_line_of_prometheus_is_taken_rejected_or_passed_over(labels: str, topic: str, value: str) -> None:
    lines = [
        f"kafka_log_log_size{{{labels}}} {value}",
        f'kafka_log_log_size{{topic="{topic}",partition="0"}} {value}',
        f'kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate{{topic="{topic}"}} {value} {value}',
        labels,
    ]
    into = Gathered()
    from_prometheus("\n".join(lines).encode("utf-8", "surrogatepass"), "f", into, broker_id=1, now=NOW)
    found = validate(into.tables())
    check({**found, **load(found)})
