"""How topics are spread over groups changes nothing, and events come back from Arrow as they went in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.audit import Audit, audit
from pipeline.audit import throttles as t
from pipeline.audit.conclusion import conclude
from pipeline.audit.edges import Edge, edge_of, light, text_of
from pipeline.audit.groups import audit_throttles, audit_topics, marks_of
from pipeline.audit.local import lights_of, part_of
from pipeline.audit.order import FileOrder
from pipeline.audit.quick import quick_edge
from pipeline.audit.rest import Rest
from pipeline.audit.several import ProcessEnded, audit_in, by_tasks
from pipeline.audit.stitched import stitch
from pipeline.audit.tasks import answer
from pipeline.journal.arrow import EVENT_SCHEMA, batch_of, events_of, sorted_by_place
from pipeline.journal.files import journal_files, read_part, split, whole_part
from pipeline.journal.lines import Event, read_line
from pipeline.progress.moves import moves_of
from tests.pipeline_journal.journals import (
    PLANTED,
    Row,
    find,
    leader_outside_isr,
    lines_of,
    seeded,
    throttled,
    write,
    written,
)


def in_groups(files: list[Path], groups: int) -> Audit:
    """As the engine for Spark does it, in this process: through Arrow, edges as text, groups in any order."""
    rest, edges, events = Rest(), [], []
    for file in files:
        order = FileOrder(str(file))
        for event in read_part(whole_part(file)):
            now = light(event)
            if now is not None:
                order.feed(now)
            if event.row is None:
                rest.take(event)
            else:
                events.append(event)
        edge = edge_of(text_of(order.edge()))
        check_quick(edge, list(read_part(whole_part(file))))
        edges.append(edge)
    marks = marks_of(edges, stitch(edges, rest.gone))
    table = pa.Table.from_batches([batch_of(events)]) if events else EVENT_SCHEMA.empty_table()
    shuffled = table.take(sorted(range(len(table)), key=lambda i: crc32(str(i).encode())))
    ordered = list(events_of(sorted_by_place(shuffled, marks.rank)))
    found: list[Any] = list(audit_throttles((e for e in ordered if _event(e) in t.EVENTS), marks))
    partitions = 0
    for group in reversed(range(groups)):
        some, count = audit_topics((e for e in ordered if _is_in(e, group, groups)), marks)
        found, partitions = found + some, partitions + count
    lights = {str(file): [n for e in read_part(whole_part(file)) if (n := light(e)) is not None] for file in files}
    return conclude(edges, rest, found, partitions, lambda file: iter(lights[file]))


def in_tasks(files: list[Path], groups: int) -> Audit:
    """As several processes do it, in this one: tasks and answers as JSON."""

    def answers(tasks: Sequence[dict[str, Any]], told: Callable[[int], None]) -> list[dict[str, Any]]:
        told(len(tasks))
        return [json.loads(json.dumps(answer(json.loads(json.dumps(task))))) for task in tasks]

    parts = [part_of(file) for file in files]
    return conclude(*by_tasks(parts, groups, answers, lambda done, total: None), lights_of)  # noqa: ARG005


def check_quick(edge: Edge, events: list[Event]) -> None:
    """What is told from columns at once is what line by line gives; it answers for every file that is in order."""
    lines = [event for event in events if light(event) is not None]
    lights = [now for event in lines if (now := light(event)) is not None]
    if lines:
        quick = quick_edge(pa.Table.from_batches([batch_of(lines)]), lambda i: lights[i])
        is_plain = not edge.violations and not edge.gaps and not edge.lost and not edge.ends_lost
        assert quick == edge if quick is not None else not (is_plain and len(edge.spans) == 1)


def _event(event: Event) -> str:
    assert event.row is not None
    return str(event.row["event"])


def _is_in(event: Event, group: int, groups: int) -> bool:
    assert event.row is not None
    topic = event.row.get("topic")
    return topic is None or crc32(topic.encode()) % groups == group


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_whatever_is_planted_is_found_alike_in_any_number_of_groups(
    plant: Callable[[list[Row]], int], tmp_path: Path
) -> None:
    rows = written()
    plant(rows)
    files = write(tmp_path, rows, lines_max=12)
    assert in_groups(files, 1) == in_groups(files, 3) == in_groups(files, 16) == audit(files)
    assert in_tasks(files, 1) == in_tasks(files, 3) == audit(files)


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_a_broken_cluster_is_told_alike_in_any_number_of_groups(seed: int, tmp_path: Path) -> None:
    seeded(tmp_path, seed, 300)
    files = journal_files([tmp_path])
    assert in_groups(files, 5) == in_tasks(files, 2) == audit(files)


def test_throttles_and_reductions_are_told_alike_in_any_number_of_groups(tmp_path: Path) -> None:
    files = write(tmp_path, throttled(), lines_max=12)
    assert in_groups(files, 4) == in_tasks(files, 2) == audit(files)


@pytest.mark.slow
def test_several_processes_say_what_one_says(tmp_path: Path) -> None:
    rows = written()
    leader_outside_isr(rows)
    files = write(tmp_path, rows, lines_max=12)
    told: list[tuple[int, int]] = []
    found = audit(files, lambda done, total: told.append((done, total)), processes=2, several_bytes=0)
    assert found == audit(files) == audit(files, processes=3, several_bytes=0)
    assert found.violations
    assert told[-1][0] == told[-1][1] == sum(file.stat().st_size for file in files)


def test_a_file_that_is_shorter_in_the_second_round_ends_the_process(tmp_path: Path) -> None:
    (file, *_) = write(tmp_path, written())
    part = whole_part(file)
    first = answer({"what": "order", "part": part, "groups": 1})
    marks = marks_of([edge_of(first["edge"])], stitch([edge_of(first["edge"])]))
    task = {"parts": [part], "shares": [first["shares"]], "marks": marks._asdict()}
    assert answer({"what": "topics", "group": 0, **task})["partitions"]
    file.write_bytes(file.read_bytes()[: part.end // 2])
    with pytest.raises(EOFError):
        answer({"what": "throttles", **task})


@pytest.mark.slow
def test_a_process_that_ends_early_costs_time_and_nothing_else(tmp_path: Path) -> None:
    """It cannot even start here: a folder stands where a file was to be read."""
    files = write(tmp_path, written(), lines_max=12)
    parts = [part_of(file) for file in files]
    gone = parts[0]._replace(path=str(tmp_path / "gone"))
    with pytest.raises(ProcessEnded):
        audit_in(2, [gone, *parts[1:]], lambda done, total: None)  # noqa: ARG005


@pytest.mark.parametrize("spelling", [b'"\\u0074opic":"other"', b'"topic":"other"', b'"topic":null', b'"event":"Gap"'])
def test_a_name_that_stands_twice_or_is_spelled_otherwise_is_of_the_topic_that_it_says_last(
    spelling: bytes, tmp_path: Path
) -> None:
    (file, *_) = files = write(tmp_path, written())
    lines = file.read_bytes().splitlines(keepends=True)
    i = find(written(), "TargetSet")
    lines[i] = lines[i].replace(b'"target"', spelling + b',"target"')
    file.write_bytes(b"".join(lines))
    assert audit(files).violations
    assert in_tasks(files, 3) == audit(files)


def test_each_move_is_told_by_one_group_though_a_takeover_lists_all(tmp_path: Path) -> None:
    """The second term finds a move that runs; groups that have other topics say nothing of it."""
    events = [event for file in write(tmp_path, written()) for event in read_part(whole_part(file))]
    assert any(row["detail"]["moves"] for row in written() if row["event"] == "Takeover")
    groups = 5
    of_groups = [
        told
        for group in range(groups)
        for told in moves_of((e for e in events if _is_in(e, group, groups)), group, groups)
    ]
    assert sorted(of_groups) == sorted(moves_of(events))


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_befalls_the_files_is_told_alike_in_any_number_of_groups(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines that are lost, doubled, swapped or broken; files that are gone; tails that are torn."""
    folder = tmp_path_factory.mktemp("journal")
    files = write(folder, written(), lines_max=12)
    for _ in range(data.draw(st.integers(1, 4))):
        file = data.draw(st.sampled_from(files))
        if file.exists():
            befall(data, file)
    left = journal_files([folder])
    assert in_groups(left, 4) == in_tasks(left, 3) == audit(left)


