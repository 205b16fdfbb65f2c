"""`kedge demo`: what a newcomer sees, what is refused, and the same acts on other layouts and recorded trees."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.demo import longest_plain_trace
from kedge.controller.cli.demo.drain import plan_drain, racks_kept, widen
from kedge.controller.cli.demo.retire import Retirement
from kedge.controller.cli.demo.screen import Silent
from kedge.controller.cli.demo.takeover import difference, fields_lost, take_over
from kedge.controller.cli.demo.trees import brokers_of_tree, read_tree_file, recorded_tree
from kedge.controller.cli.root import kedge
from kedge.controller.model.values import Partition
from kedge.stores.base import Corrupt
from tests.kit.data import DATA, LAYOUTS

HEADER = ["broker", "rack", "replicas before", "after", "leaders before", "after"]


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["demo", *arguments])


@cache
def plain() -> Result:
    return demo("--plain")


@cache
def as_json() -> Result:
    return demo("--json")


@pytest.mark.slow
@pytest.mark.checklist(77, 78, 79, 101, 103, 104, 105, 111, 112)
def test_the_last_line_says_that_nothing_was_lost() -> None:
    """The plain form ends with the number of lost records, and the acts stand above it in order."""
    done = plain()
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[-1] == "lost: 0"
    acts = [line for line in lines if line.startswith("== ")]
    assert [act[3] for act in acts] == ["1", "2", "3", "4", "5"]
    for word in ("cancelled", "undone", "replaced by", "was killed", "took over with controller epoch 2"):
        assert any(word in line for line in lines), word
    assert any(re.split(" {2,}", line.strip()) == HEADER for line in lines)


@pytest.mark.slow
def test_a_bar_says_what_its_per_cents_are_of_and_no_line_twice() -> None:
    """Of bytes, while the moves are counted beside them; a line comes again only at the end."""
    lines = [line for line in plain().output.splitlines() if " moves done;" in line]
    assert lines[0].startswith("    0 %  of the bytes copied; 0 of ")
    texts = [line.partition(" % ")[2] for line in lines if not line.startswith("  100 %")]
    assert all(one != following for one, following in pairwise(texts))


@pytest.mark.full
def test_the_same_seed_shows_the_same() -> None:
    """Two runs with one seed print the same, byte for byte, and nothing else."""
    again = demo("--plain")
    assert (again.stdout, again.stderr) == (plain().stdout, "")


@pytest.mark.slow
@pytest.mark.checklist(103)
def test_the_rows_of_one_partition_are_the_trace_of_a_move() -> None:
    """From the target's being set over the growth of R to the shrunken isr, in this order."""
    events = [line.split()[-1] for line in plain().output.splitlines() if line.startswith("  R [")]
    assert events[0] == "TargetSet"
    assert events[-3:] == ["ReplicasChanged", "TargetCleared", "IsrShrunk"]
    assert events.count("ReplicasGrown") >= 2
    assert events.count("IsrChanged") >= 2


@pytest.mark.slow
def test_a_move_is_cancelled_half_way_and_what_had_joined_goes_again() -> None:
    """The cancel leaves one replica more than before, the undo the former ones."""
    found = re.search(
        r"! (\S+): cancelled; replicas ([\d,]+), origin ([\d,]+)\n  ! (\S+): undone; replicas ([\d,]+)", plain().output
    )
    assert found is not None
    name, replicas, origin, undone, after = found.groups()
    assert name == undone
    assert len(replicas.split(",")) == len(origin.split(",")) + 1
    assert replicas.startswith(origin)
    assert after == origin


@pytest.mark.full
def test_the_result_is_one_json_object() -> None:
    """`--json` prints nothing else, and says what the plain form says."""
    result = json.loads(as_json().output)
    assert result["retirement"]["lost"] == 0
    assert result["takeover"]["finished"]
    assert result["takeover"]["fields_lost"] == []
    assert result["takeover"]["epoch"] > result["takeover"]["epoch_before"]
    brokers = result["retirement"]["brokers"]
    assert brokers[str(result["retirement"]["leaving"])]["replicas_after"] == 0


@pytest.mark.slow
@pytest.mark.checklist(17, 46)
def test_a_throttle_holds_while_replicas_move_and_only_the_operators_is_left() -> None:
    """What flows is held to the first rate, then to the second one, within a twentieth."""
    result = json.loads(as_json().output)["throttle"]
    assert result["measured_bytes_s"] == [pytest.approx(rate, rel=0.05) for rate in result["throttle_bytes_s"]]
    assert list(result["left"].values()) == [{"leader.replication.throttled.rate": "9000000"}]


