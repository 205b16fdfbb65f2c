"""Kafka's own classes, for a test that asks them what they read: jars of Kafka 3.9.1 and of what its client of
ZooKeeper loads, pinned and cached as those of `stores.servers` are.
"""

from __future__ import annotations

from typing import Final

from stores.servers.jars import class_path

KAFKA_VERSION: Final = "3.9.1"

# group/artifact, version, SHA-256: just the jars of which a class is loaded, of the fifty that Kafka names.
JARS: Final = (
    (
        "com/fasterxml/jackson/core/jackson-annotations",
        "2.16.2",
        "d1cdd269ebaa753d1842933194e17d61958f058952d63e03dbfb3d1d78a6926e",
    ),
    (
        "com/fasterxml/jackson/core/jackson-core",
        "2.16.2",
        "4f43e2f1430b2d2413e8e5a3d79138e57e891d6a961b18c28ac90859639d8664",
    ),
    (
        "com/fasterxml/jackson/core/jackson-databind",
        "2.16.2",
        "53b6025d98c357068296e4b134242443a248c2c582800879f1c4ea93b54bafa6",
    ),
    (
        "com/typesafe/scala-logging/scala-logging_2.13",
        "3.9.5",
        "87a3017d3f43e6ace7566fe4c3d615134c6914ff871c8d64bb32ca1d996d0545",
    ),
    (
        "com/yammer/metrics/metrics-core",
        "2.2.0",
        "6b7a14a6f34c10f8683f7b5e2f39df0f07b58c7dff0e468ebbc713905c46979c",
    ),
    (
        "commons-validator/commons-validator",
        "1.7",
        "4d74f4ce4fb68b2617edad086df6defdf9338467d2377d2c62e69038e1c4f02f",
    ),
    (
        "org/apache/kafka/kafka-clients",
        "3.9.1",
        "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9",
    ),
    (
        "org/apache/kafka/kafka-metadata",
        "3.9.1",
        "35c35118d4abb0b747ad68d1e0be00d5bd02206b462ad76ebbcd85b33436f13a",
    ),
    (
        "org/apache/kafka/kafka-server-common",
        "3.9.1",
        "99f1f5f81e9d39cfbe5c96ab8e3854be8deca465937192c9a6e2f231678d31f6",
    ),
    (
        "org/apache/kafka/kafka-server",
        "3.9.1",
        "02b5a92645865e3152e9d1d829f6d4c4b4272f637b7fe4a2b00cabcbcd8df6f4",
    ),
    (
        "org/apache/kafka/kafka_2.13",
        "3.9.1",
        "5631c61356d55611c158291a69ad028f3c4fed5d0a610c62a0853c65c89d10f6",
    ),
    (
        "org/apache/zookeeper/zookeeper-jute",
        "3.8.4",
        "93e854b55d731e745bafec187e2e7bf3389fd2a88e2fc8d1a3c1b9110284b284",
    ),
    (
        "org/apache/zookeeper/zookeeper",
        "3.8.4",
        "2d77b152039e7f85dc5438a9304febff86a2f3e55c88976a8be309af39028e97",
    ),
    (
        "org/scala-lang/scala-library",
        "2.13.15",
        "8e4dbc3becf70d59c787118f6ad06fab6790136a0699cd6412bc9da3d336944e",
    ),
    (
        "org/slf4j/slf4j-api",
        "1.7.36",
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
    ),
)


def kafka_classpath() -> str:
    """The jars as a class path, downloaded if they are not there. Raises NoServer."""
    return class_path(f"kafka-{KAFKA_VERSION}", JARS)
