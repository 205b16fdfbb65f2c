"""No command writes to a tree before it has seen that the tree is the one that the user means.

Each command that writes runs against trees that are none of its own: a chroot that does not exist, one level too high,
a cluster that Kafka leads, a cluster of `kedge serve`. It ends with exit code 2 and a sentence, and the tree is as it
was. An empty tree is what `serve`, `controller` and `store load` fill, so for these it is no wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient

from kedge.controller.cli.root import kedge
from kedge.controller.cli.store import meant
from kedge.controller.codec.migration import encode_holder
from kedge.stores import ABSENT, Invalid, MemoryServer, MemoryStore, MetadataStore, Put, open_store
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token
from kedge.stores.tree import read_tree
from tests.cli.store.places import REAL, memory_url, zookeeper_url
from tests.conformance.zookeeper import server as zookeeper
from tests.kit.data import DATA

CALL_S = 10.0
SOURCES = Path(meant.__file__).parents[1]
TOKEN = Put(TOKEN_KEY, Token(6, 40, "n").encode(), ABSENT)
CLUSTER = {EPOCH_KEY: b"6", "/brokers/topics/t": b'{"partitions":{"0":[1]}}'}
ABOVE = {f"/kafka{key}": value for key, value in CLUSTER.items()} | {"/hbase/master": b"m"}
"""What is there where the user forgot the chroot."""


def leader(controller: int) -> Put:
    return Put(LEADER_KEY, b'{"version":1,"brokerid":%d}' % controller, ABSENT, ephemeral=True)


def kept(values: Mapping[str, bytes]) -> list[Put]:
    return [Put(key, value, ABSENT) for key, value in values.items()]


def kafkas() -> list[Put]:
    """Three brokers run, of which 3 is the controller."""
    recorded = read_tree(DATA / "kafka_3_9_tree_moving.json")
    return [Put(each.key, each.value, ABSENT, each.ephemeral) for each in recorded if each.value is not None]


TREES: Mapping[str, Callable[[], Sequence[Put]]] = {
    "absent": lambda: (),
    "above": lambda: kept(ABOVE),
    "kafkas": kafkas,
    "kedges": lambda: [*kept(CLUSTER), TOKEN, leader(41)],
}


@attrs.frozen
class Place:
    """The wrong tree at `url`, another chroot that does not exist, and input that fits another cluster: a plan of
    Kafka's form, a file of keys that is a cluster."""

    url: str
    other: str
    plan: Path
    file: Path

    @property
    def bare(self) -> str:
        return f"{urlsplit(self.url).netloc}{urlsplit(self.url).path}"


