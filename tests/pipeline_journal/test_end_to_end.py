"""From a store to a proof, real code all through: a plan is made from what the rig's store shows, handed over in waves
with throttles, followed to its end, and audited from the journal on disk. Then the same with a controller, a disk or a
line that is broken on purpose: each is found, at its first event."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
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
    pass

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


@pytest.mark.slow
def test_a_plan_that_is_followed_to_its_end_is_audited_without_a_finding(tmp_path: Path) -> None:
    """Waves with throttles, a failover in the middle."""
    made = make(tmp_path, file_bytes_max=8_000)
    made.submit(time=RigTime(made.rig, made.kill_once_moving()))
    assert all(1 not in replicas for replicas in made.replicas().values())
    assert not is_marked(made.rig)
    files = ended(made)
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
def test_lines_that_a_full_disk_took_are_a_gap(tmp_path: Path) -> None:
    made = make(tmp_path, sink=FullDisk)
    made.submit()
    found = audit(ended(made))
    assert "gap" in {gap.kind for gap in found.gaps}
    assert found.violations == ()
