"""`kedge serve` on a file: no other program writes it meanwhile, and what it holds outlives signals."""

from __future__ import annotations

import re
import select
import signal
from contextlib import ExitStack, closing
from pathlib import Path

import kafka
import pytest
from kafka.admin import NewTopic

from kedge.stores import MemoryServer
from tests.kit.commands import run
from tests.kit.waiting import until
from tests.serve.processes import DEADLINE_S, begun, running

pytestmark = pytest.mark.slow

IN_USE = "in use by another process, which would overwrite what this one saves"


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
        assert run("store", "audit", f"memory:{file}").exit_code in {0, 1}
        assert run("store", "dump", f"memory:{file}", str(tmp_path / "dump")).exit_code == 0


@pytest.mark.full
def test_a_process_that_was_killed_holds_no_file(tmp_path: Path) -> None:
    file = tmp_path / "store"
    with ExitStack() as stack:
        first = stack.enter_context(running("--store", f"memory:{file}"))
        first.kill()
        stack.enter_context(running("--store", f"memory:{file}", "--topic", "orders"))
    assert "/brokers/topics/orders" in keys(file)


def create(bootstrap: str, topic: str) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])


@pytest.mark.full
def test_what_was_committed_is_saved_now_and_then(tmp_path: Path) -> None:
    """A process that is killed loses the last seconds alone."""
    file = tmp_path / "store"
    with running("--store", f"memory:{file}") as first:
        create(first.at["bootstrap"], "orders")
        until(lambda: "/brokers/topics/orders" in keys(file))
        first.kill()
    with running("--store", f"memory:{file}") as second:
        assert second.status()["topics"] == 1


def test_a_second_signal_loses_nothing(tmp_path: Path) -> None:
    """It may end the process before controllers handed over, but not before the file is saved."""
    file = tmp_path / "store"
    with running("--store", f"memory:{file}") as found:
        create(found.at["bootstrap"], "orders")
        for _ in range(2):
            found.process.send_signal(signal.SIGINT)
        found.process.wait(DEADLINE_S)
        found.is_killed = True
    assert "/brokers/topics/orders" in keys(file)


@pytest.mark.full
def test_a_file_that_cannot_be_saved_is_said_once_and_saved_later(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    said = f"kedge: memory:{folder}/store: not saved, retrying: No such file or directory"
    with running("--store", f"memory:{folder}/store", may_say=re.escape(said)) as found:
        folder.rename(tmp_path / "away")
        create(found.at["bootstrap"], "orders")
        assert found.process.stderr is not None
        assert select.select([found.process.stderr], [], [], DEADLINE_S)[0]
        assert found.process.stderr.readline() == f"{said}\n"
        folder.mkdir()
        until((folder / "store").exists)
    assert "/brokers/topics/orders" in keys(folder / "store")


def test_the_ready_line_says_that_the_file_is_saved(tmp_path: Path) -> None:
    process = begun("--store", f"memory:{tmp_path / 'store'}", "--listen", "127.0.0.1:0", "--no-status")
    try:
        assert process.stdout is not None
        last = next(line for line in process.stdout if line.startswith("ready"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
    assert last.startswith("ready; Ctrl-C ends it, and the records are lost then; ")
    assert last.endswith("; the metadata is saved every 5 s and at the end\n")
