"""Inputs that no tool writes: whatever stands in a file is taken, rejected or refused, and nothing breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline.collect.cruise_control import from_capacities
from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.kafka_kit import from_broker_metrics, from_partition_meta
from kedge.pipeline.collect.layouts import from_broker_list, from_map
from kedge.pipeline.collect.log_dirs import from_log_dirs
from kedge.pipeline.collect.prometheus import from_prometheus
from kedge.pipeline.collect.store import from_tree_file
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.check import check
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.validate import validate

NOW = datetime(2026, 11, 21, tzinfo=UTC)
READERS: dict[str, Callable[[bytes, Gathered], None]] = {
    "map": lambda data, into: from_map(data, "f", into),
    "broker_list": lambda data, into: from_broker_list(data, "f", into),
    "log_dirs": lambda data, into: from_log_dirs(data, "f", into),
    "partition_meta": lambda data, into: from_partition_meta(data, "f", into),
    "broker_metrics": lambda data, into: from_broker_metrics(data, "f", into, now=NOW),
    "capacities": lambda data, into: from_capacities(data, "f", into),
    "tree": lambda data, into: from_tree_file(data, "f", into),
}
WORDS = (
    "version", "partitions", "topic", "partition", "replicas", "brokers", "broker", "logDirs", "logDir", "error",
    "size", "offsetLag", "isFuture", "t-0", "t", "0", "1", "-1", "Size", "StorageFree", "brokerCapacities", "brokerId",
    "capacity", "DISK", "NW_IN", "NW_OUT", "rack", "state", "alive", "disk_capacity_bytes",
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.sampled_from(WORDS), st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
TOPS = {
    "map": "partitions",
    "log_dirs": "brokers",
    "capacities": "brokerCapacities",
}


@pytest.mark.full
@pytest.mark.parametrize("name", READERS)
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
