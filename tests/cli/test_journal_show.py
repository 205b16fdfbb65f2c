"""`kedge journal show`: the table, the other formats, what is refused, and how the command behaves as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller import records as r
from kedge.controller.cli.root import kedge
from kedge.controller.runtime.journal import FolderSink
from tests.cli.ran import CHECKOUT, KEDGE, ended
from tests.journal.told import Told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The journals of two terms: orders-0 moved in epoch 7, something strange happened in epoch 8."""
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.move()
    told.journal.resigned(told.now_ms, "the session \x1b[31mexpired\u2028")
    told.world.state.controller_epoch = 8
    told.take_over()
    told.write(r.ForeignChange("orders", 0, "gel\u00f6scht"))
    told.journal.close()
    return tmp_path


def show(*arguments: str | Path) -> Result:
    return CliRunner().invoke(kedge, ["journal", "show", *map(str, arguments)])


def test_the_rows_of_a_partition_are_the_trace_of_its_move(folder: Path) -> None:
    result = show(folder, "--topic", "orders", "--partition", "0", "--term", "7")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    names = lines[1].split()
    assert names[:9] == ["time", "term", "seq", "row", "event", "partition", "R", "I", "T"]
    trace = [[line[lines[1].index(name) :].split()[0] for name in ("R", "I", "T")] for line in lines[2:12]]
    assert trace[:3] == [
        ["[1,2,3]", "[1,2,3]", "[4,5,6]"],
        ["[1,2,3]", "[1,2,3,4]", "[4,5,6]"],
        ["[1,2,3,4]", "[1,2,3,4]", "[4,5,6]"],
    ]
    assert "TargetCleared" in lines[10]
    assert not any(line.endswith(" ") for line in lines)


def test_a_partition_that_does_not_move_has_a_dash_as_target(folder: Path) -> None:
    shrunk, *intents = show(folder, "--event", "IsrShrunk", "--event", "DeleteIntended").stdout.splitlines()[-4:]
    assert [("DeleteIntended" in line, "[" in line) for line in intents] == [(True, False)] * 3
    assert re.search(r"IsrShrunk +orders-0 +\[4,5,6] +\S+ +-  ", shrunk)


def test_json_gives_the_lines_as_they_stand_in_the_journal(folder: Path) -> None:
    result = show(folder, "--json")
    files = (folder / "kedge-7-0.jsonl", folder / "kedge-8-0.jsonl")
    assert result.stdout_bytes == b"".join(file.read_bytes() for file in files)


def test_filters_narrow_each_other(folder: Path) -> None:
    result = show(folder, "--term", "8", "--event", "ForeignChange", "--topic", "orders", "--json")
    assert [json.loads(line)["event"] for line in result.stdout.splitlines()] == ["ForeignChange"]
    assert show(folder, "--term", "8", "--event", "TargetSet").stderr == "kedge: no rows match\n"


def test_control_characters_of_strangers_are_shown_escaped(folder: Path) -> None:
    """A cause cannot colour the terminal or break a line of the table; other letters are shown as they are."""
    result = show(folder)
    assert "the session \\x1b[31mexpired\\u2028" in result.stdout
    assert "gel\u00f6scht" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_chain_that_holds_is_said_to_hold(folder: Path) -> None:
    result = show(folder, "--verify")
    assert (result.exit_code, result.stderr) == (0, "kedge: the chain of hashes is intact\n")


def test_a_broken_chain_is_exit_code_1_with_verify(folder: Path) -> None:
    file = folder / "kedge-7-0.jsonl"
    file.write_text(file.read_text().replace('"leader":1', '"leader":2', 1))
    result = show(folder, "--verify")
    assert result.exit_code == 1
    first, last = result.stderr.splitlines()
    assert first.startswith(f"kedge: {file}:3: broken link: prev is ")
    assert last == "kedge: the chain of hashes is broken"
    assert show(folder).exit_code == 0


def test_a_torn_tail_is_reported_and_is_no_broken_chain(folder: Path) -> None:
    """A journal that is being written, or that a crash ended, is shown up to its last whole commit."""
    file = folder / "kedge-8-0.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    result = show(folder, "--verify")
    assert result.exit_code == 0
    assert f"kedge: {file}:2: torn tail: 1 line left out after the last whole commit\n" in result.stderr


def test_a_long_detail_is_cut_in_the_table_only(tmp_path: Path) -> None:
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.write(r.ForeignChange("orders", 0, "x" * 5000))
    told.journal.close()
    assert max(map(len, show(tmp_path).stdout.splitlines())) < 600
    assert "x" * 5000 in show(tmp_path, "--json").stdout


@pytest.mark.slow
def test_more_rows_than_a_table_holds_go_on_in_the_next(tmp_path: Path) -> None:
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.write(*[r.KeysRewritten("orders")] * 1200)
    told.journal.close()
    assert show(tmp_path).stdout.count("KeysRewritten") == 1200


@pytest.mark.slow
def test_the_command_runs_as_a_process_in_an_ascii_locale(folder: Path) -> None:
    """With LANG=C no letter ends the command; a terminal that lacks one shows it escaped. Pipes get no colours."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    piped = ended("journal", "show", folder, **ascii_only)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert "TargetCleared" in piped.stdout
    assert "\x1b" not in piped.stdout
    wide = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "300"}  # a dumb terminal has 80 columns
    terminal = ended("journal", "show", folder, **wide, **ascii_only)
    assert (terminal.returncode, terminal.stderr) == (0, "")
    assert "gel\\xf6scht" in terminal.stdout


@pytest.mark.slow
def test_colours_come_with_a_terminal(folder: Path) -> None:
    done = ended("journal", "show", folder, FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="80")
    assert "\x1b[33m" in done.stdout
    assert "[4,5,6]" in done.stdout  # lists are not folded, however narrow it is


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_command_quietly(folder: Path) -> None:
    """`kedge journal show | head` ends without a traceback."""
    for arguments in (["--json"], []):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [*KEDGE, "journal", "show", str(folder), *arguments],
            cwd=CHECKOUT,
            stdout=write_end,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(write_end)
        assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.slow
def test_a_closed_stdout_is_no_crash(folder: Path) -> None:
    command = f"exec {sys.executable} -m kedge journal show {folder} --verify >&-"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=CHECKOUT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"kedge: the chain of hashes is intact\n")


def test_to_verify_nothing_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "kedge-1-0.jsonl").write_bytes(b"")
    result = show("--verify", str(tmp_path))
    assert result.exit_code == 2
    assert "nothing" not in result.stdout
    assert "no whole commit" in result.stderr
