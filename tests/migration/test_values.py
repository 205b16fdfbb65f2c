"""The pure half of a move: what is copied, how scans differ, how changes are cut, how far it has come, the marker."""

from __future__ import annotations

import json
from typing import Any

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.codec import keys
from kedge.controller.codec.migration import (
    Marker,
    Stamp,
    decode_holder,
    decode_marker,
    decode_origin,
    decode_seals,
    encode_holder,
    encode_marker,
    encode_origin,
    encode_seals,
)
from kedge.controller.codec.small import decode_controller
from kedge.controller.codec.text import BadValue
from kedge.controller.migration import Change, MigrationRefused, Stage, differences, foreign, scan, seal_of, stage_of
from kedge.stores import MemoryServer
from kedge.stores.base import ABSENT, Delete, Entry, Put, Version
from kedge.stores.checks import op_bytes
from kedge.stores.transfer import batches

CAPABILITIES = MemoryServer(commit_ops_max=4, commit_bytes_max=1_000, value_bytes_max=2_000).capabilities
FROM = Marker("5f", "from", "copying", "etcd://h/p", 1_700, brokers={1: 17, 30: 0}, controller_epoch=8, seals=2)
TO = Marker("5f", "to", "copying", "zookeeper://h/c", 1_700)
OTHER = attrs.evolve(TO, migration="60")


def entry(key: str, value: bytes = b"{}", version: int = 1, **more: Any) -> Entry:
    return Entry(key, value, Version(version), **{"generation": 0, "created": version, **more})


# --- what is copied


def test_keys_of_sessions_leadership_and_the_move_itself_are_not_copied() -> None:
    left_out = ["/controller", "/controller_epoch", "/kedge/commit", "/kedge/migration", "/kedge/migration/1"]
    left_out += ["/kedge/format", "/kedge/origin", "/config/changes/config_change_0000000007"]
    found = [*map(entry, left_out), entry("/kedge/brokers/1"), entry("/brokers/ids/1", owner=7), entry("/feature")]
    assert list(scan([*found, entry("/kedge/other")])) == ["/feature", "/kedge/other"]


def test_a_node_without_data_is_copied_only_where_it_leads_to_nothing() -> None:
    """A deletion that is asked for is such a key; the parents of a store that needs some are not."""
    paths = ["/admin", "/admin/delete_topics", "/admin/delete_topics/t", "/admin-x", "/brokers", "/brokers/ids"]
    found = [entry(path, b"") for path in paths] + [entry("/brokers/ids/1", owner=4)]
    assert list(scan(found)) == ["/admin/delete_topics/t", "/admin-x"]
    assert list(scan([entry("/config/changes", b""), entry("/config/changes/config_change_0000000001")])) == []


@pytest.mark.parametrize(
    "value, generation, copied", [(b"", 5, b"5"), (b"9", 5, b"9"), (b"3", 5, b"5"), (b"null", 2, b"2")]
)
def test_the_counter_of_broker_ids_goes_over_as_a_number(value: bytes, generation: int, copied: bytes) -> None:
    (item,) = scan([entry(keys.BROKER_SEQUENCE, value, generation=generation)]).values()
    assert item.value == copied


values = st.dictionaries(st.sampled_from(["/a", "/a/b", "/a/b/c", "/d", "/e"]), st.binary(min_size=1, max_size=3))


@given(source=values, target=values)
def test_the_differences_make_one_scan_out_of_the_other(source: dict[str, bytes], target: dict[str, bytes]) -> None:
    """Nothing that is the same is written, and a key goes after those below it."""
    here, there = (scan([entry(key, value) for key, value in found.items()]) for found in (source, target))
    changes = list(differences(here, there))
    made = dict(target)
    for change in changes:
        assert change.at == (None if change.key not in target else 1)
        if change.value is None:
            assert not any(key.startswith(change.key + "/") and key not in source for key in made)
            del made[change.key]
        else:
            assert made.get(change.key) != change.value
            made[change.key] = change.value
    assert made == source


def test_value_other_than_under_the_seal_was_written_by_another_client() -> None:
    seal = seal_of(scan([entry("/a"), entry("/b"), entry("/c"), entry("/d")]))
    now = scan([entry("/a"), entry("/b", version=2), entry("/c", created=9), entry("/new")])
    assert list(foreign(now, seal)) == [("/b", "written"), ("/c", "written"), ("/d", "deleted"), ("/new", "created")]


# --- cutting

changes = st.lists(
    st.builds(
        Change,
        st.text("abc", min_size=1, max_size=30).map("/".__add__),
        st.none() | st.binary(max_size=900),
        st.just(1),
    ),
    unique_by=lambda change: change.key,
)


@pytest.mark.slow
@given(changes=changes)
def test_commits_are_within_what_the_store_declares_and_hold_every_change_once_in_order(changes: list[Change]) -> None:
    commits = list(batches((change.op() for change in changes), CAPABILITIES))
    ops = [op for commit in commits for op in commit]
    assert [(op.key, op.value if isinstance(op, Put) else None) for op in ops] == [(c.key, c.value) for c in changes]
    for commit in commits:
        assert 0 < len(commit) <= 4
        assert len(commit) == 1 or sum(map(op_bytes, commit)) <= 1_000


