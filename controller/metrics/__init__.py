"""Metrics for operators: those of a controller, and meters that brokers feed (KIP-352, KIP-542).

`Controller.metrics()` and `BrokerMeters.metrics()` return plain values under Kafka's names, without any dependency;
`controller.metrics.prometheus` exposes them with prometheus_client (`kedge[metrics]`).
"""

from controller.metrics.collecting import collect
from controller.metrics.definitions import ALL, Metric
from controller.metrics.meters import BrokerMeters, Meter
from controller.metrics.snapshot import MeterValue, Sample, Snapshot, Value
from controller.runtime.measures import HistogramValue

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
