"""`kedge serve` on a file: nobody else writes it meanwhile, and what it holds outlives signals."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from controller.cli.root import kedge
from stores import MemoryServer
from tests.serve.processes import DEADLINE_S, begun, running

pytestmark = pytest.mark.slow

IN_USE = "in use by another process, which would overwrite what this one saves"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, arguments)


def keys(file: Path) -> set[str]:
    return set(MemoryServer.load(file).table.rows)


def test_who_else_would_write_the_file_is_refused(tmp_path: Path) -> None:
    """One line, exit code 2, and nothing is written: as a store, or as the file of a dump."""
    file = tmp_path / "store"
    with running("--store", f"memory:{file}", "--topic", "orders"):
        second = begun("--store", f"memory:{file}", "--listen", "127.0.0.1:0", "--no-status")
        try:
            out, said = second.communicate(timeout=DEADLINE_S)
        finally:
            second.kill()
        assert (second.returncode, out, said) == (2, "", f"kedge: memory:{file}: {IN_USE}\n")
        dumped = run("store", "dump", f"memory:{file}", str(file))
        assert (dumped.exit_code, dumped.stderr) == (2, f"kedge: {file}: {IN_USE}\n")
    assert "/brokers/topics/orders" in keys(file)


def test_a_file_that_is_in_use_is_read(tmp_path: Path) -> None:
    file = tmp_path / "store"
    with running("--store", f"memory:{file}"):
        assert run("check", f"memory:{file}").exit_code in {0, 1}
        assert run("store", "dump", f"memory:{file}", str(tmp_path / "dump")).exit_code == 0


def test_a_process_that_was_killed_holds_no_file(tmp_path: Path) -> None:
    file = tmp_path / "store"
    with ExitStack() as stack:
        first = stack.enter_context(running("--store", f"memory:{file}"))
        first.kill()
        stack.enter_context(running("--store", f"memory:{file}", "--topic", "orders"))
    assert "/brokers/topics/orders" in keys(file)
