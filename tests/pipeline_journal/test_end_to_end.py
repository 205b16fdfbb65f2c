"""From a store to a proof, real code all through: a plan is made from what the rig's store shows, handed over in waves
with throttles, followed to its end, and audited from the journal on disk. Then the same with a controller, a disk or a
line that is broken on purpose: each is found, at its first event."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from kedge.controller.model.requests import NewTopic
from kedge.controller.rig.outside import configs, is_marked
from kedge.controller.rules import completion, reassignment
from kedge.controller.rules.throttling import due, marks
from kedge.controller.runtime.journal import FolderSink
from kedge.pipeline.audit import Audit, audit
from kedge.pipeline.journal.files import journal_files
from kedge.stores import ABSENT, PRESENT, Check, Put
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, Fence, Token
from tests.pipeline_submit.clusters import Made, RigTime, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Patch = pytest.MonkeyPatch


def ended(made: Made, after_ms: int = 1_000) -> list[Path]:
    """Some time goes by, something happens once more, and the journals are closed."""
    made.rig.run(after_ms)
    if made.rig.active is not None:
        made.rig.create_topic("later", replicas=[[4, 5]])
    made.close()
    return journal_files([made.journal])


def rows_of(files: Sequence[Path]) -> list[tuple[str, int, dict[str, Any]]]:
    return [
        (file.name, number, json.loads(line))
        for file in files
        for number, line in enumerate(file.read_bytes().splitlines(), 1)
    ]


def first_row(found: Audit, files: Sequence[Path]) -> dict[str, Any]:
    """The line that the first violation names."""
    first = found.violations[0]
    return next(row for name, number, row in rows_of(files) if (name, number) == (Path(first.file).name, first.line))


def kill_once(made: Made) -> Callable[[], None]:
    """The controller that leads dies in the middle of a wave."""
    killed: list[int] = []

    def kill() -> None:
        if not killed and made.rig.active and any(p.move for p in made.rig.committed.partitions.values()):
            killed.append(made.rig.active.node_id)
            made.rig.mishaps.kill_controller(killed[0])

    return kill


# --- honest


def honest(folder: Path) -> list[Path]:
    """Waves with throttles, a failover in the middle."""
    made = make(folder, file_bytes_max=8_000)
    made.submit(time=RigTime(made.rig, kill_once(made)))
    assert all(1 not in replicas for replicas in made.replicas().values())
    assert not is_marked(made.rig)
    return ended(made)


@pytest.mark.slow
def test_a_plan_that_is_followed_to_its_end_is_audited_without_a_finding(tmp_path: Path) -> None:
    files = honest(tmp_path)
    found = audit(files)
    assert (found.violations, found.gaps, found.rejected_rows, found.unchecked) == ((), (), (), ())
    assert found.counts.terms == 2
    assert len(files) > found.counts.terms  # rotated
    events = {row["event"] for _, _, row in rows_of(files)}
    assert events >= {"Takeover", "TargetSet", "ReplicasGrown", "TargetCleared", "ThrottleSet", "ThrottleRemoved"}
    assert all("prev" in row for _, _, row in rows_of(files) if row["event"] != "Takeover")


# --- broken on purpose; the rig's own invariants look away


def a_zombie_writes(folder: Path) -> list[Path]:
    """No commit asks whether another controller was elected; one that slept wakes in a wave, and continues."""

    def ops(self: Fence, nonce: str) -> tuple[Check, Put]:
        token = Token(self.term.controller_epoch, self.next_seq, nonce)
        return Check(EPOCH_KEY, PRESENT), Put(TOKEN_KEY, token.encode(), ABSENT if self.token is None else PRESENT)

    with Patch.context() as patch:
        patch.setattr(Fence, "ops", ops)
        made = make(folder, check=False)
        slept: list[Any] = []

        def sleep() -> None:
            rig = made.rig
            if not slept and rig.active and any(p.move for p in rig.committed.partitions.values()):
                slept.append(rig.active)
                rig.mishaps.pause_controller(rig.active.node_id)
                rig.until(lambda: rig.active is not None and rig.active is not slept[0])
                rig.run(100)
                rig.mishaps.resume_controller(slept[0].node_id, deaf_ms=300)
                slept[0].controller.admin.create_topics({"of-the-night": NewTopic(1, 1)})
                rig.run(200)

        made.submit(time=RigTime(made.rig, sleep))
        made.close()
    return journal_files([made.journal])


def deleted_too_early(folder: Path) -> list[Path]:
    """A leaving replica is ordered to delete when the move is accepted: the joining one has nothing yet."""
    right = reassignment._accept  # noqa: SLF001

    def accept(view: Any, partition: Any, target: Any, event: Any) -> Any:
        decision = right(view, partition, target, event)
        leaving = [broker for broker in partition.replicas if broker not in target]
        moved = partition.but(leader_epoch=partition.leader_epoch + 1)
        early = completion.intend_deletion(view, moved, leaving)
        return attrs.evolve(decision, records=(*decision.records, *early))

    with Patch.context() as patch:
        patch.setattr(reassignment, "_accept", accept)
        made = make(folder, check=False)
        made.submit()
        made.close()
    return journal_files([made.journal])


def a_throttle_is_forgotten(folder: Path) -> list[Path]:
    """The removal passes over broker 4, and its mark goes all the same."""
    right = marks.given_back

    def given_back(view: Any, kind: Any, owner: str, *rest: Any) -> Any:
        return marks.marked(view, kind, owner, None) if owner == "4" else right(view, kind, owner, *rest)

    with Patch.context() as patch:
        patch.setattr(due, "given_back", given_back)
        made = make(folder, check=False)
        made.submit()
        assert configs(made.rig, "brokers", "4") != {}
        return ended(made, 65_000)


class FullDisk(FolderSink):
    """From its tenth write on the disk is full, for three writes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.writes = 0

    def write(self, lines: Sequence[bytes]) -> None:
        """As FolderSink."""
        self.writes += 1
        if 10 <= self.writes < 13:
            raise OSError(errno.ENOSPC, "no space left on device")
        super().write(lines)


