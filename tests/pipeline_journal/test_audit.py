"""The audit in this process: honest journals are clean, and each thing that is planted is found at its first event."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kedge.pipeline.audit import KINDS, Audit, audit
from kedge.pipeline.journal.files import NoJournal, journal_files
from tests.pipeline_journal.journals import (
    PLANTED,
    RATE,
    Row,
    append,
    drop,
    find,
    insert,
    seeded,
    status_back,
    throttle,
    throttled,
    write,
    written,
)


def audited(folder: Path, rows: list[Row], lines_max: int = 10**9) -> Audit:
    return audit(write(folder, rows, lines_max))


def place(audit_of: Audit, rows: list[Row]) -> int:
    """Which of `rows` the first violation names."""
    first = audit_of.violations[0]
    at = [i for i, row in enumerate(rows) if row["epoch"] == first.controller_epoch]
    return at[first.line - 1]


def test_an_honest_journal_has_nothing_to_find(tmp_path: Path) -> None:
    found = audited(tmp_path, written())
    assert (found.violations, found.gaps, found.rejected_rows, found.unchecked) == ((), (), (), ())
    assert found.counts.lines == len(written())
    assert found.counts.terms == 2


@pytest.mark.parametrize(
    "seed, steps",
    [
        *(pytest.param(seed, 300, marks=pytest.mark.slow) for seed in (101, 102)),
        *(pytest.param(seed, 1_500, marks=pytest.mark.full) for seed in (7_002, 7_004, 7_005)),
    ],
)
def test_the_journal_of_a_broken_cluster_is_honest(seed: int, steps: int, tmp_path: Path) -> None:
    """Kills, failovers, deaths, lost commits: no rule is broken by them."""
    seeded(tmp_path, seed, steps)
    found = audit(journal_files([tmp_path]))
    assert (found.violations, found.rejected_rows) == ((), ())
    assert found.counts.terms > 1 or steps < 1_500


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found_at_its_first_event(plant: Callable[[list[Row]], int], tmp_path: Path) -> None:
    rows = written()
    at = plant(rows)
    found = audited(tmp_path, rows)
    first = found.violations[0]
    assert PLANTED[plant] in {v.kind for v in found.violations if v.place == first.place}
    assert place(found, rows) == at
    assert found.rejected_rows == ()


def test_a_changed_line_breaks_the_chain_at_the_next_line(tmp_path: Path) -> None:
    rows = written()
    (file, *_) = write(tmp_path, rows)
    lines = file.read_bytes().splitlines(keepends=True)
    i = find(rows, "BrokerRegistered", 2)
    lines[i] = lines[i].replace(b'"ts":', b'"ts": ')
    file.write_bytes(b"".join(lines))
    found = audit(journal_files([tmp_path]))
    assert [(v.kind, v.line) for v in found.violations] == [("chain", i + 2)]


def test_throttles_that_the_controller_set_and_took_back_are_no_violation(tmp_path: Path) -> None:
    """Rates that change while moves run, a failover, what operators set, one that is to stay, a reduction; and minutes
    later."""
    rows = throttled()
    append(rows, {"event": "KeysRewritten"}, later_ms=180_000)
    events = {row["event"] for row in rows}
    assert events >= {"ThrottleSet", "ThrottleRemoved", "ThrottleRestored", "StatusChanged", "PartitionPurged"}
    assert any("throttles" in row["detail"] for row in rows if row["event"] == "Takeover")
    found = audited(tmp_path, rows)
    assert (found.violations, found.gaps, found.unchecked) == ((), (), ())


@pytest.mark.parametrize("entity", ["topics/orders", "brokers/1", "brokers/4"])
def test_each_removal_that_the_controller_did_not_do_is_found(entity: str, tmp_path: Path) -> None:
    """The same journal without the rows that give back: the first event is a ThrottleSet of the owner."""
    rows = throttled()
    back = ("ThrottleRemoved", "ThrottleRestored")
    for i in [i for i, r in enumerate(rows) if r["event"] in back and r["detail"]["entity"] == entity][::-1]:
        drop(rows, i)
    commits = sorted({(row["epoch"], row["seq"]) for row in rows})
    for row in rows:  # one that had these rows alone is gone
        row["seq"] = commits.index((row["epoch"], row["seq"]))
    append(rows, {"event": "KeysRewritten"}, later_ms=180_000)
    found = audited(tmp_path, rows)
    assert {v.kind for v in found.violations} == {"throttle"}
    first = rows[place(found, rows)]
    assert (first["event"], first["detail"]["entity"]) == ("ThrottleSet", entity)


def test_a_throttle_that_only_takeovers_list_is_a_violation_when_the_next_one_lists_it_again(tmp_path: Path) -> None:
    """The lines that set it are gone with older files; the first Takeover's term had the time to remove it."""
    rows = written()
    second = find(rows, "Takeover", 1)
    for i in (0, second):
        rows[i]["detail"]["throttles"] = {"brokers": ["4"]}
    assert audited(tmp_path / "once", rows).violations == ()
    append(rows, {"event": "Resigned"}, later_ms=180_000)
    last = {**rows[second], "epoch": 3, "seq": rows[-1]["seq"] + 1, "ts": rows[-1]["ts"] + 1}
    last["detail"] = {**last["detail"], "moves": [], "intents": []}
    rows.append(last)
    found = audited(tmp_path / "again", rows)
    assert [(v.kind, v.broker_id) for v in found.violations] == [("throttle", 4)]
    assert place(found, rows) == second


