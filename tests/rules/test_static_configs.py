"""The read-only configs of a broker: where each value is from, and what else is said of it."""

from __future__ import annotations

from kedge.controller.model.config_requests import ConfigEntry, ConfigSource, ConfigSynonym
from kedge.controller.model.configs import ConfigKind
from kedge.controller.model.values import TOPICS, Broker, BrokerRegistration, ConfigEntity, Endpoint, Settings
from kedge.controller.rules.configs import describe
from kedge.controller.rules.static_configs import static_entries
from tests.rules.world import World

STATIC, DEFAULT = ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.DEFAULT_CONFIG


def entry(name: str, kind: ConfigKind, documentation: str, *chain: tuple[str, ConfigSource]) -> ConfigEntry:
    synonyms = tuple(ConfigSynonym(name, value, source) for value, source in chain)
    value, source = chain[0]
    return ConfigEntry(name, value, source, synonyms, kind, documentation, is_read_only=True)


OF_THE_HOST = [
    entry(
        "auto.leader.rebalance.enable",
        ConfigKind.BOOLEAN,
        "Whether the controller moves leaders back by itself.",
        ("true", DEFAULT),
    ),
    entry("default.replication.factor", ConfigKind.INT, "Replicas of a new topic.", ("1", DEFAULT)),
    entry(
        "delete.topic.enable",
        ConfigKind.BOOLEAN,
        "Whether topics may be deleted.",
        ("false", STATIC),
        ("true", DEFAULT),
    ),
    entry(
        "leader.imbalance.check.interval.seconds",
        ConfigKind.LONG,
        "How often leaders are moved back.",
        ("300", DEFAULT),
    ),
    entry(
        "leader.imbalance.per.broker.percentage",
        ConfigKind.INT,
        "From which share on leaders are moved back.",
        ("10", DEFAULT),
    ),
    entry("num.partitions", ConfigKind.INT, "Partitions of a new topic.", ("6", STATIC), ("1", DEFAULT)),
    entry("reserved.broker.max.id", ConfigKind.INT, "The highest id that a broker may choose.", ("1000", DEFAULT)),
]


def test_a_live_broker_has_the_configs_of_its_registration_and_those_of_its_host() -> None:
    world = World(Settings(num_partitions=6, delete_topic_enable=False))
    endpoints = (Endpoint("PLAINTEXT", "localhost", 9092), Endpoint("SSL", "localhost", 9093))
    world.state.brokers[4] = Broker(BrokerRegistration(4, endpoints=endpoints, rack="a"), 1)
    assert list(static_entries(world.state, "4")) == [
        entry("broker.id", ConfigKind.INT, "The id of the broker.", ("4", STATIC), ("-1", DEFAULT)),
        entry(
            "advertised.listeners",
            ConfigKind.STRING,
            "Where clients reach the broker.",
            ("PLAINTEXT://localhost:9092,SSL://localhost:9093", STATIC),
        ),
        entry("broker.rack", ConfigKind.STRING, "The rack of the broker.", ("a", STATIC)),
        *OF_THE_HOST,
    ]


def test_a_broker_that_is_not_live_or_said_nothing_of_itself_has_no_such_configs() -> None:
    world = World(Settings(num_partitions=6, delete_topic_enable=False))
    world.plant_broker(4)
    for broker in ("4", "5"):
        found = list(static_entries(world.state, broker))
        assert [one.name for one in found[:2]] == ["broker.id", "auto.leader.rebalance.enable"]
        assert found[1:] == OF_THE_HOST


def test_a_topic_without_a_value_shows_the_one_of_its_host() -> None:
    """Under its name among the configs of brokers."""
    world = World(Settings(unclean_leader_election_enable=True))
    world.plant_topic("t")
    name = "unclean.leader.election.enable"
    found = describe(world.state, ConfigEntity(TOPICS, "t"))[name]
    assert (found.value, found.source) == ("true", STATIC)
    assert found.synonyms == (ConfigSynonym(name, "true", STATIC), ConfigSynonym(name, "false", DEFAULT))