NEITHER = "no cluster is here, since there is neither /controller nor /controller_epoch: check the chroot"
NONE = "holds no cluster, neither /controller_epoch nor a topic"
HIGH = "holds no cluster, but other keys, such as /hbase"
UNKNOWN = "the partition does not exist"
ELSEWHERE = "controller 41 leads there, which is one of `kedge serve`"
IN_USE = "not empty"
REASSIGN = ("kafka", "reassign-partitions", "--reassignment-json-file")
COMMANDS: Mapping[str, tuple[Callable[[Place], Sequence[object]], Mapping[str, str]]] = {
    "controller": (
        lambda at: ("kafka-controller", "--store", at.url),
        {"above": HIGH, "kedges": ELSEWHERE},
    ),
    "depose": (
        lambda at: ("kafka-controller", "--store", at.url, "--take-over"),
        {"absent": NONE, "above": NONE, "kedges": ELSEWHERE},
    ),
    "hand back": (
        lambda at: ("kafka-controller", "--store", at.url, "--hand-back"),
        {
            "absent": NEITHER,
            "above": NEITHER,
            "kafkas": "controller 3 leads: it holds /controller by its session",
            "kedges": "controller 41 leads: it holds /controller by its session",
        },
    ),
    "serve": (
        lambda at: ("serve", "--store", at.url, "--broker-count", 0),
        {"above": HIGH, "kafkas": "controller 3 leads there, which is Kafka's own"},
    ),
    "load": (
        lambda at: ("store", "load", at.file, at.url),
        {"above": IN_USE, "kafkas": IN_USE, "kedges": IN_USE},
    ),
    "load --resume": (
        lambda at: ("store", "load", at.file, at.url, "--resume"),
        {"above": "/hbase/master exists", "kafkas": "exists with another value", "kedges": "exists with another value"},
    ),
    "migrate, from": (
        lambda at: ("store", "migrate", at.url, at.other),
        {
            "absent": f"FROM: {NONE}",
            "above": f"FROM: {NONE}",
            "kafkas": "FROM: controller 3 leads there, which is Kafka's own",
            "kedges": "FROM: controller 41 leads there: close every controller",
        },
    ),
    "migrate, to": (
        lambda at: ("store", "migrate", f"memory:{at.file}", at.url),
        {"above": IN_USE, "kafkas": IN_USE, "kedges": IN_USE},
    ),
    "reassign --execute": (
        lambda at: (*REASSIGN, at.plan, "--zookeeper", at.bare, "--execute"),
        {"absent": NONE, "above": NONE},
    ),
    "reassign --verify": (
        lambda at: (*REASSIGN, at.plan, "--zookeeper", at.bare, "--verify"),
        {"absent": NONE, "above": NONE},
    ),
}
"""By name: the arguments, and what is said of each tree that is a wrong one."""


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    plan = tmp_path / "plan.json"
    plan.write_text('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}')
    file = Path(memory_url(tmp_path).removeprefix("memory:"))
    with closing(MemoryStore(file=str(file))) as store:
        store.commit(kept({**CLUSTER, EPOCH_KEY: b"5"}), timeout_s=CALL_S)
    found = Place(zookeeper_url(tmp_path), zookeeper_url(tmp_path), plan, file)
    with closing(open_store(found.url)) as store:
        store.commit(TREES[request.param](), timeout_s=CALL_S)
        yield found


def nodes(*urls: str) -> dict[str, object]:
    """Every node there: its data, when it and its children were last changed, and its session."""
    client = KazooClient(hosts=zookeeper().address)
    client.start(CALL_S)
    found: dict[str, object] = {}

    def read(path: str) -> None:
        data, stat = client.get(path)
        found[path] = (data, stat.mzxid, stat.pzxid, stat.ephemeralOwner)
        for name in client.get_children(path):
            read(f"{path}/{name}")

    with ExitStack() as stack:
        stack.callback(client.close)
        stack.callback(client.stop)
        for path in (urlsplit(url).path for url in urls):
            if client.exists(path):
                read(path)
    return found


WRONG = [(name, tree) for name, (_, trees) in COMMANDS.items() for tree in trees]


@pytest.mark.parametrize(
    "name, place",
    [pytest.param(*each, marks=REAL, id=" on ".join(each)) for each in WRONG],
    indirect=["place"],
)
def test_wrong_tree_is_a_sentence_and_left_as_it_was(
    name: str, place: Place, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meant, "_CLAIM_S", 0.0)
    arguments, trees = COMMANDS[name]
    said = trees[request.node.callspec.params["place"]]
    before = nodes(place.url, place.other)
    done = CliRunner().invoke(kedge, [str(word) for word in arguments(place)])
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert nodes(place.url, place.other) == before


def test_every_module_that_opens_a_store_is_known() -> None:
    """Who adds one says in `meant` what it looks at before it writes, and adds its command above."""
    opening = re.compile(r"\b(open_store|opened)\(")
    found = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if opening.search(path.read_text())}
    only_read = {"plan/collect.py", "store/check_tree.py"}
    with_a_key_of_their_own = {"store/check.py"}
    above = {
        *("controller/running.py", "serve/running.py", "serve/sharing.py", "store/migrate.py"),
        *("store/opening.py", "store/trees.py", "reassign/__init__.py", "reassign/legacy.py"),
    }
    assert found == only_read | with_a_key_of_their_own | above


# --- what the tree is, by a store in memory


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


