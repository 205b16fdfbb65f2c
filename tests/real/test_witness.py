"""The witness of these tests: what it sees, and that it says no."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import attrs
import pytest

from kedge.controller.rig.invariants import InvariantBroken
from kedge.stores import ABSENT, Conflict, Put, open_store
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from tests.real.cluster import CALL_S, Cluster
from tests.real.served import Served, Witnessed
from tests.real.writes import Checked, Deleted, Transaction, Write, Written
from tests.real.zookeeper_log import ZooKeeperLog

TOPIC, STATE = "/brokers/topics/t", "/brokers/topics/t/partitions/0/state"


@pytest.mark.server
@pytest.mark.full
def test_every_version_of_every_key_is_in_the_log_of_a_server(served: Served) -> None:
    """Each that was acknowledged, in order, also those that no watch would have shown, and before a kill; nothing that
    was refused."""
    store = open_store(served.url(10))
    versions = [store.commit([Put("/a/b", b"0", ABSENT)], timeout_s=CALL_S).versions[0]]
    for number in range(1, 100):
        assert versions[-1] is not None
        put = Put("/a/b", b"%d" % number, versions[-1])
        versions.append(store.commit([put], timeout_s=CALL_S).versions[0])
    with pytest.raises(Conflict):
        store.commit([Put("/c", b"refused", ABSENT), Put("/a/b", b"refused", ABSENT)], timeout_s=CALL_S)
    first = served.log.new()
    store.commit([Put("/mine", b"1", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    store.close()
    served.server.restart()
    store = open_store(served.url(10))
    store.commit([Put("/after", b"1", ABSENT)], timeout_s=CALL_S)
    store.close()
    writes = [write for one in (*first, *served.log.new()) for write in one.writes]
    told = [write.value for write in writes if isinstance(write, Written) and write.key == "/a/b"]
    assert told == [b"%d" % number for number in range(100)]
    assert not [write for write in writes if write.key == "/c"]
    mine = [write for write in writes if write.key == "/mine"]
    assert [type(write) for write in mine] == [Written, Deleted]
    assert isinstance(mine[0], Written)
    assert mine[0].owner
    assert Written("/after", b"1") in writes
    assert served.log.new() == []


def record(revision: int, key: str) -> bytes:
    """A transaction as ZooKeeper writes it down: session, number of the request, revision, time, that a node is set,
    and the node."""
    name = key.encode()
    data = struct.pack(f"!qiqqii{len(name)}sii", 1, 1, revision, 0, 5, len(name), name, -1, 1)
    return struct.pack("!qi", zlib.adler32(data), len(data)) + data + b"B"


def logs(folder: Path, *held: tuple[int, ...]) -> ZooKeeperLog:
    """Of as many servers, each of which wrote down these revisions."""
    folders = [folder / str(number) for number in range(len(held))]
    for place, revisions in zip(folders, held, strict=True):
        written = place / "data" / "version-2" / "log.1"
        written.parent.mkdir(parents=True)
        written.write_bytes(bytes(16) + b"".join(record(r, f"/x/{r:x}") for r in revisions) + bytes(64))
    return ZooKeeperLog("/x", *folders)


NEXT_EPOCH = 1 << 32


def test_what_a_majority_of_servers_wrote_down_is_the_past(tmp_path: Path) -> None:
    """Whatever one of them has of its own, and for a node that got a snapshot instead of what it missed."""
    one, other = (1, 2, 3, NEXT_EPOCH + 1, NEXT_EPOCH + 2), (1, 2, 3, NEXT_EPOCH + 1, NEXT_EPOCH + 2)
    log = logs(tmp_path, one, other, (1, 2, 3, 4, NEXT_EPOCH + 2))
    assert [each.revision for each in log.new()] == [1, 2, 3, NEXT_EPOCH + 1, NEXT_EPOCH + 2]
    assert log.new() == []
    own = log.of_its_own(tmp_path / "2")
    assert [(each.revision, each.writes) for each in own] == [(4, (Written("/4", None),))]


@pytest.mark.parametrize("revisions", [(1, 3), (1, NEXT_EPOCH + 2)])
def test_a_past_with_a_hole_in_it_is_none(tmp_path: Path, revisions: tuple[int, ...]) -> None:
    """In an epoch, or where one begins: too few servers have written down what belongs there."""
    with pytest.raises(AssertionError, match="too few logs hold"):
        logs(tmp_path, revisions, revisions, (1, 2, NEXT_EPOCH + 1)).new()


def put(key: str, value: object, owner: int | None = None) -> Written:
    return Written(key, json.dumps(value).encode(), owner)


def state(leader: int, leader_epoch: int, *isr: int, controller_epoch: int = 1) -> Written:
    said = {"leader": leader, "leader_epoch": leader_epoch, "isr": isr, "controller_epoch": controller_epoch}
    return put(STATE, {"version": 1, **said})


def topic(*replicas: int) -> Written:
    return put(TOPIC, {"version": 3, "partitions": {"0": replicas}, "topic_id": "PRYaAtTcQq2kVkcWFTT9Ew"})


def fence(controller_epoch: int, seq: int) -> tuple[Write, Write]:
    return Checked(EPOCH_KEY), put(TOKEN_KEY, {"controller_epoch": controller_epoch, "seq": seq, "nonce": "x"})


def elected(session: int, controller_epoch: int) -> tuple[Write, ...]:
    return put(LEADER_KEY, {"version": 1, "brokerid": 1}, session), put(EPOCH_KEY, controller_epoch)


BEGIN = (
    (7, elected(7, 1)),
    (7, fence(1, 1)),
    (7, (*fence(1, 2), topic(1, 2), state(1, 0, 1, 2))),
    (7, (*fence(1, 3), state(2, 1, 1, 2))),
)
NEXT = ((None, (Deleted(LEADER_KEY),)), (8, elected(8, 2)), (8, fence(2, 4)))
BROKEN: dict[str, tuple[int, tuple[tuple[int | None, tuple[Write, ...]], ...]]] = {
    "a leader epoch that goes back": (5, ((7, (*fence(1, 4), state(1, 0, 1, 2))),)),
    "a new leader under an old epoch": (5, ((7, (*fence(1, 4), state(1, 1, 1, 2))),)),
    "a commit of a deposed controller": (5, (*NEXT, (7, (*fence(1, 5), state(1, 2, 1, 2))))),
    "a second election under one epoch": (5, (*NEXT, (9, elected(9, 2)))),
    "a commit without a fence": (5, ((7, (state(1, 2, 1, 2),)),)),
    "a number that is used twice": (5, ((7, fence(1, 3)),)),
    "a leader from outside the isr": (1, ((7, (*fence(1, 4), state(3, 2, 1, 2))),)),
    "an isr that gains whom nobody named": (2, ((7, (*fence(1, 4), state(2, 1, 1, 2, 3))),)),
    "a replica that goes before another is in sync": (4, ((7, (*fence(1, 4), topic(2), state(2, 2, 2))),)),
}


@attrs.frozen
class Past(Witnessed):
    """No server, but a past that was made up."""

    def url(self, session_s: float) -> str:  # noqa: ARG002 - no client connects
        return "memory:"


class PlannedLog:
    """A log that holds what a test put there."""

    def __init__(self, *parts: tuple[int | None, tuple[Write, ...]]) -> None:
        self._transactions = [Transaction(1 + n, session, writes) for n, (session, writes) in enumerate(parts)]

    def new(self) -> list[Transaction]:
        found, self._transactions = self._transactions, []
        return found


def looked_at(folder: Path, *parts: tuple[int | None, tuple[Write, ...]]) -> Cluster:
    past = Past("past", "memory:", PlannedLog(*parts))
    cluster = Cluster(past, folder, controllers=0, brokers=3, session_s=1)
    cluster.look()
    return cluster


def test_a_good_past_is_taken_in(tmp_path: Path) -> None:
    """With an election in it."""
    cluster = looked_at(tmp_path, *BEGIN, *NEXT, (8, (*fence(2, 5), state(1, 2, 1, 2, controller_epoch=2))))
    assert cluster.committed.controller_epoch == 2
    assert [moment.partition.leader_epoch for moment in next(iter(cluster.committed.history.values()))] == [0, 1, 2]


@pytest.mark.parametrize("name", BROKEN)
def test_a_past_that_must_not_be_is_found(tmp_path: Path, name: str) -> None:
    """By the number of the invariant that it breaks."""
    number, parts = BROKEN[name]
    with pytest.raises(InvariantBroken) as broken:
        looked_at(tmp_path, *BEGIN, *parts)
    assert broken.value.number == number, broken.value
