"""Files: names, rotation, how many are kept, torn tails, full disks, fsync."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller import records as r
from kedge.controller.codec.journal import ends_commit
from kedge.controller.runtime.journal import FolderSink, Fsync, Reading
from kedge.controller.runtime.journal.files import files_in, whole_bytes_of
from tests.disks import file_size_limit
from tests.journal.told import Row, Told


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(folder: Path) -> list[Row]:
    reading = Reading([folder])
    rows = list(reading)
    assert reading.broken_link is None
    return rows


def written(folder: Path, epoch: int = 7) -> list[bytes]:
    """The lines, with line ends, of a journal of one move."""
    told = Told(FolderSink(folder), epoch)
    told.take_over()
    told.move()
    told.journal.close()
    return (folder / f"kedge-{epoch}-0.jsonl").read_bytes().splitlines(keepends=True)


def test_a_term_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Files are named by cluster, controller epoch and number, so that controllers may share a folder."""
    told = Told(FolderSink(tmp_path / "new" / "folder", cluster="eu-1"))
    told.take_over()
    told.journal.resigned(2000, "lost")
    told.world.state.controller_epoch = 9
    told.take_over()
    told.journal.close()
    assert names(tmp_path / "new" / "folder") == ["eu-1-7-0.jsonl", "eu-1-9-0.jsonl"]
    assert [row["event"] for row in read(tmp_path / "new" / "folder")] == ["Takeover", "Resigned", "Takeover"]


def test_a_commit_can_be_read_as_soon_as_it_is_written(tmp_path: Path) -> None:
    """Nothing of a commit waits in a buffer of the process."""
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.reassign((4, 5, 6))
    assert [row["event"] for row in read(tmp_path)] == ["Takeover", "TargetSet"]
    told.journal.close()


def test_a_file_is_followed_by_the_next_before_it_outgrows_its_size(tmp_path: Path) -> None:
    """No file is larger than the limit, unless one commit alone is; the chain goes on from file to file."""
    told = Told(FolderSink(tmp_path, file_bytes_max=1500))
    told.take_over()
    told.move()
    for _ in range(20):
        told.write(r.KeysRewritten("orders"))
    told.journal.close()
    sizes = {file.path.name: file.path.stat().st_size for file in files_in(tmp_path)}
    assert len(sizes) > 3
    larger = [name for name, size in sizes.items() if size > 1500]
    assert len(larger) == 1  # the end of the move, 8 rows in one commit
    assert [row["rows"] for row in Reading([tmp_path / larger[0]]) if "rows" in row] == [8]
    assert len(read(tmp_path)) == 34


def test_only_the_youngest_files_are_kept(tmp_path: Path) -> None:
    """The oldest go with each new file, over all terms; what has another name stays."""
    for stranger in ("other-1-0.jsonl", "notes.txt", "kedge-x-0.jsonl"):
        (tmp_path / stranger).touch()
    for epoch in (8, 9, 10):
        told = Told(FolderSink(tmp_path, file_bytes_max=1, files_max=3), epoch)
        told.take_over()
        told.write(r.KeysRewritten("orders"))
        told.journal.close()
    kept = ["kedge-10-0.jsonl", "kedge-10-1.jsonl", "kedge-9-1.jsonl"]
    assert names(tmp_path) == sorted([*kept, "kedge-x-0.jsonl", "notes.txt", "other-1-0.jsonl"])