def test_time_without_a_leader_is_not_held_against_a_throttle(tmp_path: Path) -> None:
    """The controller died with its last move's end, and hours passed until another one led and gave it back."""
    rows = throttled()
    back = find(rows, "ThrottleRemoved", cause="throttle removal")
    at = next(i for i, row in enumerate(rows) if (row["epoch"], row["seq"]) == (rows[back]["epoch"], rows[back]["seq"]))
    takeover = copy.deepcopy(rows[find(rows, "Takeover", 1)])
    takeover["detail"] |= {"moves": [], "intents": [], "throttles": {"topics": ["orders"]}}
    del takeover["detail"]["legacy_entries"]
    rows[at:at] = [takeover]
    for row in rows[at:]:
        row["epoch"], row["ts"] = 3, row["ts"] + 7_200_000
    takeover |= {"seq": rows[at + 1]["seq"], "ts": rows[at + 1]["ts"]}
    for row in rows[at + 1 :]:
        row["seq"] += 1
    assert [v.text for v in audited(tmp_path, rows).violations if v.kind == "throttle"] == []


def test_a_throttle_that_may_still_be_removed_is_said_and_is_no_violation(tmp_path: Path) -> None:
    """The journal ends seconds after the last move: no verdict is possible yet."""
    rows = written()
    insert(rows, find(rows, "TargetSet"), throttle("ThrottleSet", "brokers/5", {RATE: "1000"}))
    found = audited(tmp_path, rows)
    assert found.violations == ()
    assert [gap.kind for gap in found.gaps] == ["open throttle"]


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("is_alone", [True, False])
def test_wrong_number_of_rows_is_reported_once(is_alone: bool, by: int, tmp_path: Path) -> None:
    """In the middle of a term, by a chain that holds: of a commit of one row, and of one of several."""
    rows = written()
    ends = [i for i, row in enumerate(rows) if row.get("rows", 0) > 0 and (row["rows"] == 1) is is_alone]
    at = ends[len(ends) // 2]
    assert rows[at]["epoch"] == rows[at + 1]["epoch"]
    rows[at]["rows"] += by
    found = audited(tmp_path, rows)
    assert [(v.kind, place(found, rows)) for v in found.violations] == [("numbering", at)]


def test_wrong_status_is_reported_once(tmp_path: Path) -> None:
    """A legal trace and the statuses over all terms both see it."""
    rows = written()
    at = status_back(rows)
    found = audited(tmp_path, rows)
    assert [(v.kind, place(found, rows)) for v in found.violations] == [("status", at)]


def _tail_missing(folder: Path) -> None:
    """A crash between a commit and its lines."""
    rows = written()
    last = rows[find(rows, "Takeover", 1) - 1]
    write(folder, [row for row in rows if (row["epoch"], row["seq"]) != (last["epoch"], last["seq"])])


def _tail_torn(folder: Path) -> None:
    file = write(folder, written())[-1]
    file.write_bytes(file.read_bytes() + b'{"epoch":2,"seq":9')


def _file_missing(nth: int) -> Callable[[Path], None]:
    return lambda folder: write(folder, written(), lines_max=12)[nth].unlink()


@pytest.mark.parametrize(
    "harm, kind",
    [
        pytest.param(_tail_missing, "missing tail", id="crash between terms"),
        pytest.param(_tail_torn, "torn tail", id="crash in a line"),
        pytest.param(_file_missing(0), "missing start", id="rotated"),
        pytest.param(_file_missing(1), "missing file", id="between others"),
    ],
)
def test_missing_lines_are_a_gap_and_no_violation(harm: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    harm(tmp_path)
    found = audit(journal_files([tmp_path]))
    assert (found.violations, [gap.kind for gap in found.gaps]) == ((), [kind])


def test_lines_that_cannot_be_read_are_rejected_with_file_line_and_reason(tmp_path: Path) -> None:
    """The run goes on; the chain tells that something stood there."""
    file = write(tmp_path, written())[0]
    lines = file.read_bytes().splitlines(keepends=True)
    lines[20] = b"\xff\xfe not a line\n"
    lines[25] = lines[25].replace(b'"ts":', b'"ts":"noon","was":')
    file.write_bytes(b"".join(lines))
    found = audit(journal_files([tmp_path]))
    assert [(q.source, q.line) for q in found.rejected_rows] == [(str(file), 21), (str(file), 26)]
    assert all(q.reason and q.raw for q in found.rejected_rows)
    assert [v.kind for v in found.violations] == ["chain"]
    assert found.counts.lines == len(written()) - 2


@pytest.mark.parametrize(
    "field,value",
    [
        ("seq", 2**63),
        ("row", -1),
        ("partition", "0"),
        ("replicas", [1, "2"]),
        ("isr", [2**40]),
        ("status", 300),
        ("topic", "\ud800"),
        ("detail", [1]),
        ("cause", None),
        ("prev", 5),
    ],
)
def test_a_field_that_is_not_of_its_kind_is_rejected_and_named(field: str, value: object, tmp_path: Path) -> None:
    rows = written()
    file = write(tmp_path, rows)[0]
    lines = file.read_bytes().splitlines(keepends=True)
    i = find(rows, "IsrChanged")
    changed = json.loads(lines[i]) | {field: value}
    lines[i] = json.dumps(changed, separators=(",", ":")).encode() + b"\n"
    file.write_bytes(b"".join(lines))
    (held,) = audit(journal_files([tmp_path])).rejected_rows
    assert held.line == i + 1
    assert field in held.reason or held.reason == "not a line of a journal"


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kedge-1-0.jsonl").touch()
    with pytest.raises(NoJournal, match="no whole commit"):
        audit(journal_files([tmp_path]))
    with pytest.raises(NoJournal, match="no journal files"):
        journal_files([tmp_path / ".."])
    with pytest.raises(NoJournal, match="missing"):
        journal_files([tmp_path / "missing"])


def test_journals_of_two_clusters_are_refused(tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        (tmp_path / f"{cluster}-1-0.jsonl").touch()
    with pytest.raises(NoJournal, match="got those of east, west"):
        journal_files([tmp_path])


def test_every_kind_has_words() -> None:
    assert {*PLANTED.values()} <= KINDS.keys()
    assert all(KINDS.values())
