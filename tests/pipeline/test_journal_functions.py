"""Audits and progress of journals in Arrow tables: those of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kedge.pipeline import local
from kedge.pipeline.audit import audit
from kedge.pipeline.errors import BadInput
from kedge.pipeline.journal.arrow import batch_of, events_of
from kedge.pipeline.journal.lines import read_line
from kedge.pipeline.journal.results import Rows, rows_of_audit, rows_of_progress
from kedge.pipeline.progress import progress
from kedge.pipeline.tables.arrow import Arrow
from tests.pipeline_journal.breaks import JOURNALS
from tests.pipeline_journal.journals import leader_outside_isr, write, written, written_by_a_zombie


def table_of(folder: Path) -> Arrow:
    """The rows of all files, in no order."""
    table = local.read_journal([folder])
    return table.take([*range(1, table.num_rows, 2), *range(0, table.num_rows, 2)])


def rows(found: Mapping[str, Arrow]) -> dict[str, list[tuple[object, ...]]]:
    return {name: [tuple(row.values()) for row in table.to_pylist()] for name, table in found.items()}


def expected(made: Rows) -> dict[str, list[tuple[object, ...]]]:
    """As `rows`, of the results of one cluster; lists as Arrow returns them."""
    return {
        table.name: [
            tuple(list(value) if isinstance(value, tuple) else value for value in row)
            for row in (some if table.names[0] == "cluster" else [("kedge", *row) for row in some])
        ]
        for table, some in made.items()
        if table.name != "wave_calibration"
    }


@pytest.mark.parametrize("journal, kind", JOURNALS)
def test_table_is_audited_as_its_files(journal: Callable[[Path], list[Path]], kind: str | None, tmp_path: Path) -> None:
    files = journal(tmp_path)
    found = local.audit(table_of(tmp_path))
    assert rows(found) == expected(rows_of_audit({"kedge": audit(files)}))
    assert kind is None or kind in found["audit_violation"]["kind"].to_pylist()
    assert rows(local.progress(table_of(tmp_path))) == expected(rows_of_progress({"kedge": progress(files)}))


def test_damaged_lines_are_gaps_of_a_table(tmp_path: Path) -> None:
    """A line that cannot be read, a missing file and a torn tail."""
    files = write(tmp_path, written(), lines_max=12)
    lines = files[0].read_bytes().splitlines(keepends=True)
    lines[3] = b'{"epoch":"\xff"}\n'
    files[0].write_bytes(b"".join(lines))
    files.pop(1).unlink()
    with files[-1].open("ab") as torn:
        torn.write(b'{"epoch":2')
    found = local.audit(table_of(tmp_path))
    assert {*found["audit_gap"]["kind"].to_pylist()} >= {"bad line", "missing file", "torn tail"}
    assert rows(found) == expected(rows_of_audit({"kedge": audit(files)}))
    assert rows(local.progress(table_of(tmp_path))) == expected(rows_of_progress({"kedge": progress(files)}))


def test_late_lines_are_found_without_their_files(tmp_path: Path) -> None:
    planted = written()
    written_by_a_zombie(planted)
    files = write(tmp_path, planted, lines_max=12)
    found, table = audit(files), table_of(tmp_path)
    assert "superseded epoch" in {violation.kind for violation in found.violations}
    for file in files:
        file.unlink()
    assert rows(local.audit(table)) == expected(rows_of_audit({"kedge": found}))


def test_each_cluster_of_a_table_is_audited_alone(tmp_path: Path) -> None:
    """Their files have the same names."""
    broken = written()
    leader_outside_isr(broken)
    write(tmp_path / "cluster=west", broken)
    write(tmp_path / "cluster=east", written())
    table = table_of(tmp_path)
    for function, name in ((local.audit, "audit_violation"), (local.progress, "progress")):
        together = function(table)
        for cluster in ("east", "west"):
            alone = function(table.filter(pc.equal(table["cluster"], cluster)))
            for made, one in together.items():
                assert one.filter(pc.equal(one["cluster"], cluster)).equals(alone[made]), (cluster, made)
        assert "west" in together[name]["cluster"].to_pylist()
    assert local.audit(table)["audit_violation"]["cluster"].unique().to_pylist() == ["west"]


def test_a_table_without_rows_has_no_findings() -> None:
    found = local.audit(pa.Table.from_batches([batch_of([])]))
    assert {name: table.num_rows for name, table in found.items()} == {
        "audit_violation": 0,
        "audit_gap": 0,
        "rejected_rows": 0,
    }
    assert found["rejected_rows"].column_names[:2] == ["cluster", "source"]


def test_events_come_back_from_their_rows() -> None:
    """Also fields of a newer version, and lines that cannot be read."""
    lines = (
        b'{"epoch":1,"seq":2,"row":0,"ts":-5,"event":"IsrChanged","isr":[],"detail":{"a":[1,null]},"new":{"x":1}}',
        b'{"epoch":1,"seq":3,"row":0,"ts":1700000000123,"event":"TopicCreated","detail":{}}',
        b"broken",
    )
    events = [read_line("f", number, line) for number, line in enumerate(lines, 1)]
    assert list(events_of(batch_of(events))) == events


def test_tables_that_cannot_be_audited_are_refused(tmp_path: Path) -> None:
    write(tmp_path, written())
    table = table_of(tmp_path)
    with pytest.raises(BadInput, match="journal_event: no column cluster, hash"):
        local.audit(table.drop_columns(["hash", "cluster"]))
    nothing = pa.nulls(table.num_rows, pa.string())
    with pytest.raises(BadInput, match="hash is null in a row without a problem"):
        local.audit(table.set_column(table.column_names.index("hash"), "hash", nothing))
    plain = pa.array([[("a", "no JSON")]] * table.num_rows, table.schema.field("detail").type)
    with pytest.raises(BadInput, match="detail has a value that is no JSON"):
        local.audit(table.set_column(table.column_names.index("detail"), "detail", plain))
    torn = table.slice(0, 1).to_pylist()[0] | {"problem": "torn tail"}
    with pytest.raises(BadInput, match="cluster kedge: its rows hold no whole commit"):
        local.progress(pa.Table.from_pylist([torn], schema=table.schema))


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    write(tmp_path, written())
    table = table_of(tmp_path)
    fewer = table.drop_columns(["unknown", "raw", "reason"]).append_column("more", pa.nulls(table.num_rows))
    assert rows(local.progress(fewer)) == rows(local.progress(table))