def a_disk_is_full_for_a_while(folder: Path) -> list[Path]:
    made = make(folder, sink=FullDisk)
    made.submit()
    return ended(made)


def a_file_is_lost(folder: Path) -> list[Path]:
    """One of the rotated files of a term, between others."""
    files = honest(folder)
    [file for file in files if file.name.startswith("kedge-2-")][1].unlink()
    return journal_files([folder / "journal"])


def changed(folder: Path) -> list[Path]:
    """An isr was made to look better in a file that was rotated; the next line knows the hash of what stood there."""
    files = honest(folder)
    lines = files[0].read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"BrokerRegistered"' in line)
    lines[at] = lines[at].replace(b'"rack":"b"', b'"rack":"c"').replace(b'"rack":"a"', b'"rack":"c"')
    files[0].write_bytes(b"".join(lines))
    return files


def cut_out(folder: Path) -> list[Path]:
    """A whole commit was taken out of a file, and the numbers behind it moved up: only the chain tells."""
    files = honest(folder)
    data = files[0].read_bytes().splitlines(keepends=True)
    rows = [json.loads(line) for line in data]
    gone = next(row["seq"] for row in rows if row["event"] == "TopicCreated" and row["topic"] == "payments")
    kept = [line for line, row in zip(data, rows, strict=True) if row["seq"] != gone]
    files[0].write_bytes(b"".join(kept))
    return files


def died_in_the_middle_of_a_line(folder: Path) -> list[Path]:
    files = honest(folder)
    last_of_the_first_term = [file for file in files if file.name.startswith("kedge-1-")][-1]
    with last_of_the_first_term.open("ab") as torn:
        torn.write(b'{"epoch":1,"seq":9999,"row":0,"ts":17')
    return files


@pytest.mark.slow
def test_the_write_of_a_zombie_is_found_at_its_first_line(tmp_path: Path) -> None:
    files = a_zombie_writes(tmp_path)
    found = audit(files)
    assert "superseded epoch" in {v.kind for v in found.violations}
    first = next(v for v in found.violations if v.kind == "superseded epoch")
    rows = [(name, number, row) for name, number, row in rows_of(files) if row["epoch"] == first.controller_epoch]
    began = next(row["ts"] for _, _, row in rows_of(files) if row["epoch"] == first.controller_epoch + 1)
    late = next((name, number) for name, number, row in rows if row["ts"] > began)
    assert (Path(first.file).name, first.line) == late


@pytest.mark.slow
def test_a_replica_that_is_deleted_too_early_is_found_where_that_was_decided(tmp_path: Path) -> None:
    files = deleted_too_early(tmp_path)
    found = audit(files)
    assert (found.violations[0].kind, found.violations[0].broker_id) == ("intent", 1)
    row = first_row(found, files)
    assert row == next(row for _, _, row in rows_of(files) if row["event"] == "DeleteIntended")


@pytest.mark.slow
def test_a_throttle_that_was_not_removed_is_found_where_it_was_set(tmp_path: Path) -> None:
    files = a_throttle_is_forgotten(tmp_path)
    found = audit(files)
    assert [(v.kind, v.broker_id) for v in found.violations] == [("throttle", 4)]
    row = first_row(found, files)
    of_4 = [row for _, _, row in rows_of(files) if row.get("detail", {}).get("entity") == "brokers/4"]
    assert (row["event"], row) == ("ThrottleSet", of_4[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "made, kind",
    [
        (a_disk_is_full_for_a_while, "gap"),
        (a_file_is_lost, "missing file"),
        (died_in_the_middle_of_a_line, "torn tail"),
    ],
    ids=lambda made: getattr(made, "__name__", made),
)
def test_missing_lines_are_reported_and_are_no_violation(
    made: Callable[[Path], list[Path]], kind: str, tmp_path: Path
) -> None:
    found = audit(made(tmp_path))
    assert kind in {gap.kind for gap in found.gaps}
    assert found.violations == ()


@pytest.mark.slow
@pytest.mark.parametrize("made", [changed, cut_out], ids=lambda made: made.__name__)
def test_a_chain_that_was_torn_is_found_at_the_first_line_that_knows_better(
    made: Callable[[Path], list[Path]], tmp_path: Path
) -> None:
    files = made(tmp_path)
    found = audit(files)
    chain = next(v for v in found.violations if v.kind == "chain")
    rows = [row for name, _, row in rows_of(files) if name == files[0].name]
    previous = files[0].read_bytes().splitlines()[chain.line - 2]
    assert Path(chain.file) == files[0]
    assert rows[chain.line - 1]["prev"] not in previous.decode()
    assert json.loads(previous)["event"] in {"BrokerRegistered", "LeaderElected", "TopicCreated"}


@pytest.mark.full
@pytest.mark.server
@pytest.mark.parametrize("made", [a_zombie_writes, a_file_is_lost], ids=lambda made: made.__name__)
def test_spark_finds_the_same(made: Callable[[Path], list[Path]], spark: SparkSession, tmp_path: Path) -> None:
    from kedge.pipeline.spark.journals import audit as audit_on_spark  # noqa: PLC0415 - tests without Spark need not import it

    files = made(tmp_path)
    assert json.dumps(audit_on_spark(spark, files)) == json.dumps(audit(files))
