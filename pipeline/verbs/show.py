"""`kedge plan show`: a plan with its largest moves, what was refused, and its waves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attrs
import pyarrow as pa

from ..stages.added import with_planned
from ..tables.arrow import empty
from ..tables.declared import (
    BROKER,
    BROKER_DEFAULT,
    LOG_DIR,
    OF_PLAN,
    OF_WAVES,
    REDUCTION,
    WAVE,
    WAVE_MOVE,
    WAVE_REASON,
)
from ..tables.files import Place, Wanted, wanted
from .plan import describe
from .verb import Said, Tables, Told
from .waves import wave_words

_LARGEST: Final = [("bytes", "descending"), ("topic", "ascending"), ("partition", "ascending")]


@attrs.frozen
class Show:
    """Reads the plan `name` and its waves, and writes nothing. `rows_max`: of moves, refused moves and waves."""

    name: str
    rows_max: int = 20

    title: ClassVar[str] = "reading plans"

    @property
    def wanted(self) -> Sequence[Wanted]:
        of_waves = wanted(REDUCTION, *OF_WAVES, part=self.name, optional=True)
        return (
            *wanted(*OF_PLAN, part=self.name),
            *of_waves,
            *wanted(BROKER),
            *wanted(BROKER_DEFAULT, LOG_DIR, optional=True),
        )

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """`more`: the number of rows that are left out of each list."""
        given = {**{table.name: empty(table) for table in (WAVE, WAVE_MOVE, WAVE_REASON)}, **given}
        log_dirs = given["log_dir"].to_pylist() if "log_dir" in given else []
        row, lines = describe(place, given, with_planned(given).to_pylist(), log_dirs)
        tables = {
            "moves": given["plan_move"].sort_by(_LARGEST),
            "refused": pa.concat_tables([given["plan_reason"], given["wave_reason"]]),
            "waves": given["wave"],
        }
        shown = {name: rows.drop_columns(["plan"]).slice(0, self.rows_max).to_pylist() for name, rows in tables.items()}
        more = {name: rows.num_rows - len(shown[name]) for name, rows in tables.items()}
        waves: dict[tuple[str, int], list[int]] = {}
        columns = (given["wave_move"].column(name).to_pylist() for name in ("topic", "partition", "wave"))
        for topic, number, wave in zip(*columns, strict=True):
            waves.setdefault((topic, number), []).append(wave)
        shown["moves"] = [
            {**move, "waves": waves.get((move["topic"], move["partition"]), [])} for move in shown["moves"]
        ]
        lines = [*lines, *((f"wave {wave['wave']}", wave_words(wave)) for wave in shown["waves"])]
        return Said({**row, **shown, "more": more}, lines)