def test_an_op_holds_its_key_to_stand_where_it_was_seen() -> None:
    made = [Change("/a", b"1", None), Change("/b", b"2", Version(7)), Change("/c", None, Version(8))]
    ops = [change.op() for change in made]
    assert [(type(op), op.expect) for op in ops] == [(Put, ABSENT), (Put, 7), (Delete, 8)]


# --- how far it has come

STAGES: list[tuple[Marker | None, Marker | None, bool, Stage | str]] = [
    (None, None, True, Stage.NEW),
    (None, TO, True, Stage.NEW),
    (FROM, TO, False, Stage.COPYING),
    (attrs.evolve(FROM, phase="fenced"), TO, False, Stage.FENCED),
    (attrs.evolve(FROM, phase="moved"), TO, False, Stage.SEALED),
    (attrs.evolve(FROM, phase="moved"), attrs.evolve(TO, phase="complete"), False, Stage.GIVEN),
    (attrs.evolve(FROM, phase="moved"), None, False, "TO is another store"),
    (attrs.evolve(FROM, phase="moved"), None, True, "FROM was moved to etcd://h/p, and TO is another store"),
    (attrs.evolve(FROM, phase="moved"), OTHER, False, "TO is another store"),
    (None, None, False, "TO is not empty"),
    (None, TO, False, "TO holds a copy of zookeeper://h/c"),
    (None, attrs.evolve(TO, phase="complete"), True, "TO holds a copy of"),
    (None, FROM, True, "TO was itself moved to etcd://h/p"),
    (FROM, None, True, "FROM is moving to etcd://h/p"),
    (FROM, OTHER, False, "FROM is moving to etcd://h/p"),
    (attrs.evolve(FROM, phase="fenced"), None, True, "FROM is moving to"),
    (FROM, attrs.evolve(TO, phase="complete"), False, "the markers do not fit"),
    (TO, None, True, "FROM is itself a copy of zookeeper://h/c"),
    (attrs.evolve(TO, phase="complete"), None, True, "FROM is itself a copy"),
]


@pytest.mark.parametrize("source, target, is_empty, expected", STAGES)
def test_both_markers_together_say_how_far_it_has_come(
    source: Marker | None, target: Marker | None, is_empty: bool, expected: Stage | str
) -> None:
    if isinstance(expected, str):
        with pytest.raises(MigrationRefused, match=expected):
            stage_of(source, target, is_empty=is_empty)
    else:
        assert stage_of(source, target, is_empty=is_empty) is expected


@pytest.mark.parametrize("target", [None, attrs.evolve(FROM, migration="60")])
def test_a_store_that_says_by_which_move_it_was_given_is_known_after_its_marker_went(target: Marker | None) -> None:
    """Also once it was moved on itself. Another move's origin is another store's."""
    moved = attrs.evolve(FROM, phase="moved")
    assert stage_of(moved, target, is_empty=False, origin="5f") is Stage.DONE
    with pytest.raises(MigrationRefused, match="TO is another store"):
        stage_of(moved, target, is_empty=False, origin="60")


@pytest.mark.parametrize("value, expected", [(encode_origin(TO), "5f"), (b"{}", None), (b"x", None)])
def test_an_origin_is_read_as_it_was_written(value: bytes, expected: str | None) -> None:
    assert decode_origin(value) == expected


# --- the marker and the seal


@pytest.mark.parametrize("marker", [FROM, TO, attrs.evolve(TO, phase="complete", controller_epoch=0)])
def test_a_marker_is_read_as_it_was_written(marker: Marker) -> None:
    assert decode_marker(encode_marker(marker)) == marker


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2}, {"migration": 7}, {"side": "both"}, {"side": "to", "phase": "fenced"}, {"phase": None},
        {"other": None}, {"started_ms": -1}, {"controller_epoch": True}, {"brokers": {"x": 1}}, {"brokers": {"1": -1}},
        {"brokers": [1]}, {"seals": "2"},
    ],
)  # fmt: skip
def test_a_broken_marker_is_a_bad_value(change: dict[str, object]) -> None:
    raw = json.loads(encode_marker(FROM)) | change
    with pytest.raises(BadValue):
        decode_marker(json.dumps(raw).encode())


def test_only_a_store_that_is_whole_and_not_given_away_may_be_led() -> None:
    fenced, moved = attrs.evolve(FROM, phase="fenced"), attrs.evolve(FROM, phase="moved")
    whole = attrs.evolve(TO, phase="complete")
    assert [m for m in (FROM, fenced, moved, TO, whole) if m.may_lead] == [FROM, whole]


def test_holder_of_a_fenced_store_is_kafkas_json_and_no_broker() -> None:
    value = encode_holder("5f", 1_700)
    assert decode_holder(value) == "5f"
    assert decode_controller(value) == 2**31 - 1
    assert decode_holder(b'{"version":1,"brokerid":1,"timestamp":"1"}') is None
    assert decode_holder(b"{") is None


@pytest.mark.parametrize("count", [0, 1, 10_000, 10_001])
def test_a_seal_is_read_as_it_was_written(count: int) -> None:
    stamps = {f"/k/{number}": Stamp(number, number + 1) for number in range(count)}
    written = list(encode_seals(stamps))
    assert len(written) == -(-count // 10_000)
    assert decode_seals(written) == stamps
    assert all(len(value) < 950_000 for value in written)


@pytest.mark.parametrize("value", [b"", b"x", b"\x00" * 30])
def test_a_broken_seal_is_a_bad_value(value: bytes) -> None:
    with pytest.raises(BadValue):
        decode_seals([value])
