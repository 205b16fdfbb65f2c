"""Metrics for operators: those of a controller, and meters that brokers feed (KIP-352, KIP-542).

`Controller.metrics()` and `BrokerMeters.metrics()` return plain values under Kafka's names, without any dependency;
`kedge.controller.metrics.prometheus` exposes them with prometheus_client (`kedge[metrics]`).
"""

from ..runtime.measures import HistogramValue
from .collecting import collect
from .definitions import ALL, Metric
from .meters import BrokerMeters, Meter
from .snapshot import MeterValue, Sample, Snapshot, Value

__all__ = [
    "ALL",
    "BrokerMeters",
    "HistogramValue",
    "Meter",
    "MeterValue",
    "Metric",
    "Sample",
    "Snapshot",
    "Value",
    "collect",
]