@pytest.mark.slow
@pytest.mark.checklist(197)
def test_a_topic_shrinks_while_it_is_written_and_read_and_grows_again() -> None:
    """Nothing is written to what is read-only, nothing is refused in the end, and all that was written is read."""
    result = json.loads(as_json().output)["shrink"]
    assert result["partitions"] == [12, 8, 9]
    assert (result["written_to_read_only"], result["refused"]) == (0, 0)
    assert result["written"] == result["read"] > 0


@pytest.mark.parametrize(
    "option, content, said",
    [
        ("--layout", "{", "not JSON"),
        ("--layout", "[1]", "expected"),
        ("--layout", '{"a":"b"}', "not a broker id"),
        ("--layout", '{"1":2.5,"2":"a","3":"a"}', "must be a text or null"),
        ("--layout", '{"1":"a"}', "3 to 100"),
        ("--layout", '{"1":"a","2":"b","01":"c"}', "twice"),
        ("--layout", '{"1":"a","1":"b","2":"c","3":"d"}', "'1' occurs twice in one object"),
        ("--tree", "{", "JSON"),
        ("--tree", "{}", "the tree has no topic"),
        ("--tree", '{"/brokers/topics/t":{"value":"{","version":0}}', "/brokers/topics/t"),
        ("--tree", '{"/a":{"value":1,"version":0}}', "/a"),
        ("--tree", '{"a b":{"value":"x","version":0}}', "a b"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line(tmp_path: Path, option: str, content: str, said: str) -> None:
    """Exit code 2, one line on stderr that names what is wrong, and nothing on stdout."""
    path = tmp_path / "file.json"
    path.write_text(content)
    done = demo("--plain", option, str(path))
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    """As any file that cannot be used."""
    for option in ("--layout", "--tree"):
        done = demo(option, str(tmp_path / "none.json"))
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1


STATE = "/brokers/topics/orders/partitions/0/state"


@pytest.mark.parametrize(
    "key, value",
    [
        (STATE, "{"),
        (STATE, '{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":2147483647,"isr":[3,2]}'),
        (STATE, '{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":1,"isr":[]}'),
        ("/controller_epoch", "abc"),
        ("/kedge/format", "x"),
        ("/controller_epoch", "9" * 21),
        ("/controller_epoch", "2147483646"),
        ("/controller_epoch", "2147483647"),
        ("/kedge/commit", "{"),
        ("/kedge/commit", '{"controller_epoch":1,"seq":-1,"nonce":""}'),
        ("/kedge/commit", '{"controller_epoch":2147483646,"seq":1,"nonce":""}'),
        ("/kedge/commit", '{"controller_epoch":1%s,"seq":1,"nonce":""}' % ("0" * 400)),
        ("/kedge/format", '{"min_controller":9}'),
        ("/brokers/ids/1", "{"),
        ("/brokers/ids/99999999999", "{}"),
        ("/brokers/topics/orders", '{"partitions":{"0":[]}}'),
        ("/brokers/topics/" + "x" * 250, '{"partitions":{"0":[1]}}'),
        ("/config/topics/orders", "[]"),
        ("/admin/replica_deletions/1/1", "{"),
        ("/admin/replica_deletions/x/1", '{"replicas":[]}'),
        ("/admin/replica_deletions/1", '{"replicas":[]}'),
    ],
)
def test_a_broken_key_of_a_tree_is_one_clear_line(tmp_path: Path, key: str, value: str) -> None:
    """Exit code 2, one line that names the key, nothing on stdout."""
    tree = json.loads((DATA / "kafka_3_9_tree_moving.json").read_text())
    tree[key] = {"value": value, "version": 1}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(tree))
    done = demo("--plain", "--tree", str(path))
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"kedge: {key}: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_what_a_takeover_still_stumbles_over_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no check foresaw is said by its first line, before anything is shown."""

    def stumble(*_: object, **__: object) -> None:
        raise Corrupt("a\nb")

    monkeypatch.setattr("kedge.controller.cli.demo.takeover.Rig", stumble)
    done = demo("--plain")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "kedge: the tree cannot be taken over: a\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_broker_of_any_layout_is_emptied(name: str) -> None:
    """The broker ends without replicas, racks are respected, nothing is lost."""
    racks = LAYOUTS[name]
    retirement = Retirement(racks, 3, Silent(), records_before=1_000)
    result = retirement.run()
    assert result["lost"] == 0
    assert result["written"] > 0
    assert result["brokers"][str(result["leaving"])]["replicas_after"] == 0
    left = {broker: rack for broker, rack in racks.items() if broker != result["leaving"]}
    assert racks_kept(retirement.rig.committed.partitions.values(), left) == (39, 39)
    assert longest_plain_trace(retirement.sink.lines, ()) is not None


@pytest.mark.full
@pytest.mark.parametrize("tree, moves", [("moving", 4), ("idle", 0)])
def test_both_recorded_trees_are_taken_over(tree: str, moves: int) -> None:
    """The moves that ran are finished, the epoch rises, no field is lost."""
    entries = read_tree_file(DATA / f"kafka_3_9_tree_{tree}.json")
    result = take_over(entries, 1, Silent())
    assert len(result["moves"]) == moves
    assert result["finished"]
    assert not result["fields_lost"]
    assert result["epoch"] == result["epoch_before"] + 1


@pytest.mark.full
def test_a_deletion_that_was_pending_in_a_tree_is_carried_out(tmp_path: Path) -> None:
    """Its key holds no data; what it takes along is not lost. Empty parents of Kedge's own may stand there."""
    file = tmp_path / "tree.json"
    recorded = json.loads((DATA / "kafka_3_9_tree_idle.json").read_text())
    bare = {"/admin/delete_topics/clicks": {"version": 0}, "/admin/replica_deletions/2": {"version": 0}}
    file.write_text(json.dumps(recorded | bare))
    done = demo("--tree", str(file), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["takeover"]
    gone = {line.split()[1] for line in found["changes"] if line.startswith("- ")}
    assert {"/admin/delete_topics/clicks", "/brokers/topics/clicks", "/config/topics/clicks"} <= gone
    assert (found["finished"], found["fields_lost"]) == (True, [])


def test_the_tree_in_the_package_is_the_recorded_one() -> None:
    """The copy that ships is the recording, to the byte."""
    assert recorded_tree() == read_tree_file(DATA / "kafka_3_9_tree_moving.json")
    assert brokers_of_tree(recorded_tree()) == {1: "a", 2: "b", 3: "c"}


def test_a_difference_names_what_is_new_gone_and_rewritten() -> None:
    """One line per key, of JSON objects the members that differ."""
    before = {"/a": b'{"x":1,"y":2}', "/b": b"1", "/c": b"2"}
    after = {"/a": b'{"x":1,"y":3}', "/c": b"3", "/d": b"4"}
    assert difference(before, after) == ["~ /a  y 2 -> 3", "- /b  1", "~ /c  2 -> 3", "+ /d  4"]
    assert fields_lost({"/a": b'{"x":1,"isr":[1]}'}, {"/a": b'{"isr":[1]}'}) == ["/a: x"]
    assert fields_lost({"/a": b"1", "/admin/reassign_partitions": b"{}"}, {}) == ["/a"]


def test_a_drain_goes_to_the_least_loaded_broker_that_keeps_the_racks_apart() -> None:
    """Ties go to the lowest id; what was decided counts for the next."""
    racks = {1: "a", 2: "b", 3: "b", 4: "a"}
    partitions = [Partition("t", p, (1, 2), (1, 2), 1, 0) for p in range(2)]
    plan = plan_drain(partitions, 2, racks)
    assert [target for _, target in sorted(plan.items())] == [(1, 3), (1, 3)]
    assert plan_drain(partitions, 1, racks)[partitions[0].tp] == (4, 2)


def test_a_drain_is_widened_where_the_racks_can_be_kept() -> None:
    """One more replica is replaced, by a broker of its rack and never by the leaving one; else the move stays."""
    racks = {1: "a", 2: "b", 3: "b", 4: "a", 5: "c"}
    partitions = [Partition("t", p, replicas, replicas, 2, 0) for p, replicas in enumerate([(2, 5), (2, 1), (2, 1)])]
    plan = plan_drain(partitions, 2, racks)
    assert widen(plan, partitions, 2, racks, 1) == [partitions[0].tp]
    assert plan[partitions[0].tp] == (3, 4)
    few = {1: None, 2: None, 3: None}
    plan = plan_drain(partitions[1:], 2, few)
    assert widen(plan, partitions[1:], 2, few, 2) == []
    assert set(plan.values()) == {(3, 1)}


@pytest.mark.slow
def test_three_brokers_without_racks_are_enough() -> None:
    """No second replica can be replaced there; all else happens."""
    retirement = Retirement({1: None, 2: None, 3: None}, 1, Silent(), records_before=500)
    result = retirement.run()
    assert (result["lost"], retirement.widened) == (0, [])
    assert result["brokers"][str(result["leaving"])]["replicas_after"] == 0
