"""`kedge store diff`: which keys two trees do not have alike, whatever else their stores say of them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.store.places import Make, everywhere, filled, memory_url, run

MINE = {"/a": b"1", "/b": b"\xff", "/c/d": b""}


@everywhere
def test_equal_trees_are_alike_though_their_files_differ(make: Make, tmp_path: Path) -> None:
    url, file, other = filled(make(tmp_path), MINE), str(tmp_path / "dump.json"), make(tmp_path)
    assert run("dump", url, file).exit_code == 0
    assert run("load", file, other).exit_code == 0
    for one, two in ((url, file), (file, other), (url, other)):
        done = run("diff", one, two)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "3 and 3 keys, none differ\n", "")


def test_each_key_that_differs_is_a_line_and_exit_code_1(tmp_path: Path) -> None:
    one = filled(memory_url(tmp_path), MINE)
    other = filled(memory_url(tmp_path), {"/a": b"2", "/b": b"\xff", "/c/e": b""})
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    done = run("diff", one, other)
    assert (done.exit_code, done.stdout) == (1, "~ /a\n- /c/d\n+ /c/e\n3 and 3 keys, 3 differ\n")
    said = json.loads(run("diff", one, other, "--json").stdout)
    assert (said["gone"], said["new"], said["other"], said["keys"]) == (["/c/d"], ["/c/e"], ["/a"], [3, 3])
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_recorded_tree_of_a_zookeeper_is_compared_by_its_keys(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_text('{"/c": {"version": 0}, "/c/a": {"value": "1", "version": 7}}')
    assert run("diff", str(file), filled(memory_url(tmp_path), {"/c/a": b"1"})).exit_code == 0
