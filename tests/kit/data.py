"""The inputs in `tests/data`: trees that Kafka 3.9 left in ZooKeeper, layouts of clusters, maps of kafka-kit's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).resolve().parents[1] / "data"
LAYOUTS: Final[Mapping[str, Mapping[int, str | None]]] = {
    name: {int(broker): rack for broker, rack in racks.items()}
    for name, racks in json.loads((DATA / "clusters.json").read_bytes())["clusters"].items()
}
"""Rack of each broker, by the name of the cluster."""
