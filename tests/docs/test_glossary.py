"""The glossary: the words of its last column are in no page, no help text and no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kedge.controller.cli.root import kedge

CHECKOUT = Path(__file__).resolve().parents[2]
GLOSSARY = CHECKOUT / "docs" / "glossary.md"
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *(page for page in sorted((CHECKOUT / "docs").glob("*.md")) if page != GLOSSARY),
]
ROOMS = ("benchmarks", "controller", "examples", "kedge", "pipeline", "scripts", "servers", "stores", "tests")
_CODE = re.compile(r"`[^`]*`")  # names of the code
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")  # within a name


def rows() -> list[list[str]]:
    """Term, meaning and what is not to be said, of each row of the glossary."""
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in found if row[:2] != ["term", "meaning"]]


def banned() -> re.Pattern[str]:
    words = [re.escape(word.strip()) for row in rows() for word in row[2].split(",") if word.strip()]
    assert len(words) >= 10
    return re.compile(rf"\b({'|'.join(words)})s?\b", re.IGNORECASE)


def helps(command: click.Command, path: str = "kedge") -> Iterator[tuple[str, str]]:
    """The help of each command below this one."""
    context = click.Context(command, info_name=path)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from helps(below, f"{path} {name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_uses_a_second_word_for_a_term(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = [
        f"{page.name}:{number}: {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in banned().finditer(_CODE.sub("", line))
    ]
    assert found == []


def test_no_help_text_uses_a_second_word_for_a_term() -> None:
    texts = dict(helps(kedge))
    assert len(texts) > 30
    assert {path: match[0] for path, text in texts.items() if (match := banned().search(text))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_no_name_and_no_comment_uses_a_second_word(room: str) -> None:
    found = []
    for file in sorted((CHECKOUT / room).rglob("*.py")):
        words = _HUMP.sub(" ", file.read_text(encoding="utf-8")).replace("_", " ")
        found += [f"{file.relative_to(CHECKOUT)}: {match[0]}" for match in banned().finditer(words)]
    assert found == []


def test_every_row_has_a_term_a_meaning_and_a_third_cell() -> None:
    for row in rows():
        assert len(row) == 3, row
        assert row[0], row
        assert len(row[1]) > 15, row
