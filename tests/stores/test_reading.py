"""Files that a user names: what has no end is refused, and what is no JSON is said in plain words."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kedge.stores.reading import MIB, TwiceError, parse_json, read_whole


@contextmanager
def piped(data: bytes) -> Iterator[str]:
    """As a shell gives `<(command)`: a path of a pipe."""
    out, into = os.pipe()

    def write() -> None:
        with os.fdopen(into, "wb") as end:
            end.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield f"/dev/fd/{out}"
    finally:
        while os.read(out, MIB):  # or the one who writes would wait
            pass
        os.close(out)
        thread.join()


def test_a_file_and_a_pipe_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * MIB)
    assert read_whole(file, mib_max=1) == b"x" * MIB
    with piped(b"x" * MIB) as path:
        assert read_whole(path, mib_max=1) == b"x" * MIB
    assert read_whole("/dev/null") == b""


def test_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    """A file before it is read, a pipe as soon as too much came out of it."""
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, 2**40)
    with pytest.raises(OSError, match="larger than 1024 MiB") as raised:
        read_whole(file)
    assert raised.value.filename == str(file)
    with piped(b"x" * (MIB + 1)) as path, pytest.raises(OSError, match="larger than 1 MiB"):
        read_whole(path, mib_max=1)


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"[" * 100_000, "lists or objects are nested too deeply in it"),
        (b"9" * 10_000, "a number in it has too many digits"),
        (b'{"a": "\xff"}', "not text in UTF-8 or UTF-16"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2"),
    ],
    ids=["deep", "long", "bytes", "torn"],
)
def test_what_is_no_json_is_said_in_plain_words(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem}"):
        parse_json(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_unicode_of_every_usual_kind_is_read(encoding: str) -> None:
    """PowerShell of Windows writes UTF-16 with `>`."""
    assert parse_json('{"ä": 1}'.encode(encoding)) == {"ä": 1}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]'])
def test_a_name_that_an_object_has_twice_is_refused(text: str) -> None:
    """The reader of the standard library keeps the last one."""
    with pytest.raises(TwiceError, match=r"^'a' occurs twice in one object$"):
        parse_json(text)
