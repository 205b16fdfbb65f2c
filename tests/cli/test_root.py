"""`kedge` loads a command when it is asked for, and no other."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.controller.cli.tree import ROOT, Group
from tests.cli.plans import put
from tests.cli.ran import ended, loaded_by
from tests.pipeline_journal.journals import write, written


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


@pytest.mark.slow
def test_local_audit_loads_neither_spark_nor_arrow(tmp_path: Path) -> None:
    write(tmp_path, written())
    loaded = loaded_by("journal", "audit", tmp_path, "--report", tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    assert {"pyspark", "pyarrow", "pandas", "numpy", "py4j"} & {*loaded} == set()


@pytest.mark.slow
def test_one_cluster_is_planned_without_loading_spark(tmp_path: Path) -> None:
    put(tmp_path)
    loaded = loaded_by("plan", "validate", tmp_path, "--engine", "auto", "--no-progress")
    assert "pyarrow" in loaded
    assert not [name for name in loaded if name.startswith(("pyspark", "kedge.pipeline.spark"))]


@pytest.mark.slow
def test_zookeeper_needs_nothing_of_kafkas_protocol(tmp_path: Path) -> None:
    words = ("--bootstrap-server", "127.0.0.1:1", "--cancel", "--reassignment-json-file", tmp_path / "gone")
    loaded = loaded_by("kafka", "reassign-partitions", *words)
    assert "kedge.controller.cli.reassign.execute" in loaded
    assert "kafka" not in loaded


@pytest.mark.slow
def test_completion_loads_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COMP_WORDS": "kedge ", "COMP_CWORD": "1", "_KEDGE_COMPLETE": "bash_complete"}.items():
        monkeypatch.setenv(name, value)
    loaded = {name for name in loaded_by() if name.startswith("kedge.controller.cli.")}
    assert loaded == {f"kedge.controller.cli.{name}" for name in ("extras", "root", "tree")}


def test_version_is_printed() -> None:
    assert CliRunner().invoke(kedge, ["--version"]).stdout.startswith("kedge, version ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "package, extra, arguments",
    [
        ("rich", "cli", ["--help"]),
        ("click", "cli", ["--help"]),
        ("kafka", "wire", ["serve", "--help"]),
        ("pyarrow", "pipeline", ["plan", "--help"]),
        ("pyarrow", "pipeline", ["journal", "audit", "{journal}", "--out", "out"]),
    ],
    ids=["rich", "click", "kafka", "pyarrow", "tables of an audit"],
)
def test_a_missing_extra_is_one_line_with_its_installation(
    tmp_path: Path, package: str, extra: str, arguments: list[str]
) -> None:
    write(tmp_path, written())
    done = ended(*(word.format(journal=tmp_path) for word in arguments), hides=package)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kedge: {package}")
    assert done.stderr.endswith(f" is not installed; run: pip install 'kedge[{extra}]'\n")
    assert done.stderr.count("\n") == 1


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
