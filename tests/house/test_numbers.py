"""No command reads a number of its own: int(), float() and str.isdigit() take 0_3, +3 and digits of other scripts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kedge.controller.cli.options import Decimal, Whole
from kedge.controller.cli.root import kedge
from kedge.controller.cli.tree import ROOT, Group

CHECKOUT = Path(__file__).resolve().parents[2]
READERS = (
    *("controller/cli", "kedge", "pipeline/collect", "pipeline/submit", "pipeline/audit", "pipeline/progress"),
    *("pipeline/policy.py", "pipeline/spark/source.py"),
    *("stores/etcd/url.py", "stores/zookeeper/url.py"),
)
"""What reads options, files and urls of people."""
NUMBER = "a number already"
KNOWN = {
    ("pipeline/collect/gathered.py", "float(found)"): NUMBER,
    (
        "pipeline/collect/kafka_kit.py",
        "int(amount(an_object(row, 'broker').get('StorageFree'), 'StorageFree'))",
    ): NUMBER,
    ("pipeline/collect/kafka_kit.py", "int(amount(an_object(row, 'partition').get('Size'), 'Size'))"): NUMBER,
    ("pipeline/collect/layouts.py", "int(found)"): NUMBER,
    ("pipeline/collect/prometheus.py", "int(count)"): NUMBER,
    ("pipeline/collect/prometheus.py", "int(value)"): NUMBER,
    ("pipeline/policy.py", "float(value)"): NUMBER,
    (
        "controller/cli/kafka/properties.py",
        "int(escaped[1:], 16)",
    ): "four hexadecimal digits, as matched above",
    ("stores/etcd/url.py", "int(port)"): "digits of ASCII, checked above it",
    ("stores/etcd/url.py", "port.isdigit()"): "beside isascii()",
    ("stores/zookeeper/url.py", "int(match['port'])"): "digits of ASCII, by the expression",
}


def of_text(node: ast.AST) -> bool:
    """Whether it may read a text: int() and float() of anything but arithmetic, constants and error codes."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in {"isdigit", "isdecimal", "isnumeric"}
    if not isinstance(node.func, ast.Name) or node.func.id not in {"int", "float"} or not node.args:
        return False
    given = node.args[0]
    is_code = isinstance(given, ast.Attribute) and given.attr in {"error_code", "code"}
    return not isinstance(given, ast.BinOp | ast.Compare) and not is_code


def found_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if of_text(node):
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\\d" in node.value:
            yield node.value


@pytest.mark.parametrize(
    "line", ["int(text)", "float(row['x'])", "int(a.value)", "x.isdigit()", "re.compile(r'\\d+')", "int(text, 10)"]
)
def test_what_reads_a_text_as_a_number_is_found(line: str) -> None:
    assert list(found_in(line)) != []


@pytest.mark.slow
def test_no_reader_has_a_grammar_of_its_own() -> None:
    paths = [CHECKOUT / name for name in READERS]
    files = [file for path in paths for file in ([path] if path.suffix else path.rglob("*.py"))]
    assert len(files) > 100
    found = {(str(file.relative_to(CHECKOUT)), line) for file in files for line in found_in(file.read_text())}
    assert sorted(found - KNOWN.keys()) == []
    assert sorted(KNOWN.keys() - found) == []


def commands() -> Iterator[click.Command]:
    for name, row in ROOT.items():
        group = kedge.get_command(click.Context(kedge), name)
        assert group is not None
        if not isinstance(row, Group):
            yield group
            continue
        assert isinstance(group, click.Group)
        for below in row.commands:
            command = group.get_command(click.Context(group), below)
            assert command is not None
            yield command


@pytest.mark.slow
def test_no_option_reads_numbers_by_click() -> None:
    numbers = [
        param
        for command in commands()
        for param in command.params
        if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType)
    ]
    assert len(numbers) > 30
    assert [param.opts for param in numbers if not isinstance(param.type, Whole | Decimal)] == []