@pytest.mark.slow
def test_a_file_cut_at_any_byte_gives_whole_commits_only(tmp_path: Path) -> None:
    """Wherever a crash ends a file: reader and writer find the same last whole commit."""
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.reassign((4, 5, 6))
    told.in_sync(1, 2, 3, 4)
    told.journal.close()
    data = (tmp_path / "kedge-7-0.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    ends = [0]
    for i, line in enumerate(lines):
        if ends_commit(line.removesuffix(b"\n")) is not None:
            ends.append(sum(map(len, lines[: i + 1])))
    file = tmp_path / "kedge-7-0.jsonl"
    rows_at = {end: data[:end].count(b"\n") for end in ends}
    for cut in range(len(data) + 1):
        file.write_bytes(data[:cut])
        whole = max(end for end in ends if end <= cut)
        assert whole_bytes_of(file) == whole
        reading = Reading([file])
        assert len(list(reading)) == rows_at[whole]
        assert [finding.kind for finding in reading.findings] == ([] if whole == cut else ["torn tail"])


def test_a_file_that_is_opened_again_loses_its_torn_tail(tmp_path: Path) -> None:
    """What a crash left of a commit is cut off before the file goes on, whatever the length of its last line."""
    lines = written(tmp_path)
    file = tmp_path / "kedge-7-0.jsonl"
    file.write_bytes(b"".join(lines) + b"".join(lines)[:-1] + b'{"epoch":7,"detail":"' + b"x" * 100_000)
    file.write_bytes(b"".join(lines) + lines[2] + b'{"epoch":7,"detail":"' + b"x" * 100_000)
    told = Told(FolderSink(tmp_path))
    told.take_over()
    told.journal.close()
    assert names(tmp_path) == ["kedge-7-0.jsonl"]
    assert [row["event"] for row in read(tmp_path)][-2:] == ["DeleteIntended", "Takeover"]


def test_a_strangers_file_in_the_place_of_ours_is_left_alone(tmp_path: Path) -> None:
    """Something that was never a journal is not cut: the journal stands still and says why."""
    file = tmp_path / "kedge-7-0.jsonl"
    file.write_text("a recipe for soup\n")
    told = Told(FolderSink(tmp_path))
    told.take_over()
    assert told.journal.stopped == f"ValueError: {file} is not a journal; its content is left unchanged"
    assert file.read_text() == "a recipe for soup\n"


@pytest.mark.slow
@given(limit=st.integers(0, 4000))
def test_of_a_commit_that_did_not_fit_nothing_is_left(tmp_path_factory: pytest.TempPathFactory, limit: int) -> None:
    """A disk that fills in the middle of a write leaves whole commits; with room again it goes on behind a Gap."""
    folder = tmp_path_factory.mktemp("full")
    told = Told(FolderSink(folder))
    with file_size_limit(limit):
        told.take_over()
        told.move()
        told.move_back()
        assert told.journal.stopped is not None
    reading = Reading([folder])
    assert len(list(reading)) == told.journal.lines_written
    # A short commit may still fit behind one that did not.
    assert {finding.kind for finding in reading.findings} <= {"gap"}
    told.write(r.KeysRewritten("orders"))
    told.journal.close()
    assert [row["event"] for row in read(folder)][-2:] == ["Gap", "KeysRewritten"]


@pytest.mark.parametrize(
    "fsync,synced",
    [("off", 0), ("commit", 1 + 6 + 1), (2.0, 1 + 3 + 1), (1000, 1 + 1 + 1)],
    ids=["off", "commit", "seconds", "many seconds"],
)
def test_fsync_is_called_as_often_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: Fsync, synced: int
) -> None:
    """Off: never. Otherwise the folder once, then per commit or with the first commit after so many seconds, and at
    the end. A second passes between two commits."""
    count = 0
    real = os.fsync

    def counted(handle: int) -> None:
        nonlocal count
        count += 1
        real(handle)

    monkeypatch.setattr(os, "fsync", counted)
    seconds = iter(range(10_000, 20_000))
    told = Told(FolderSink(tmp_path, fsync=fsync, monotonic_s=lambda: float(next(seconds))))
    told.take_over()
    for _ in range(5):
        told.write(r.KeysRewritten("orders"))
    told.journal.close()
    assert count == synced


def test_a_commit_that_could_not_be_synced_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fsync per commit, a commit is in the journal only if the disk has it."""
    told = Told(FolderSink(tmp_path, fsync="commit"))
    told.take_over()

    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    told.reassign((4, 5, 6))
    told.journal.close()
    assert [row["event"] for row in read(tmp_path)] == ["Takeover"]
    file = tmp_path / "kedge-7-0.jsonl"
    assert told.journal.stopped == f"OSError: [Errno 5] Input/output error: '{file}'"


@pytest.mark.parametrize(
    "arguments",
    [{"cluster": "a/b"}, {"cluster": ""}, {"file_bytes_max": 0}, {"files_max": 0}, {"fsync": "always"}],
    ids=str,
)
def test_arguments_out_of_range_are_refused(tmp_path: Path, arguments: dict[str, object]) -> None:
    """A sink that could not write is refused when it is made, not when the first term begins."""
    with pytest.raises(ValueError, match=r"cluster|at least 1|fsync"):
        FolderSink(tmp_path, **arguments)  # type: ignore[arg-type]