def holding(server: MemoryServer, *puts: Put) -> MetadataStore:
    MemoryStore(server).commit(puts, timeout_s=CALL_S)
    return MemoryStore(server)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**ABOVE, **CLUSTER},
        {"/config/users/admin": b"{}", "/config/changes": b"", "/kafka-acl/Topic": b""},
        {"/kedge/gateways_secret": b"{}", "/kedge/gateways/101": b"{}", "/cluster/id": b"{}"},
    ],
    ids=["empty", "a cluster beside others", "users before the first broker", "another process that starts"],
)
def test_a_cluster_may_be_created_there(server: MemoryServer, values: Mapping[str, bytes]) -> None:
    meant.require_room(holding(server, *kept(values)))


@pytest.mark.parametrize(
    "values, said",
    [
        (ABOVE, "such as /hbase, /kafka;"),
        ({f"/kedge{key}": value for key, value in CLUSTER.items()}, "such as /kedge/controller_epoch;"),
        ({"/ids/1": b"{}", "/topics/t": b"{}", "/seqid": b""}, "such as /ids, /seqid, /topics;"),
        ({"/topics/t": b"{}", "/brokers/1": b"{}", "/changes": b""}, "such as /changes, /topics;"),
    ],
    ids=["chroots of others", "the chroot /kedge of another", "below /brokers", "below /config"],
)
def test_no_cluster_is_created_beside_other_keys(server: MemoryServer, values: Mapping[str, bytes], said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)):
        meant.require_room(holding(server, *kept(values)))


KAFKA_LEADS = (*kept({**CLUSTER, EPOCH_KEY: b"7"}), TOKEN, leader(3))
SERVE_LEADS = (*kept(CLUSTER), TOKEN, leader(101))
KEDGE_STAYS = (*kept(CLUSTER), TOKEN, Put(LEADER_KEY, leader(101).value, ABSENT))
MOVES = (*kept(CLUSTER), TOKEN, Put(LEADER_KEY, encode_holder("etcd://h/p"), ABSENT))


@pytest.mark.parametrize(
    "puts, of_brokers, of_serve",
    [
        ((), "", ""),
        ((*kept(CLUSTER), TOKEN), "", ""),
        (KAFKA_LEADS, "", "controller 3 leads there, which is Kafka's own; `kedge kafka-controller` takes over"),
        (SERVE_LEADS, "controller 101 leads there, which is one of `kedge serve`", ""),
        (KEDGE_STAYS, "", "/controller belongs to no session: `kedge kafka-controller` or KRaft leads"),
        (MOVES, "", ""),
        ((*SERVE_LEADS[:-2], Put(TOKEN_KEY, b"{", ABSENT), leader(101)), "", ""),
    ],
    ids=["empty", "no leader", "Kafka", "serve", "kedge kafka-controller", "a migration", "an unreadable token"],
)
def test_each_controller_leads_clusters_of_its_kind(
    server: MemoryServer, monkeypatch: pytest.MonkeyPatch, puts: Sequence[Put], of_brokers: str, of_serve: str
) -> None:
    monkeypatch.setattr(meant, "_CLAIM_S", 0.0)
    store = holding(server, *puts)
    for kafka_brokers, said in ((True, of_brokers), (False, of_serve)):
        if said:
            with pytest.raises(Invalid, match=re.escape(said)):
                meant.require_kind(store, kafka_brokers=kafka_brokers)
        else:
            meant.require_kind(store, kafka_brokers=kafka_brokers)


class Claiming(MemoryStore):
    """A controller that was elected a moment ago commits after the token was read once."""

    has_claimed = False

    def get(self, key: str, **more: Any) -> Any:
        found = super().get(key, **more)
        if key == TOKEN_KEY and not self.has_claimed:
            self.has_claimed = True
            MemoryStore(self.server).commit([TOKEN], timeout_s=CALL_S)
        return found


def test_a_controller_that_was_just_elected_is_not_taken_for_kafkas(server: MemoryServer) -> None:
    holding(server, *kept(CLUSTER), leader(101))
    meant.require_kind(Claiming(server), kafka_brokers=False)
