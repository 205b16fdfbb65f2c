"""`kedge journal replay`: the table of a move at any commit, illegal rows, and what cannot be replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.journal import moves as tables
from kedge.controller.cli.root import kedge
from kedge.controller.model.values import Move, Partition
from kedge.controller.runtime.journal import FolderSink
from tests.journal.legal import rows as legal_rows
from tests.journal.told import Row, Told

AFTER: list[tuple[str, str, str]] = [
    ("[1,2,3]", "[1,2,3]", "-"),
    ("[1,2,3]", "[1,2,3]", "[4,5,6]"),
    ("[1,2,3]", "[1,2,3,4]", "[4,5,6]"),
    ("[1,2,3,4]", "[1,2,3,4]", "[4,5,6]"),
    ("[1,2,3,4]", "[1,2,3,4,5]", "[4,5,6]"),
    ("[1,2,3,4,5]", "[1,2,3,4,5]", "[4,5,6]"),
    ("[1,2,3,4,5]", "[1,2,3,4,5,6]", "[4,5,6]"),
    ("[1,2,3,4,5,6]", "[1,2,3,4,5,6]", "[4,5,6]"),
    ("[4,5,6]", "[1,2,3,4,5,6]", "[4,5,6]"),
    ("[4,5,6]", "[1,2,3,4,5,6]", "-"),
    ("[4,5,6]", "[4,5,6]", "-"),
]
"""The trace of a move: R, I, T."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two terms: orders-0 moves in epoch 7 and moves back from epoch 8 on, run-0 moves in both."""
    told = Told(FolderSink(tmp_path))
    told.world.plant(Partition("run", 0, (1, 2), (1, 2), 1, 3, Move((2, 3), (1, 2), 900)))
    told.take_over()
    told.move()
    told.journal.resigned(told.now_ms, "the session expired")
    told.world.state.controller_epoch = 8
    told.seq += 1
    told.take_over()
    told.reassign((1, 2, 3))
    told.in_run(1, 2, 3)
    told.journal.close()
    return tmp_path


def replay(*arguments: str | Path) -> Result:
    return CliRunner().invoke(kedge, ["journal", "replay", *map(str, arguments)])


def moves(*arguments: str | Path) -> list[dict[str, Any]]:
    result = replay(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def write(path: Path, rows: list[Row]) -> Path:
    """Rows as a journal with a chain that holds."""
    lines: list[str] = []
    for row in rows:
        said = {name: value for name, value in row.items() if name not in ("rows", "prev")}
        said |= {"rows": row["rows"]} if "rows" in row else {}
        said |= {"prev": sha256(lines[-1].encode()).hexdigest()} if lines else {}
        lines.append(json.dumps(said, separators=(",", ":")))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def changed(tmp_path: Path, change: Callable[[list[Row]], object]) -> Path:
    found = legal_rows()
    change(found)
    return write(tmp_path / "kedge-7-0.jsonl", found)


@pytest.mark.checklist(101, 103)
def test_the_table_of_a_move_is_the_trace_of_the_proposal(folder: Path) -> None:
    result = replay(folder, "--epoch", "7", "--topic", "orders")
    assert result.exit_code == 0
    head, *lines = result.stdout.splitlines()
    assert head == "orders-0  epoch 7  completed"
    cells = [line.split() for line in lines[: len(AFTER)]]
    assert [(cell[1], cell[3], cell[5]) for cell in cells] == AFTER
    assert [cell[0] + cell[2] + cell[4] for cell in cells] == ["RIT"] * len(AFTER)
    assert lines[len(AFTER) :] == ["  to delete: 1, 2, 3", ""]
    assert result.stderr == "kedge: 15 legal rows of 1 term\n"


@pytest.mark.parametrize("seq,length", [(42, 2), (43, 4), (44, 6), (45, 11), (46, 11), (1000, 11)])
def test_a_table_stands_as_of_any_commit(folder: Path, seq: int, length: int) -> None:
    """`--seq` is the last commit that is looked at; past the end it is the end."""
    (move,) = moves(folder, "--epoch", "7", "--topic", "orders", "--seq", str(seq))
    assert len(move["rows"]) == length
    assert move["ended"] == ("completed" if length == 11 else None)


def test_a_move_that_runs_is_shown_as_running(folder: Path) -> None:
    """What the Takeover lists begins with it; where a term ends, its running moves are shown as they stand."""
    lines = replay(folder, "--epoch", "8", "--topic", "run", "--seq", "46").stdout.splitlines()
    assert lines[0] == "run-0  epoch 8  running"
    assert lines[1].split()[-1] == "Takeover"
    assert lines[2:] == [""]


def test_every_term_of_a_folder_is_replayed(folder: Path) -> None:
    result = replay(folder)
    assert result.exit_code == 0
    heads = [line for line in result.stdout.splitlines() if line.startswith(("orders", "run"))]
    assert heads == [
        "orders-0  epoch 7  completed",
        "run-0  epoch 7  running",
        "run-0  epoch 8  completed",
        "orders-0  epoch 8  running",
    ]
    assert result.stderr.endswith("legal rows of 2 terms\n")


def test_json_has_the_same_rows_with_numbers(folder: Path) -> None:
    (move,) = moves(folder, "--epoch", "7", "--topic", "orders", "--partition", "0")
    assert (move["topic"], move["partition"], move["ended"], move["deletes"]) == ("orders", 0, "completed", [1, 2, 3])
    last = move["rows"][-1]
    assert (last["event"], last["replicas"], last["isr"], last["target"]) == ("IsrShrunk", [4, 5, 6], [4, 5, 6], None)
    assert (last["seq"], last["row"], last["leader"], last["leader_epoch"]) == (45, 4, 4, 7)
    assert moves(folder, "--topic", "orders", "--partition", "1") == []


def test_an_illegal_row_is_exit_code_1_and_named(tmp_path: Path) -> None:
    """File, line, epoch, seq, row, the rule, what was expected and what stands there; rows after it are not read."""
    file = changed(tmp_path, lambda found: found[5].update(isr=[1, 2, 3, 4, 9]))
    result = replay(file)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        f"kedge: {file}:6: illegal: epoch 7, seq 44, row 0, IsrChanged of orders-0: isr: "
        "expected only members of R and T [1, 2, 3, 4, 5, 6], got [1, 2, 3, 4, 9] ("
    )
    assert len(result.stderr.splitlines()) == 1
    assert "orders-0  epoch 7  running\n" in result.stdout


