"""The command for mutants by machine: what it chooses, and how it counts. The mutants themselves take too long here."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from tests.mutants.__main__ import BESIDE, LINKED, Bench, Mutant, chosen, equivalents, report
from tests.mutants.rooms import ROOMS

CHECKOUT = Path(__file__).resolve().parents[2]
CHANGE = ("- return a < b", "+ return a <= b")


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_has_code_and_tests(name: str) -> None:
    room = ROOMS[name]
    assert [pattern for pattern in room.code if not list(CHECKOUT.glob(pattern))] == []
    assert [place for place in room.tests if not (CHECKOUT / place).exists()] == []


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    names = [f"m{number:03}" for number in range(100)]
    assert chosen(names, 10, 1) == chosen(names[::-1], 10, 1) != chosen(names, 10, 2)
    assert chosen(names, None, 1) == chosen(names, 1000, 1) == names


@pytest.mark.parametrize(
    "name, function",
    [
        ("kedge.controller.rules.isr.x__check_there__mutmut_3", "kedge.controller.rules.isr._check_there"),
        ("kedge.stores.recipes.fence.xǁFenceǁ_move__mutmut_12", "kedge.stores.recipes.fence.Fence._move"),
        ("kedge.controller.state.rows.xǁTopicRowǁ__init____mutmut_1", "kedge.controller.state.rows.TopicRow.__init__"),
    ],
)
def test_a_mutant_names_the_function_as_it_is_in_the_source(name: str, function: str) -> None:
    assert Mutant(name, is_killed=True).function == function


def test_a_report_shows_survivors_that_are_not_known_to_be_equivalent() -> None:
    known: dict[tuple[str, tuple[str, ...]], str] = {("a.known", CHANGE): "nobody sees it"}
    mutants = [
        Mutant("a.x_known__mutmut_1", is_killed=False, change=CHANGE),
        Mutant("a.x_known__mutmut_2", is_killed=False, change=("- a", "+ b")),
        Mutant("a.x_other__mutmut_1", is_killed=False, change=CHANGE),
        Mutant("a.x_other__mutmut_2", is_killed=True),
        Mutant("a.x_other__mutmut_3", is_killed=False, change=("- zip(a, b, strict=True)", "+ zip(a, b, )")),
        Mutant("a.x_other__mutmut_4", is_killed=False, change=("- zip(a, b, strict=True)", "+ zip(a, strict=True)")),
    ]
    shown = report(mutants, known)
    assert "a.known  (a.x_known__mutmut_2)" in shown
    assert "a.other  (a.x_other__mutmut_1)" in shown
    assert "a.other  (a.x_other__mutmut_4)" in shown
    assert "a.x_known__mutmut_1" not in shown
    assert shown.endswith("6 mutants: 1 killed, 2 equivalent, 3 survived; 50.0% killed or equivalent")


def test_each_equivalent_mutant_has_a_reason_and_a_function_that_exists() -> None:
    for (function, change), why in equivalents().items():
        assert len(why) > 10, function
        assert {line[:2] for line in change} <= {"- ", "+ "}, function
        module, name = function.rsplit(".", 1)
        parts = module.split(".")
        above = [CHECKOUT.joinpath(*parts[:count]) for count in range(len(parts), 0, -1)]
        files = [file for one in above for file in (one.with_suffix(".py"), one / "__init__.py") if file.is_file()]
        assert files, function
        assert f"def {name}(" in files[0].read_text(encoding="utf-8"), function


def test_mutmut_works_beside_the_checkout_with_settings_of_its_own(tmp_path: Path) -> None:
    for name in (*LINKED, *BESIDE, "tests", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / "kedge").mkdir()
    (tmp_path / "kedge" / "controller").symlink_to("../controller")
    bench = Bench("rules", ROOMS["rules"], tmp_path)
    settings = configparser.ConfigParser()
    settings.read(bench.folder / "setup.cfg")
    assert settings["mutmut"]["only_mutate"].split() == ["kedge/controller/rules/*"]
    assert (bench.folder / "kedge" / "controller").resolve() == tmp_path / "controller"
    assert bench.found() == {}
