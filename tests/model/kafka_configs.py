"""Every config of topics and brokers that Kafka 4.3.1 has, as its brokers list them (`tests/data`)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

import attrs

FILE: Final = Path(__file__).resolve().parents[1] / "data" / "kafka_4_3_configs.tsv"


@attrs.frozen
class KafkaConfig:
    """`of`: topic or broker. `default`: as Kafka prints it, null for none. `update_mode`: of a broker's config,
    read-only, per-broker or cluster-wide."""

    of: str
    name: str
    kind: str
    default: str
    update_mode: str


def _read() -> tuple[KafkaConfig, ...]:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return tuple(KafkaConfig(*row) for row in rows)


KAFKA_CONFIGS: Final = _read()
