"""What `kedge serve` refuses: one line, exit code 2, and nothing listens."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.controller.cli.serve.options import Place, as_brokers, as_place, as_topics
from kedge.controller.codec import keys
from kedge.controller.codec.migration import Marker, encode_marker
from kedge.controller.wire.security.users import salted
from kedge.stores import ABSENT, MemoryStore, Put
from tests.kit.private import write_private
from tests.wire.certificates import Authority

WHOLE = "salt=AAAA,stored_key=AAAA,server_key=AAAA,iterations=4096"


def serve(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["serve", "--listen", "127.0.0.1:0", "--no-status", *arguments])


@pytest.mark.parametrize(
    "text, place",
    [
        ("127.0.0.1:9092", Place("127.0.0.1", 9092)),
        ("localhost:0", Place("localhost", 0)),
        (":7", Place("127.0.0.1", 7)),
        ("[::1]:65535", Place("::1", 65535)),
    ],
)
def test_places(text: str, place: Place) -> None:
    assert as_place("--listen", text) == place
    assert as_place("--listen", str(place)) == place


@pytest.mark.parametrize("text", ["", "x", "x:", "x:-1", "x:65536", "::1:5", "a:b:1", "x:\uff11"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(ValueError, match="--listen"):
        as_place("--listen", text)


def test_racks_are_given_in_turn() -> None:
    assert as_brokers(4, "a, b") == {1: "a", 2: "b", 3: "a", 4: "b"}
    assert as_brokers(2, None) == {1: None, 2: None}
    assert as_brokers(0, None) == {}


def test_topics_have_1_partition_and_3_replicas_or_as_many_as_there_are_brokers() -> None:
    topics = as_topics(["a", "b:4", "c:5:2"], 3)
    assert [(new.num_partitions, new.replication_factor) for new in topics.values()] == [(1, 3), (4, 3), (5, 2)]
    assert as_topics(["a"], 2)["a"].replication_factor == 2


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--listen", "nowhere"], "--listen: expected HOST:PORT with a port from 0 to 65535, got 'nowhere'"),
        (["--listen", "0.0.0.0:0"], "--allow-anonymous"),
        (
            ["--listen", "0.0.0.0:0", "--allow-anonymous"],
            "--listen: 0.0.0.0 is every address of this machine; add --adv",
        ),
        (["--listen", "[::]:0", "--allow-anonymous"], "--listen: :: is every address"),
        (["--listen", "0:0", "--allow-anonymous"], "--listen: 0 is every address"),
        (["--advertise", "::"], "--advertise: expected a host name or address without a port, got '::'"),
        (
            ["--advertise", "example.org:9092"],
            "--advertise: expected a host name or address without a port, got 'example.org:9092'",
        ),
        (["--advertise", "a b"], "got 'a b'"),
        (["--advertise", ""], "got ''"),
        (["--metrics", "0.0.0.0:0"], "--metrics: 0.0.0.0 lets other machines connect without a login"),
        (["--status", "127.0.0.1:0"], "--status and --no-status exclude each other"),
        (["--broker-count", "1001"], "--broker-count: expected 0 to 1000, got 1001"),
        (["--broker-count", "-1"], "--broker-count: expected 0 to 1000, got -1"),
        (["--racks", "a,,b"], "--racks: expected names with commas between them"),
        (["--racks", "a,b,c,d"], "--racks: expected at most 3 racks, one per broker, got 4"),
        (["--store", "nosuch:"], "a store url must begin with"),
        (["--topic", "a b"], "--topic: expected NAME[:PARTITIONS[:REPLICATION_FACTOR]], got 'a b'"),
        (["--topic", "a", "--topic", "a:2"], "--topic: a is given twice"),
        (["--topic", "a:1:9"], "--topic a: "),
        (["--broker-count", "0", "--topic", "a"], "because only 0 broker(s) are registered."),
        (["--node-id", "-1"], "--node-id: expected 0 to 2147483647, got -1"),
        (["--node-id", "2147483648"], "--node-id: expected 0 to 2147483647, got 2147483648"),
        (["--retention", "0"], "at least 1 byte"),
        (["--copy-rate", "0"], "at least 1 byte"),
        (["--users", "/no/such/file"], "--users: /no/such/file: No such file or directory\n"),
        (["--acls", "/no/such/file"], "--acls: /no/such/file: No such file or directory\n"),
        (["--rebalance-delay", "2147483648"], "--rebalance-delay: expected 0 to 2147483647 ms, got 2147483648"),
        (["--tls-key", "key.pem"], "need each other"),
        (["--peers-ca", "ca.pem"], "--tls-clients-ca and --peers-ca need both"),
        (["--tls-key", "/no/key.pem", "--tls-certificate", "/no/cert.pem"], "--tls-certificate: No such file"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], said: str) -> None:
    done = serve(*arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--listen", "--status", "--metrics"])
def test_an_address_that_is_taken_is_one_line(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        more = ["--listen", "127.0.0.1:0"] if option != "--listen" else ["--no-status"]
        done = CliRunner().invoke(kedge, ["serve", *more, option, place])
    assert done.exit_code == 2, done.output
    assert done.stderr == f"kedge: {option} {place}: Address already in use\n"


def test_a_file_that_is_no_store_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("no store")
    done = serve("--store", f"memory:{tmp_path / 'broken'}")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "file, said", [("no/such/folder/tree", "No such file or directory"), ("a-file/tree", "Not a directory")]
)
def test_a_file_that_cannot_be_written_is_one_line_before_anything_listens(
    file: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("")
    done = serve("--store", f"memory:{tmp_path / file}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"kedge: memory:{tmp_path / file}: {said}\n"


@pytest.mark.parametrize("option", ["--users", "--acls"])
def test_a_file_that_is_nested_too_deeply_is_one_line(option: str, tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    write_private(file, '{"version": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}")
    done = serve(option, str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"kedge: {option}: {file}: lists or objects are nested too deeply in it\n"


@pytest.mark.parametrize(
    "entry, problem",
    [
        ("wonder", "expected salt=...,stored_key=...,server_key=...,iterations=..."),
        (WHOLE.replace("salt=AAAA", "salt=AAA"), "salt is not base64"),
        (WHOLE.replace("4096", "x"), "iterations must be a number within 4096..100000"),
        (WHOLE.replace("4096", "1"), "iterations must be a number within 4096..100000"),
        (WHOLE, "a short salt, or keys of different lengths"),
    ],
    ids=["password", "base64", "letters", "few", "short"],
)
def test_a_broken_entry_of_a_user_names_the_user(entry: str, problem: str, tmp_path: Path) -> None:
    """And repeats nothing of what may be a password."""
    file = tmp_path / "users.json"
    write_private(file, json.dumps({"version": 1, "users": {"bob": {"SCRAM-SHA-512": entry}}}))
    done = serve("--users", str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"kedge: --users: {file}: user 'bob': SCRAM-SHA-512: {problem}\n"


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "No such file or directory"),
        (b"short", "expected at least 8 characters, got 5"),
        (b"\xff" * 20, "not text"),
    ],
)
def test_a_secret_that_is_none_is_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    if content is not None:
        write_private(file, content)
    done = serve("--store", "etcd://127.0.0.1:1/x", "--peers-secret", str(file))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o660])
@pytest.mark.parametrize("option", ["--users", "--peers-secret", "--tls-key"])
def test_a_secret_file_that_others_may_read_is_refused(option: str, mode: int, tmp_path: Path) -> None:
    """The same file is taken from its owner alone: then the store of this test is what is not there."""
    signed = Authority(tmp_path).sign("server")
    files = {"--users": tmp_path / "users.json", "--peers-secret": tmp_path / "secret", "--tls-key": signed.key}
    write_private(files["--users"], json.dumps({"version": 1, "users": {"alice": salted("wonder")}}))
    write_private(files["--peers-secret"], "of the processes")
    options = ["--store", "memory:/no/such/folder/file", "--tls-certificate", str(signed.certificate)]
    options += [word for name, file in files.items() for word in (name, str(file))]
    assert "/no/such/folder" in serve(*options).stderr
    files[option].chmod(mode)
    done = serve(*options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kedge: {option}: ")
    assert done.stderr.endswith(f"mode {mode:04o} lets others read or change it; use chmod 600\n")


def test_a_store_that_the_cluster_left_is_refused_with_the_new_url(tmp_path: Path) -> None:
    file = tmp_path / "store.json"
    marker = encode_marker(Marker("m", "etcd://h/p", is_moved=True))
    with closing(MemoryStore(file=file)) as store:
        store.commit([Put(keys.MIGRATION, marker, ABSENT)], timeout_s=1)
    done = serve("--store", f"memory:{file}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"kedge: memory:{file}: the cluster was moved to etcd://h/p; start with --store for it\n"
