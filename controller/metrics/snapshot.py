"""The metrics of one moment as plain values under Kafka's names. They are immutable, and may be passed to any
thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from ..runtime.measures import HistogramValue
from .definitions import Metric


@attrs.frozen
class MeterValue:
    """`count`: all bytes so far. `per_second`: the rate over the last window."""

    count: int
    per_second: float


Value: TypeAlias = int | float | HistogramValue | MeterValue


@attrs.frozen
class Sample:
    """A metric and its value; `tag_value`: of its tag, if it has one."""

    metric: Metric
    value: Value
    tag_value: str | None = None

    @property
    def key(self) -> str:
        """The name, as Kafka's MBean."""
        return self.metric.key(self.tag_value)


def _as_samples(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    return tuple(samples)


@attrs.frozen(eq=False, repr=False)
class Snapshot(Mapping[str, Value]):
    """MBean (`kafka.controller:type=KafkaController,name=OfflinePartitionsCount`) -> value. Unknown values are left
    out: a stand-by does not know how many partitions are offline.

    `samples`: the same with their definitions. `source`: the label and value of the controller or broker.
    """

    samples: tuple[Sample, ...] = attrs.field(converter=_as_samples)
    source: tuple[str, str]
    _values: Mapping[str, Value] = attrs.field(init=False)

    @_values.default
    def _by_name(self) -> Mapping[str, Value]:
        return {sample.key: sample.value for sample in self.samples}

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Snapshot({self._values!r})"
