"""Snapshots for Prometheus: a collector for a registry of the caller's choice.

Only this module uses prometheus_client, and it is imported only on demand. It registers nothing by itself and keeps
nothing: each scrape reads the sources again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

from ..model.extras import missing
from ..runtime.measures import HistogramValue
from .definitions import ALL, BROKER, Metric
from .snapshot import MeterValue, Sample, Snapshot

try:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.registry import Collector
except ImportError as error:
    raise ImportError(missing("metrics", error)) from error

Source: TypeAlias = Callable[[], Snapshot]
"""Such as `Controller.metrics` or `BrokerMeters.metrics`."""

_Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
_RATE = "_rate"  # the gauge of a meter, beside the counter of its bytes


class ControllerCollector(Collector):
    """`registry.register(ControllerCollector(controller.metrics))`. Takes any number of sources; each sample has the
    label `controller_id` or `broker_id` of its source. Use one collector per registry: a second one would repeat the
    names, and the registry refuses it. TypeError if a source is not callable."""

    def __init__(self, *sources: Source) -> None:
        if not sources or not all(callable(source) for source in sources):
            raise TypeError("a collector needs callable sources, such as Controller.metrics and BrokerMeters.metrics")
        self._sources = sources

    def collect(self) -> Iterator[_Family]:
        """The present values of all sources."""
        found: dict[str, _Family] = {}
        for source in self._sources:
            snapshot = source()
            for sample in snapshot.samples:
                _add(found, sample, snapshot.source)
        return iter(found.values())

    def describe(self) -> Iterator[_Family]:
        """All possible names, without reading the sources."""
        found: dict[str, _Family] = {}
        for metric in ALL:
            for family in _families(metric, []):
                found.setdefault(family.name, family)
        return iter(found.values())


def exposition(*sources: Source) -> tuple[str, bytes]:
    """Content type and text of a page for Prometheus with the present values of these sources, from a new registry."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ControllerCollector(*sources))
    return CONTENT_TYPE_LATEST, generate_latest(registry)


def _families(metric: Metric, labels: list[str]) -> list[_Family]:
    name, said = metric.prometheus_name, f"{metric.meaning} ({metric.unit})"
    if metric.kind == "histogram":
        return [HistogramMetricFamily(name, said, labels=labels)]
    if metric.kind == "gauge":
        return [GaugeMetricFamily(name, said, labels=labels)]
    counter = CounterMetricFamily(name, said, labels=labels)
    return [counter] if metric.kind == "counter" else [counter, GaugeMetricFamily(name + _RATE, said, labels=labels)]


def _add(found: dict[str, _Family], sample: Sample, source: tuple[str, str]) -> None:
    labels = {source[0]: source[1]}
    if sample.metric.tag is not None:
        labels["broker_id" if sample.metric.tag == BROKER else sample.metric.tag] = cast(str, sample.tag_value)
    for family, value in zip(_families(sample.metric, list(labels)), _values(sample), strict=True):
        kept = found.setdefault(family.name, family)
        said = list(labels.values())
        if isinstance(value, HistogramValue):
            buckets = [("+Inf" if bound == float("inf") else str(float(bound)), n) for bound, n in value.cumulative()]
            cast(HistogramMetricFamily, kept).add_metric(said, buckets, value.total)
        else:
            cast(GaugeMetricFamily, kept).add_metric(said, value)


def _values(sample: Sample) -> list[int | float | HistogramValue]:
    if isinstance(sample.value, MeterValue):
        return [sample.value.count, sample.value.per_second]
    return [sample.value]
