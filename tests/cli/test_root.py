"""`kedge` loads a command when it is asked for, and no other."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.controller.cli.tree import ROOT, Group


def loaded_by(*arguments: str) -> set[str]:
    """Modules of a fresh interpreter that ran `kedge` with these."""
    program = (
        "import sys; from kedge.controller.cli.root import kedge\n"
        f"kedge({list(arguments)!r}, standalone_mode=False)\n"
        "print('loaded:', *sys.modules, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("loaded:\n")[2].split())


@pytest.mark.slow
def test_list_of_commands_is_printed_without_loading_one() -> None:
    loaded = loaded_by("--help")
    assert {
        name for name in loaded if name.startswith(("kedge.pipeline", "kedge.controller.rig", "kedge.stores", "rich"))
    } == set()
    assert {name for name in loaded if name.startswith("kedge.controller.cli")} == {
        "kedge.controller.cli",
        "kedge.controller.cli.extras",
        "kedge.controller.cli.root",
        "kedge.controller.cli.tree",
    }


@pytest.mark.slow
def test_a_command_loads_no_other() -> None:
    """The journal is shown without stores, the rig and Arrow."""
    loaded = loaded_by("journal", "show", "--help")
    rooms = {name.split(".")[3] for name in loaded if name.startswith("kedge.controller.cli.")}
    assert rooms <= {"extras", "root", "tree", "journal", "options", "printing"}
    assert {"pyarrow", "numpy", "kedge.controller.rig"} & loaded == set()


@pytest.mark.slow
def test_a_command_that_speaks_to_brokers_loads_nothing_of_the_others() -> None:
    """Nor kafka-python, before it connects."""
    loaded = loaded_by("kafka", "configs", "--help")
    rooms = {module.split(".")[3] for module in loaded if module.startswith("kedge.controller.cli.")}
    assert rooms == {"extras", "root", "tree", "kafka", "options", "printing", "configs"}
    assert {"kafka", "kedge.controller.rules", "rich"} & loaded == set()


PATHS = [
    *((name,) for name in ROOT),
    *((name, command) for name, row in ROOT.items() if isinstance(row, Group) for command in row.commands),
]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_each_row_of_the_tree_is_a_command_of_that_name(path: tuple[str, ...]) -> None:
    command: click.Command | None = kedge
    for name in path:
        assert isinstance(command, click.Group)
        with click.Context(command) as context:
            assert name in command.list_commands(context)
            command = command.get_command(context, name)
    assert command is not None
    assert command.name == path[-1]


@pytest.mark.slow
@pytest.mark.parametrize("package,extra", [("kafka", "wire"), ("pyarrow", "pipeline")])
def test_a_missing_extra_is_one_line_with_its_installation(package: str, extra: str) -> None:
    name = {"kafka": "serve", "pyarrow": "plan"}[package]
    program = f"import sys; sys.modules[{package!r}] = None; from kedge.controller.cli.root import run; run()"
    done = subprocess.run([sys.executable, "-c", program, name, "--help"], capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.endswith(f" is not installed; run: pip install 'kedge[{extra}]'")


@pytest.mark.parametrize(
    "arguments,said",
    [
        ((), "Usage: kedge"),
        (("plan",), "Usage: kedge plan"),
    ],
)
def test_a_group_alone_shows_its_help(arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(kedge, list(arguments))
    assert said in done.output
    assert len(done.output.splitlines()) > 5


@pytest.mark.parametrize(
    "arguments,said",
    [
        (("plane",), "No such command 'plane'"),
        (("--verbos",), "No such option '--verbos'"),
        (("plan", "dran"), "No such command 'dran'"),
        (("plan", "drain"), "Missing argument 'TABLES'; see kedge plan drain --help"),
        (("plan", "drain", "t", "--brokrs", "1"), "No such option '--brokrs'"),
        (("plan", "drain", "t", "--brokers", "x"), "Invalid value for '--brokers'"),
        (("journal", "audit", "j", "--engine", "flink"), "'flink' is not one of 'auto', 'local', 'spark'"),
        (("store", "dump", "a", "b", "c"), "unexpected extra argument"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_line_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(kedge, list(arguments))
    (line,) = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert line.startswith("kedge: ")
    assert said in line
