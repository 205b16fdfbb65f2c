"""Metrics for operators: those of a controller, and meters that brokers feed (KIP-352, KIP-542).

`Controller.metrics()` and `BrokerMeters.metrics()` return plain values under Kafka's names, without any dependency;
`kedge.controller.metrics.prometheus` exposes them with prometheus_client (`kedge[metrics]`).
"""

from ..runtime.measures import HistogramValue as HistogramValue
from .collecting import collect as collect
from .definitions import ALL as ALL
from .definitions import Metric as Metric
from .meters import BrokerMeters as BrokerMeters
from .meters import Meter as Meter
from .snapshot import MeterValue as MeterValue
from .snapshot import Sample as Sample
from .snapshot import Snapshot as Snapshot
from .snapshot import Value as Value
