"""The page of conformance is made from the markers of the tests, and says nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conformance import DUE, OPEN, PAGE, ROWS, WHOLE_FILE, StaleMarker, cell, markers, rewritten

HEAD = "| # | what can be observed | shown by |\n|---|---|---|\n"


@pytest.mark.slow
def test_the_page_names_the_tests_of_today() -> None:
    """`python -m tests.docs.conformance` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == rewritten(text, markers())


def test_the_numbers_go_from_one_on() -> None:
    assert sorted(ROWS) == list(range(1, len(ROWS) + 1))


def test_each_row_is_a_sentence() -> None:
    assert [row.number for row in ROWS.values() if not row.sentence.endswith(".")] == []


def test_rows_without_a_test_only_become_fewer() -> None:
    """Lower the number when one is closed."""
    assert len(ROWS) - len(DUE) == 3


def test_a_marker_is_found_at_each_place(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "pytestmark = pytest.mark.checklist(1)\n"
        "@pytest.mark.checklist(2, 3)\n"
        "def test_a(): pass\n"
        "@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.checklist(3))])\n"
        "def test_b(n): pass\n"
        "class TestC:\n"
        "    @pytest.mark.checklist(2)\n"
        "    def test_d(self): pass\n"
    )
    assert markers(tmp_path) == {
        1: {"test_one.py": [WHOLE_FILE]},
        2: {"test_one.py": ["test_a", "TestC::test_d"]},
        3: {"test_one.py": ["test_a", "test_b"]},
    }


def test_a_row_lists_its_tests_by_file() -> None:
    files = {"real/test_x.py": [WHOLE_FILE], "rig/test_y.py": ["test_a", "test_b"]}
    assert cell(files) == "`real/test_x.py`; `rig/test_y.py`: `test_a`, `test_b`"


def test_an_open_row_takes_its_first_test() -> None:
    page = f"{HEAD}| 7 | It works. | {OPEN} |\n"
    assert rewritten(page, {}) == page
    assert rewritten(page, {7: {"x.py": ["test_a"]}}) == f"{HEAD}| 7 | It works. | `x.py`: `test_a` |\n"


@pytest.mark.parametrize("found", [{}, {7: {"x.py": ["test_a"]}, 8: {"x.py": ["test_a"]}}], ids=["lost", "unknown"])
def test_a_marker_that_contradicts_the_page_stops_it(found: dict[int, dict[str, list[str]]]) -> None:
    with pytest.raises(StaleMarker, match=r"\[[78]\]"):
        rewritten(f"{HEAD}| 7 | It works. | `x.py`: `test_a` |\n", found)
