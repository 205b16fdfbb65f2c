"""Files without an end and JSON that cannot be parsed, given to every command that reads one: one line that names the
file, before the memory is full."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from kedge.stores import MemoryServer
from tests.cli.ran import KEDGE
from tests.kit.commands import run
from tests.kit.private import write_private

MEMORY_BYTES = 2**31
SERVE = ("serve", "--listen", "127.0.0.1:0", "--no-status")
NOWHERE = ("--bootstrap-server", "127.0.0.1:1")
MOVES = ("kafka", "reassign-partitions", *NOWHERE)
COLLECT = ("plan", "collect", "{folder}", "--cluster", "c", "--snapshot", "1")
PLACES = {
    "store of serve": (*SERVE, "--store", "memory:{file}"),
    "users": (*SERVE, "--users", "{file}"),
    "rights": (*SERVE, "--acls", "{file}"),
    "secret": (*SERVE, "--store", "etcd://127.0.0.1:1/x", "--peers-secret", "{file}"),
    "store": ("store", "audit", "memory:{file}"),
    "load": ("store", "load", "{file}", "memory:{folder}/new"),
    "diff": ("store", "diff", "{file}", "{file}"),
    "plan": (*MOVES, "--verify", "--reassignment-json-file", "{file}"),
    "topics": (
        *MOVES,
        "--generate",
        "--broker-list",
        "1",
        "--topics-to-move-json-file",
        "{file}",
    ),
    "properties": ("kafka", "topics", *NOWHERE, "--list", "--command-config", "{file}"),
    "collected map": (*COLLECT, "--map", "{file}"),
}


def command(place: str, file: Path | str, folder: Path) -> list[str]:
    return [argument.format(file=file, folder=folder) for argument in PLACES[place]]


def ended(*arguments: str) -> tuple[int, str, str]:
    """As a process that may not take more memory."""
    done = subprocess.run(
        [*KEDGE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_a_device_without_an_end_is_one_line(place: str, tmp_path: Path) -> None:
    arguments = command(place, "/dev/zero", tmp_path)
    code, out, said = ended(*arguments)
    assert (code, out) == (1 if arguments[0] == "kafka" else 2, "")
    assert "/dev/zero" in said
    assert "expected a file or a pipe, not a device" in said
    assert "Errno" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("place", ["users", "store", "load", "plan"])
def test_a_file_beyond_the_limit_is_one_line(place: str, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.touch(mode=0o600)
    os.truncate(file, 2**40)
    done = run(*command(place, file, tmp_path))
    assert str(file) in done.stderr
    assert "larger than 1024 MiB\n" in done.stderr
    assert len(done.stderr.splitlines()) == 1


PYTHON = ("recursion", "codec", "integer", "Exceeds", "sys.")


@pytest.mark.parametrize("place", ["users", "store", "load", "plan", "collected map"])
@pytest.mark.parametrize(
    "data, problem",
    [
        (b"[" * 100_000, "lists or objects are nested too deeply in it"),
        (b'{"version": ' + b"9" * 10_000 + b"}", "a number in it has too many digits"),
        (b'{"version": "\xff"}', "not text in UTF-8 or UTF-16"),
    ],
    ids=["deep", "long", "bytes"],
)
def test_json_that_cannot_be_read_is_said_in_plain_words(place: str, data: bytes, problem: str, tmp_path: Path) -> None:
    file = write_private(tmp_path / "bad.json", data)
    done = run(*command(place, file, tmp_path))
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [word for word in PYTHON if word in done.stderr]


@pytest.mark.slow
def test_a_snapshot_of_any_depth_is_one_line(tmp_path: Path) -> None:
    """A little deeper it could no longer be read, a little less deep its checksum is computed."""
    file = tmp_path / "deep.json"
    MemoryServer().save(file)
    empty = file.read_text()
    assert '"keys": {' in empty
    for depth in range(800, 1050):
        file.write_text(empty.replace('"keys": {', '"keys": {"/a": ' + "[" * depth + "]" * depth))
        done = run("store", "diff", str(file), str(file))
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), depth


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0"])
def test_a_pipe_is_a_file_like_others(path: str, tmp_path: Path) -> None:
    """As what a shell puts for `<(command)`."""
    code, _, said = loaded(path, tmp_path)
    assert (code, said) == (0, "")
    assert MemoryServer.load(tmp_path / "new").table.rows["/a"][0] == b"1"


def loaded(path: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*KEDGE, *command("load", path, folder)],
        input='{"/a": {"value": "1", "version": 0}}',
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
