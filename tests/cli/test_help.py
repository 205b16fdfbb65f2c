"""The help of every command: it fits 80 columns, says what the command and each option do, and uses plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from kedge.controller.cli.options import Amount, Command, Option
from kedge.controller.cli.root import kedge
from kedge.controller.cli.tree import ROOT, Group
from tests.docs.prose import STUMBLED

COLUMNS = 80
UNITS = re.compile(r"\b(bytes( per second)?|seconds|ms|counts?|numbers?|shares?|ids?|time)\b", re.IGNORECASE)
"""What a number in the help of an option may be."""
NUMBERS = (click.types.IntParamType, click.types.FloatParamType, Amount)
NEVER_QUIET = {
    *("kedge journal show", "kedge journal replay", "kedge store ping", "kedge store audit", "kedge store diff"),
    *("kedge completion", "kedge demo"),
}
"""Commands that print a result alone: neither progress nor confirmations."""


def paths() -> Iterator[tuple[str, ...]]:
    yield ()
    for name, row in ROOT.items():
        yield (name,)
        if isinstance(row, Group):
            yield from ((name, below) for below in row.commands)


def found(path: tuple[str, ...]) -> click.Command:
    command: click.Command = kedge
    for name in path:
        assert isinstance(command, click.Group)
        below = command.get_command(click.Context(command), name)
        assert below is not None
        command = below
    return command


def shown(path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(kedge, [*path, "--help"], prog_name="kedge", terminal_width=COLUMNS)
    assert result.exit_code == 0
    return result.output


PATHS = [*paths()]
TOOLS = [path for path in PATHS if isinstance(found(path), Command)]


def options(path: tuple[str, ...]) -> list[Option]:
    given = [param for param in found(path).params if isinstance(param, click.Option)]
    assert [param.opts for param in given if not isinstance(param, Option)] == []
    return [param for param in given if isinstance(param, Option)]


def takes_value(option: Option) -> bool:
    return not option.is_flag and not isinstance(option.flag_value, str)


def named(path: tuple[str, ...]) -> str:
    return " ".join(path) or "kedge"


@pytest.mark.checklist(274)
@pytest.mark.parametrize("path", PATHS, ids=named)
def test_help_fits_the_columns_uncut(path: tuple[str, ...]) -> None:
    for line in shown(path).splitlines():
        assert len(line) <= COLUMNS, line
        assert not re.search(r"[\w ]\.\.\.$", line) or line.startswith("Usage:"), line
        assert not re.search(r"[a-z]-$", line), f"a name is broken at its hyphen: {line}"


@pytest.mark.parametrize("path", PATHS, ids=named)
def test_help_has_no_stumbling_words(path: tuple[str, ...]) -> None:
    assert STUMBLED.findall(shown(path)) == []


@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_first_line_is_that_of_the_list(path: tuple[str, ...]) -> None:
    row = ROOT[path[0]]
    if isinstance(row, Group):
        row = row.commands[path[1]]
    text = shown(path).split("\n\n")[1]
    assert " ".join(text.split()) == row.says


@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_help_has_exit_codes_and_an_example(path: tuple[str, ...]) -> None:
    text = shown(path)
    assert re.search(r"^  Exit code[:,] ", text, re.MULTILINE)
    assert re.search(r"^Example:\n  (kedge|eval) ", text, re.MULTILINE)


@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_text_has_two_to_ten_lines(path: tuple[str, ...]) -> None:
    lines = [line for line in shown(path).partition("\nExample:\n")[0].splitlines() if line.strip()]
    assert 4 <= len(lines) <= 13, lines  # with the usage and the first line


def test_every_command_below_a_group_is_ours() -> None:
    assert len(TOOLS) >= 30
    assert {named(path) for path in PATHS if not isinstance(found(path), Command | click.Group)} == set()


@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_option_has_one_short_sentence(path: tuple[str, ...]) -> None:
    form = re.compile(r"[A-Z].{8,73}\.")
    assert {option.opts[0]: option.help for option in options(path) if not form.fullmatch(option.help or "")} == {}


@pytest.mark.checklist(274)
@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_option_with_a_value_has_its_default(path: tuple[str, ...]) -> None:
    context = click.Context(found(path))
    lacking = {
        option.opts[0]: option.help
        for option in options(path)
        if takes_value(option)
        and not option.required
        and "Required" not in (option.help or "")
        and "default" not in option.get_help_extra(context)
    }
    assert lacking == {}


@pytest.mark.checklist(274)
@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_number_has_its_unit(path: tuple[str, ...]) -> None:
    numbers = [option for option in options(path) if takes_value(option) and isinstance(option.type, NUMBERS)]
    assert {option.opts[0]: option.help for option in numbers if not UNITS.search(option.help or "")} == {}


@pytest.mark.parametrize("path", TOOLS, ids=named)
def test_quiet_is_where_more_than_results_is_printed(path: tuple[str, ...]) -> None:
    names = {name for option in found(path).params for name in option.opts}
    assert ("--quiet" in names) == (named(("kedge", *path)) not in NEVER_QUIET)
