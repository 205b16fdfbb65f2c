"""What an operator sees in numbers: the metrics of a controller, and meters that brokers feed (KIP-352, KIP-542).

`Controller.metrics()` and `BrokerMeters.metrics()` give plain values under Kafka's names, whatever is installed;
`controller.metrics.prometheus` exposes them where prometheus_client is (`kedge[metrics]`).
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
