"""A secret that another program wrote into the configs of a topic, a broker or a user is shown nowhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Final

import pyarrow.parquet as pq
import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, NewTopic
from kedge.controller.cli.serve.status import Recent, Status
from kedge.controller.metrics.prometheus import exposition
from kedge.controller.runtime.journal import FolderSink, Journal
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire import Gateway
from kedge.controller.wire.records import with_records
from kedge.stores import ABSENT, MemoryStore, Put
from tests.kit.commands import run
from tests.kit.waiting import until
from tests.wire.requests_made import frame
from tests.wire.served import DEADLINE_S, RawClient

pytestmark = pytest.mark.slow

MARK: Final = "hunter2"
"""A part of every secret."""
PASSWORDS: Final = {
    "ssl.keystore.password": f"{MARK}-of-the-keystore",
    "sasl.jaas.config": f'x.PlainLoginModule required username="a" password="{MARK}";',
    "ssl.keystore.key": f"-----BEGIN {MARK}",
    "listener.name.internal.ssl.key.password": f"{MARK}-of-a-listener",
    "listener.name.internal.scram-sha-256.sasl.jaas.config": f"{MARK}-of-a-mechanism",
    "password.encoder.secret": f"{MARK}-of-the-encoder",
    "com.example.plugin.password": f"{MARK}-of-a-plugin",
}
PLANTED: Final[Mapping[str, Mapping[str, str]]] = {
    "/config/brokers/1": {**PASSWORDS, "ssl.keystore.location": "/etc/kafka/key.p12"},
    "/config/brokers/<default>": {"ssl.truststore.password": f"{MARK}-of-all"},
    "/config/topics/orders": {"com.example.key": f"{MARK}-of-a-topic"},
    "/config/users/alice": {"SCRAM-SHA-256": f"salt={MARK},stored_key={MARK}", "producer_byte_rate": "7777"},
}
BROKEN: Final = {
    "/config/brokers/2": f'{{"config":{{"sasl.jaas.config":"{MARK}',
    "/config/topics/bills": f'{{"version":1,"config":{{"com.example.key":["{MARK}"]}}}}',
}
TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
HARMLESS: Final = {
    ConfigResource(BROKER, "1"): "num.io.threads",
    ConfigResource(BROKER, ""): "num.network.threads",
    ConfigResource(TOPIC, "orders"): "max.message.bytes",
}


class Cluster:
    """Its store has the secrets; configs beside them were altered, and the journal has that."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.journal, self.file = folder / "journal", folder / "store.json"
        sink = FolderSink(self.journal, cluster="c")
        self.live = LiveCluster(LiveServer(), {1: "a", 2: "b", 3: "c"}, journal=lambda _: Journal(sink))
        stack.enter_context(self.live).until_ready(DEADLINE_S)
        self.admin = self.live.controller.admin
        self.admin.create_topics({"orders": NewTopic(1, 3), "bills": NewTopic(1, 3)}).all().result(DEADLINE_S)
        values = {key: json.dumps({"version": 1, "config": found}) for key, found in PLANTED.items()} | BROKEN
        with closing(MemoryStore(self.live.server)) as store:
            for key, value in values.items():
                found = store.get(key, timeout_s=DEADLINE_S)
                before = ABSENT if found is None else found.version
                store.commit([Put(key, value.encode(), before)], timeout_s=DEADLINE_S)
        until(lambda: set(BROKEN) <= set(self.live.controller.describe().findings))
        until(lambda: all(self._has(key) for key in PLANTED if "users" not in key))
        for resource, name in HARMLESS.items():
            ops = {resource: [AlterConfigOp(name, "4321")]}
            self.admin.incremental_alter_configs(ops).all().result(DEADLINE_S)
        self.apis = with_records(self.live.logs, self.live.groups)
        self.gateway = Gateway(self.live.controller, cluster_id="c", apis=self.apis)
        self.address = stack.enter_context(self.gateway).address
        self.server = f"{self.address.host}:{self.address.port}"

    def _has(self, key: str) -> bool:
        """Whether the controller knows the configs that were planted there."""
        kind, name = key.split("/")[2:]
        resource = ConfigResource(TOPIC if kind == "topics" else BROKER, name)
        found = self.admin.describe_configs([resource])[resource].result(DEADLINE_S)
        return set(PLANTED[key]) <= set(found)

    def saved(self) -> str:
        """The URL of a copy of the store."""
        self.live.server.save(self.file)
        return f"memory:{self.file}"


@pytest.fixture(scope="module")
def logged() -> Iterator[list[str]]:
    """Every line of every logger."""
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    root, handler = logging.getLogger(), Lines()
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield lines
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, logged: list[str]) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("secrets"), stack)
    assert "/config/brokers/2" in "\n".join(logged)
    assert MARK not in "\n".join(logged)


def test_describe_configs_has_the_names_without_the_values(cluster: Cluster) -> None:
    rows = [{"resource_type": 4, "resource_name": "1"}, {"resource_type": 4, "resource_name": ""}]
    rows += [{"resource_type": 2, "resource_name": "orders"}]
    asked = [{**row, "configuration_keys": None} for row in rows]
    for version in range(5):
        with RawClient(cluster.address) as client:
            answer = client.ask("DescribeConfigs", version, resources=asked, include_synonyms=True)
        one, every, topic = ({each.name: each for each in row.configs} for row in answer.results)
        hidden = [*(one[name] for name in PASSWORDS), every["ssl.truststore.password"], topic["com.example.key"]]
        assert {(each.value, each.is_sensitive, each.read_only) for each in hidden} == {(None, True, False)}
        assert {synonym.value for each in hidden for synonym in each.synonyms} <= {None}
        assert (one["ssl.keystore.location"].value, one["ssl.keystore.location"].is_sensitive) == (
            "/etc/kafka/key.p12",
            False,
        )
        assert (one["num.io.threads"].value, topic["max.message.bytes"].value) == ("4321", "4321")
        if version >= 3:
            assert [one[name].config_type for name in ("sasl.jaas.config", "com.example.plugin.password")] == [9, 0]
        assert MARK not in repr(answer)


