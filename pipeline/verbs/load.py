"""`kedge plan collect` and `compute-load`: validates collected tables, and computes the loads of partitions and
brokers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from ...controller.model.plural import counted
from ..amounts import amount
from ..cautions import of_capacities
from ..stages.load import averaged, load
from ..stages.sample_times import AGE_MAX_S
from ..stages.samples import WINDOW_S, Places, in_batches, reduce
from ..stages.validate import validate
from ..stages.windows import MEAN, check_statistic
from ..tables.arrow import Arrow, empty
from ..tables.declared import (
    BROKER,
    BROKER_DEFAULT,
    BROKER_SAMPLE,
    PARTITION,
    REJECTED_ROWS,
    REPLICA_SAMPLE,
    SAMPLES,
    TABLES,
)
from ..tables.files import Place, Wanted, wanted
from ..tables.rejects import rejected_counts
from .saying import reason_counts, reason_rows
from .verb import Said, Tables, Told

READ_WHOLE: Final = tuple(table for table in SAMPLES if table is not REPLICA_SAMPLE)


@attrs.frozen
class Load:
    """Reads the collected tables, writes them without unusable rows, `rejected_rows`, and the loads. `consistent`:
    whether they come from one instant, if known. `notes`: sentences on how the sources were read. `age_max_s`,
    `window_s`, `statistic`, `sampled_at` (when the snapshot was taken): of samples, as in the stage `samples`.
    `growth`: a factor of all rates. The samples of replicas are read in batches and left as they are."""

    dry_run: bool = False
    consistent: bool | None = None
    notes: tuple[str, ...] = ()
    age_max_s: float = AGE_MAX_S
    window_s: int = WINDOW_S
    statistic: str = MEAN
    growth: float = 1.0
    sampled_at: datetime | None = None

    title: ClassVar[str] = "loading"
    wanted: ClassVar[Sequence[Wanted]] = (
        *wanted(BROKER, PARTITION),
        *wanted(BROKER_DEFAULT, *READ_WHOLE, REJECTED_ROWS, optional=True),
    )
    looked_at: ClassVar[Sequence[Wanted]] = (Wanted(REPLICA_SAMPLE, optional=True),)

    def __attrs_post_init__(self) -> None:
        check_statistic(self.statistic, self.growth)

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if rows are rejected."""
        found = self._found(place, given)
        if not self.dry_run:
            _write(place, found)
        reasons = reason_counts(rejected_counts(found["rejected_rows"]))
        said = {
            **place.named,
            "brokers": found["broker"].num_rows,
            "partitions": found["partition"].num_rows,
            "bytes": _bytes(found),
            "request_p99_ms": _slowest(found.get("broker_sample", empty(BROKER_SAMPLE))),
            **_known(found["replica_load"]),
            "averaged": averaged(found),
            "consistent": self.consistent,
            "rejected_rows": reasons,
            "notes": [*self.notes, *of_capacities(found["broker"].to_pylist())],
            "written": not self.dry_run,
        }
        return Said(said, _lines(said), 1 if reasons else 0)

    def _found(self, place: Place, given: Tables) -> Tables:
        """All tables. Samples that are given were collected now, and are written as they are."""
        collected = {name: given[name] for name in given.keys() & {REPLICA_SAMPLE.name}}
        others = {name: given[name] for name in given.keys() - collected.keys()}
        found = validate(others, age_max_s=self.age_max_s, taken_at=self.sampled_at)
        measured = reduce(
            in_batches(given[REPLICA_SAMPLE.name]) if collected else place.batches,
            Places.of(found["broker"], found["partition"]),
            window_s=self.window_s,
            statistic=self.statistic,
            age_max_s=self.age_max_s,
            taken_at=self.sampled_at,
        )
        earlier = found["rejected_rows"]
        earlier = earlier.filter(pc.not_equal(earlier.column("source"), f"table {REPLICA_SAMPLE.name}"))
        rejected = pa.concat_tables([earlier, measured.rejects.table()])
        return {**found, **load(found, growth=self.growth, measured=measured), **collected, "rejected_rows": rejected}


def _write(place: Place, found: Tables) -> None:
    """Write all tables, the partitions last, since they make the snapshot exist."""
    place.remove(PARTITION)
    for name in sorted(found, key=lambda name: name == "partition"):
        place.write(TABLES[name], found[name])


def _slowest(samples: Arrow) -> dict[str, float]:
    """For each measured kind of request the time of the slowest broker."""
    names = [name for name in BROKER_SAMPLE.names if name.endswith("_p99_ms")]
    times = {name: [time for time in samples.column(name).to_pylist() if time is not None] for name in names}
    return {name.removesuffix("_p99_ms"): max(found) for name, found in times.items() if found}


def _bytes(found: Tables) -> int | None:
    """The bytes of all replicas of known size; None if there are partitions and no size is known."""
    sizes = found["replica_load"].column("size_bytes")
    is_unknown = len(sizes) and sizes.null_count == len(sizes)
    return None if is_unknown else sum(found["broker_load"].column("size_bytes").to_pylist())


def _known(loads: Arrow) -> dict[str, Any]:
    """The bases of the known rates, and the numbers of partitions without a rate or size."""
    bases = reason_counts(loads.filter(loads.column("write_bps").is_valid()).column("basis").to_pylist())
    nulls = {name: loads.column(name).null_count for name in ("write_bps", "size_bytes")}
    return {"bases": bases, "unrated": nulls["write_bps"], "unsized": nulls["size_bytes"]}


def _size(said: dict[str, Any]) -> str:
    if said["bytes"] is None:
        return "no size is known"
    meant = f", sizes of {said['averaged']} estimated as the mean of their topic" if said["averaged"] else ""
    return amount(said["bytes"]) + meant + (f", sizes not known of {said['unsized']}" if said["unsized"] else "")


_UNRATED: Final = "unrated"
_RATED: Final = {
    "measured": "measured for {}",
    "split": "divided from the rate of the topic for {}",
    "size_only": "estimated from the size for {}",
    _UNRATED: "not known for {}",
}


def _rated(basis: str, count: int) -> str:
    return _RATED[basis].format(counted(count, "partition"))


def _lines(said: dict[str, Any]) -> list[tuple[str, str]]:
    rates = {**said["bases"], _UNRATED: said["unrated"]}
    moment = "" if said["consistent"] in {None, True} else ", read while the store changed"
    rows = [
        ("snapshot", f"{said['snapshot']} of {said['cluster']}{'' if said['written'] else ', not written'}{moment}"),
        ("holds", f"{counted(said['brokers'], 'broker')}, {counted(said['partitions'], 'partition')}, {_size(said)}"),
        ("rates", ", ".join(_rated(basis, count) for basis, count in rates.items() if count) or "none"),
    ]
    if said["request_p99_ms"]:
        times = (f"{name.replace('_', ' ')} {time:g} ms" for name, time in said["request_p99_ms"].items())
        rows.append(("requests", f"{', '.join(times)}: 99 percent at the slowest broker take no longer"))
    rows += reason_rows("rejected", "row", said["rejected_rows"])
    return rows + [("note", text) for text in said["notes"]]