def befall(data: st.DataObject, file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    if not lines:
        return
    i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = data.draw(st.sampled_from(["lost", "doubled", "swapped", "broken", "gone", "torn"]))
    if kind == "gone" and len(list(file.parent.iterdir())) > 1:
        file.unlink()
        return
    if kind == "lost":
        del lines[i]
    elif kind == "doubled":
        lines.insert(j, lines[i])
    elif kind == "swapped":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "broken":
        lines[i] = data.draw(st.binary(max_size=20)).replace(b"\n", b"") + b"\n"
    else:
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    file.write_bytes(b"".join(lines))


@pytest.mark.parametrize("part_bytes", [1, 500, 5_000, 10**9])
def test_a_file_read_in_parts_gives_its_lines_in_their_places(part_bytes: int, tmp_path: Path) -> None:
    """Each part of whole commits; a broken line and a torn tail stay where they are."""
    file = write(tmp_path, written())[0]
    lines = file.read_bytes().splitlines(keepends=True)
    lines[20] = b"broken\n"
    file.write_bytes(b"".join(lines) + b'{"epoch"')
    whole = whole_part(file)
    parts = list(split(whole, part_bytes))
    assert [event for part in parts for event in read_part(part)] == list(read_part(whole))
    assert (len(parts) > 1) == (part_bytes < 10**9)


def test_events_come_back_from_arrow_as_they_went_in() -> None:
    lines = [*lines_of(written())]
    events = [read_line("f", n, line) for n, line in enumerate(lines, 1)]
    back = list(events_of(pa.Table.from_batches([batch_of(events)])))
    assert [event.row for event in back] == [event.row for event in events]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.text(st.characters(exclude_categories=["Cs"])),
    "partition": st.integers(-(2**31), 2**31 - 1),
    "replicas": st.lists(st.integers(0, 2**31 - 1), max_size=4),
    "target": st.lists(st.integers(0, 2**31 - 1), max_size=4),
    "status": st.integers(-128, 127),
    "broker": st.integers(0, 2**31 - 1),
    "detail": st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists), max_size=3),
    "ts": st.integers(-(10**14), 253_402_300_799_999),
    "newer": st.text(),
}


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_any_line_is_an_event_that_comes_back_or_is_quarantined(fields: dict[str, Any]) -> None:
    """Only what no rule asks for (fields of a newer version) stays behind in a column of its own."""
    row = {"epoch": 1, "seq": 2, "row": 0, "ts": 5, "event": "IsrChanged", **fields}
    event = read_line("f", 1, json.dumps(row).encode())
    batch = batch_of([event])
    batch.validate(full=True)
    if event.row is None:
        assert event.reason
        return
    (back,) = events_of(pa.Table.from_batches([batch]))
    encodable = "\\" not in str(row.get("detail")) and str(row.get("detail")).isascii()
    row.pop("newer", None)
    if encodable:
        assert back.row == row
    else:
        assert back.row is not None
        assert {**back.row, "detail": 0} == {**row, "detail": 0}


def test_a_hash_is_that_of_the_bytes_whatever_their_spelling(tmp_path: Path) -> None:
    """A line that says the same in other bytes breaks the chain."""
    rows = written()
    (file, *_) = write(tmp_path, rows)
    i = find(rows, "TargetSet")
    lines = file.read_bytes().splitlines(keepends=True)
    lines[i] = lines[i].replace(b'"event"', b' "event"')
    file.write_bytes(b"".join(lines))
    files = journal_files([tmp_path])
    assert [v.kind for v in audit(files).violations] == ["chain"]
    assert in_groups(files, 3) == audit(files)
