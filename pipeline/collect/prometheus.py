"""Prometheus text of one broker's exporter, or of many brokers with a label that names them.

Known metrics (JMX exporter's usual spellings; case and underscores do not matter):
* `kafka_log_log_size{topic,partition}`: bytes of a replica;
* `kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate{topic}`, and `bytesoutpersec`, also with the rate's name
  in a label (`name="BytesInPerSec"`); with `partition`: of a replica; without `topic`: of the broker;
* `reassignmentbytesinpersec`, `reassignmentbytesoutpersec` (KIP-352), `kafka_server_..._reassigningpartitions`.
* `kafka_network_requestmetrics_totaltimems_99thpercentile{request}` of Produce, FetchConsumer and FetchFollower, also
  with the time's name (`name="TotalTimeMs"`) or the quantile (`quantile="0.99"`) in a label. NaN is no value. Counters
  (`_total`) need two scrapes and are skipped, as are unknown metrics. An unreadable line of a known metric is
  rejected. The broker is the label `broker_id` or `broker`, or the one that the file was given for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from ...controller.model import numerals
from ..errors import BadInput
from .gathered import INT_MAX, BadRow, Gathered, amount, bad_row, whole
from .layouts import topic_of

_LINE: Final = re.compile(r"([A-Za-z_:][\w:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+(-?[0-9]+))?\s*")
_LABEL: Final = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPED: Final = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_SIZE: Final = "kafkaloglogsize"
_TOPICS: Final = "kafkaserverbrokertopicmetrics"
_RATES: Final = {
    "bytesinpersec": "in_bps",
    "bytesoutpersec": "out_bps",
    "reassignmentbytesinpersec": "reassignment_in_bps",
    "reassignmentbytesoutpersec": "reassignment_out_bps",
}
_TIMES: Final = {
    "produce": "produce_p99_ms",
    "fetchconsumer": "fetch_consumer_p99_ms",
    "fetchfollower": "fetch_follower_p99_ms",
}
_REQUESTS: Final = "kafkanetworkrequestmetrics"
_MOVING: Final = re.compile("kafkaserver.*reassigningpartitions(?:value)?")


def from_prometheus(data: bytes, source: str, into: Gathered, *, broker_id: int | None, now: datetime) -> None:
    """Add the known metrics in `data`. Lines without a time are of `now`."""
    text = data.decode("utf-8-sig", "backslashreplace")
    samples = _Samples(into)
    lines = known = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        lines += 1
        try:
            known += samples.take(line, broker_id, now)
        except BadRow as error:
            known += 1
            into.rejects.add(source, number, line, str(error))
    if not known:
        raise BadInput(f"{source}: none of the {lines} lines has a known metric, such as kafka_log_log_size")
    samples.end()


class _Samples:
    """Values by time, broker, topic and partition."""

    def __init__(self, into: Gathered) -> None:
        self._into = into
        self._of_topics: dict[tuple[datetime, int, str, int | None], dict[str, float]] = {}
        self._of_brokers: dict[tuple[datetime, int], dict[str, float]] = {}

    def take(self, line: str, broker_id: int | None, now: datetime) -> bool:
        """Whether the metric is known. Raises BadRow if it is and the line cannot be used."""
        found = _LINE.fullmatch(line)
        what = _known(found[1], found[2] or "") if found is not None else None
        if found is None or what is None:
            if found is None and _SIZE in _plain(line):
                bad_row("line", "name{labels} value", line)
            return False
        if what in _TIMES.values() and found[3].lower() == "nan":
            return True
        labels = dict(_labels(found[2] or ""))
        value = amount(found[3], what)
        when = now if found[4] is None else _time(found[4])
        broker = labels.get("broker_id", labels.get("broker"))
        if broker is None and broker_id is None:
            bad_row("broker", "a label broker_id, or the broker that the file is given for", line)
        of = whole(broker if broker is not None else broker_id, "broker_id", INT_MAX)
        self._put(what, of, labels, value, when)
        return True

    def _put(self, what: str, broker_id: int, labels: dict[str, str], value: float, when: datetime) -> None:
        topic = topic_of(labels["topic"]) if labels.get("topic") else None
        number = whole(labels["partition"], "partition", INT_MAX) if "partition" in labels else None
        if what == _SIZE:
            if topic is None or number is None:
                bad_row("labels", "topic and partition", sorted(labels))
            self._into.logs.append((broker_id, None, topic, number, int(value), None, False))
        elif topic is not None and what in {"in_bps", "out_bps"}:
            self._of_topics.setdefault((when, broker_id, topic, number), {})[what] = value
        elif topic is None:
            self._of_brokers.setdefault((when, broker_id), {})[what] = value

    def end(self) -> None:
        """Add the rows. Samples of a broker that was reassigning then are marked."""
        moving = {key for key, row in self._of_brokers.items() if any(row.get(name, 0) > 0 for name in _MOVES)}
        for (when, broker_id, topic, number), row in self._of_topics.items():
            sample = (when, broker_id, topic, number, row.get("in_bps"), row.get("out_bps"), None)
            self._into.replica_samples.append((*sample, (when, broker_id) in moving))
        for (when, broker_id), row in self._of_brokers.items():
            known: dict[str, float | None] = {f"nw_{name}" if name in _NETWORK else name: v for name, v in row.items()}
            if (count := row.get("reassigning_partitions")) is not None:
                known["reassigning_partitions"] = int(count)
            self._into.broker_sample(when, broker_id, **known)


_NETWORK: Final = ("in_bps", "out_bps")
_MOVES: Final = ("reassigning_partitions", "reassignment_in_bps", "reassignment_out_bps")


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _known(name: str, labels: str) -> str | None:
    plain = _plain(name)
    if plain == _SIZE or (plain == "kafkaloglogvalue" and 'name="Size"' in labels):
        return _SIZE
    if _MOVING.fullmatch(plain):
        return "reassigning_partitions"
    if plain.startswith(_REQUESTS):
        return _time_of_requests(plain.removeprefix(_REQUESTS), labels)
    if not plain.startswith(_TOPICS) or not plain.endswith("oneminuterate"):
        return None
    named = plain.removeprefix(_TOPICS).removesuffix("oneminuterate")
    if not named:
        label = re.search(r'name="(\w+)"', labels)
        named = "" if label is None else label[1].lower()
    return _RATES.get(named)


def _time_of_requests(name: str, labels: str) -> str | None:
    """The column of a metric of requests; None for other requests, quantiles and times."""
    is_total = name.startswith("totaltimems") or (name == "99thpercentile" and 'name="TotalTimeMs"' in labels)
    is_p99 = name.endswith("99thpercentile") or 'quantile="0.99"' in labels
    request = re.search(r'request="(\w+)"', labels)
    known = is_total and is_p99 and name in {"totaltimems", "totaltimems99thpercentile", "99thpercentile"}
    return _TIMES.get(request[1].lower()) if known and request is not None else None


def _labels(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text.rstrip()):
        found = _LABEL.match(text, at)
        if found is None:
            bad_row("labels", 'name="value",...', text)
        yield found[1], re.sub(r"\\.", lambda escaped: _ESCAPED.get(escaped[0], escaped[0]), found[2])
        at = found.end()


def _time(text: str) -> datetime:
    ms = numerals.whole(text, 0, 2**47 - 1)
    if ms is None:
        bad_row("timestamp", "milliseconds since 1970", text)
    return datetime.fromtimestamp(ms / 1000, UTC)