def test_an_illegal_row_stands_in_the_json_as_well(tmp_path: Path) -> None:
    file = changed(tmp_path, lambda found: found[9].update(leader=1))
    result = replay(file, "--json")
    assert result.exit_code == 1
    illegal = json.loads(result.stdout.splitlines()[-1])["illegal"]
    assert (illegal["file"], illegal["line"], illegal["seq"], illegal["row"]) == (str(file), 10, 45, 2)
    assert (illegal["rule"], illegal["expected"], illegal["got"]) == ("leader", "one of T [4, 5, 6]", "1")


def test_what_is_illegal_after_the_commit_that_is_asked_for_does_not_count(tmp_path: Path) -> None:
    """`--seq` asks how things stood: what came later has not happened yet."""
    file = changed(tmp_path, lambda found: found[5].update(isr=[1, 2, 3, 4, 9]))
    assert replay(file, "--seq", "43").exit_code == 0
    assert replay(file, "--seq", "44").exit_code == 1


def test_all_rows_are_checked_whatever_is_shown(tmp_path: Path) -> None:
    file = changed(tmp_path, lambda found: found[5].update(isr=[1, 2, 3, 4, 9]))
    result = replay(file, "--topic", "another")
    assert (result.exit_code, result.stdout) == (1, "")


def test_a_broken_chain_is_an_illegal_row(folder: Path) -> None:
    """A line that was changed without breaking a rule is found by the hash of the one after it."""
    file = folder / "kedge-7-0.jsonl"
    file.write_text(file.read_text().replace('"cause":"alter_isr"', '"cause":"alter_isR"', 1))
    result = replay(folder)
    assert result.exit_code == 1
    assert f"kedge: {file}:4: illegal: epoch 7, seq 43, row 1, ReplicasGrown: chain: expected " in result.stderr
    assert replay(folder, "--epoch", "8").exit_code == 0


def test_a_torn_tail_is_said_and_is_legal(folder: Path) -> None:
    """A journal that is being written, or that a crash ended, is replayed up to its last whole commit."""
    file = folder / "kedge-8-0.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    result = replay(folder)
    assert result.exit_code == 0
    assert "torn tail" in result.stderr
    assert "run-0  epoch 8  running" in result.stdout


def test_a_gap_is_said_and_is_legal(tmp_path: Path) -> None:
    gap = {"epoch": 7, "seq": 42, "row": 0, "ts": 1, "event": "Gap", "rows": 1}
    gap["detail"] = {"first": {"controller_epoch": 7, "seq": 42}, "commits": 1, "rows": 2, "why": "disk full"}
    file = changed(tmp_path, lambda found: found.__setitem__(slice(1, 3), [gap]))
    result = replay(file)
    assert (result.exit_code, ": gap: lines are missing" in result.stderr) == (0, True)
    assert "kedge: 48 legal rows of 1 term\n" in result.stderr


def test_a_term_whose_first_file_is_gone_is_replayed_without_its_takeover(tmp_path: Path) -> None:
    """A journal that is kept by count loses its oldest files: that is said, and no row is illegal for it."""
    told = Told(FolderSink(tmp_path, file_bytes_max=1500, files_max=3))
    told.take_over()
    told.move()
    told.move_back()
    told.journal.close()
    result = replay(tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "missing start" in result.stderr


def test_events_without_a_rule_are_said_and_legal(tmp_path: Path) -> None:
    file = changed(tmp_path, lambda found: found[23].update(event="ThrottleSomething"))
    result = replay(file, "--seq", "50")
    assert result.exit_code == 0
    assert "kedge: not checked, because no rule covers these events: ThrottleSomething (1)\n" in result.stderr


@pytest.mark.slow
def test_many_rows_of_one_move_are_kept_at_its_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An isr that flaps for days does not fill the memory: what is left out is counted."""
    monkeypatch.setattr(tables, "FIRST_ROWS", 3)
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.reassign((4, 5, 6))
    for _ in range(tables.LAST_ROWS):
        told.in_sync(1, 2)
        told.in_sync(1, 2, 3)
    told.journal.close()
    (move,) = moves(tmp_path)
    assert (len(move["rows"]), move["rows_left_out"]) == (3 + tables.LAST_ROWS, tables.LAST_ROWS - 1)
    assert f"  ... {tables.LAST_ROWS - 1} rows ..." in replay(tmp_path).stdout.splitlines()


def test_an_empty_folder_and_an_empty_file_are_exit_code_2(tmp_path: Path) -> None:
    result = replay(tmp_path)
    assert (result.exit_code, result.stderr.endswith("in this folder\n")) == (2, True)
    (tmp_path / "kedge-1-0.jsonl").touch()
    result = replay(tmp_path)
    assert (result.exit_code, result.stderr) == (2, "kedge: no whole commit to replay\n")


def test_what_strangers_wrote_is_escaped(tmp_path: Path) -> None:
    file = changed(tmp_path, lambda found: found[1].update(topic="a\x1b[31m"))
    result = replay(file)
    assert "\x1b" not in result.output
    assert "a\\x1b[31m" in result.output