def test_no_answer_of_any_api_has_a_secret(cluster: Cluster) -> None:
    seen = 0
    for api in cluster.apis.values():
        for version in api.messages.versions if api.reads else ():
            with RawClient(cluster.address) as client:
                sent = frame(api.messages.request, version, Random(version), least=1)
                client.send(len(sent).to_bytes(4, "big") + sent)
                answer = client.receive()
            seen += answer is not None
            assert answer is None or MARK.encode() not in answer
    assert seen > 30


def test_a_sensitive_config_is_not_set_nor_guessed_nor_repeated(cluster: Cluster) -> None:
    """The present value is refused like any other, because a client could find it out by guessing."""
    with RawClient(cluster.address) as client:
        for name, value in [*PASSWORDS.items(), ("ssl.key.password", f"{MARK}-new")]:
            row = {"resource_type": 4, "resource_name": "1", "configs": [{"name": name, "value": value}]}
            change = {**row, "configs": [{"name": name, "value": value, "config_operation": 0}]}
            for api, version, asked in (("AlterConfigs", 2, row), ("IncrementalAlterConfigs", 1, change)):
                (said,) = client.ask(api, version, resources=[asked], validate_only=False).responses
                assert said.error_code == 40, name
                assert name in said.error_message
                assert MARK not in said.error_message


def test_pages_and_journal_have_no_secret(cluster: Cluster) -> None:
    about = {"cluster_id": "c", "store": "memory", "listen": cluster.server}
    (journal,) = (file.read_text() for file in cluster.journal.glob("*.jsonl"))
    recent = Recent()
    recent.sink.write([line.encode() for line in journal.splitlines()])
    status = Status(lambda: cluster.live.controller, cluster.live, recent, cluster.gateway.counts, about)
    page = status.page()[1].decode()
    assert "num.io.threads=4321" in page
    assert '"ssl.keystore.password":"[hidden]"' in journal
    assert '"com.example.key":"[hidden]"' in journal
    assert '"ssl.keystore.location":"/etc/kafka/key.p12"' in journal
    described = repr(cluster.live.controller.describe())
    for text in (page, journal, described, exposition(cluster.live.controller.metrics)[1].decode()):
        assert MARK not in text


def test_commands_print_no_secret(cluster: Cluster, tmp_path: Path) -> None:
    at, store = ("--bootstrap-server", cluster.server), cluster.saved()
    described = ("kafka", "configs", *at, "--describe")
    recorded = tmp_path / "tree.json"
    recorded.write_text(json.dumps({key: {"value": value, "version": 1} for key, value in BROKEN.items()}))
    commands = [
        *(
            (*described, *of, *how)
            for of in (("--broker", 1), ("--broker-defaults",), ("--topic", "orders"))
            for how in ((), ("--json",), ("--all",))
        ),
        *(("kafka", "topics", *at, "--describe", "--topic", "orders", *how) for how in ((), ("--json",))),
        *(("store", "audit", store, *how) for how in ((), ("--json",))),
        ("store", "ping", store),
        ("store", "diff", store, recorded),
        *(("journal", "show", cluster.journal, *how) for how in ((), ("--json",))),
        ("journal", "replay", cluster.journal),
        ("journal", "audit", cluster.journal),
        ("plan", "collect", tmp_path / "tables", "--cluster", "c", "--snapshot", "1", "--store", store),
    ]
    for command in commands:
        done = run(*command)
        assert done.exit_code in {0, 1}, (command, done.output)
        assert MARK not in done.output, command
    tables = [pq.read_table(file).to_pylist() for file in (tmp_path / "tables").rglob("*.parquet")]
    assert "/config/topics/bills" in repr(tables)
    assert MARK not in repr(tables)
    done = run("kafka", "configs", *at, "--alter", "--broker", 1, "--add-config", f"ssl.key.password={MARK}", "--json")
    assert (done.exit_code, MARK in done.output) == (1, False)


def test_a_dump_leaves_secrets_out_and_says_so(cluster: Cluster, tmp_path: Path) -> None:
    store, file = cluster.saved(), tmp_path / "dump.json"
    done = run("store", "dump", store, file, "--json")
    left_out = json.loads(done.stdout)["sensitive_left_out"]
    expected = {f"{key}: {name}" for key, found in PLANTED.items() for name, value in found.items() if MARK in value}
    assert set(left_out) == expected | set(BROKEN)
    assert len(left_out) == len(set(left_out))
    assert MARK not in file.read_text()
    keys = json.loads(file.read_text())["keys"]
    assert json.loads(keys["/config/users/alice"]["value"]) == {"version": 1, "config": {"producer_byte_rate": "7777"}}
    assert "ssl.keystore.location" in keys["/config/brokers/1"]["value"]
    assert run("store", "diff", store, file).exit_code == 0
    said = run("store", "dump", store, file, "--quiet").stdout
    assert f"; {len(left_out)} sensitive configs (/config/brokers/1: " in said
    assert " more) left out\n" in said
