"""What stock producers and consumers, which know nothing of KIP-694, see of a topic that loses its last partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import kafka
import pytest

from kedge import DeletePartitions, TopicPartition
from kedge.controller.model.logs import LogError
from tests.clients.producing import CLIENTS, producing
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S

pytestmark = [pytest.mark.server, pytest.mark.full]

KEYED = [f"key-{number}" for number in range(40)]
KEYLESS = [None] * 40
LAST = 3
REST = {0, 1, 2}


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        yield opened


def shrink(living: Living, topic: str, *, immediate: bool = False) -> None:
    """The topic loses partition 3, and every client sees it."""
    asked = {topic: DeletePartitions(LAST, immediate)}
    living.cluster.controller.admin.delete_partitions(asked).all().result(DEADLINE_S)
    tp = TopicPartition(topic, LAST)
    logs = living.cluster.logs
    if immediate:
        until(lambda: logs.bounds(None, tp).result(DEADLINE_S).error == LogError.UNKNOWN_TOPIC_OR_PARTITION)
    else:
        until(lambda: all(replica.status for replica in logs.replicas(tp).values()))


def ends(living: Living, topic: str) -> list[int]:
    """How many records each partition has."""
    logs = living.cluster.logs
    return [logs.bounds(None, TopicPartition(topic, p)).result(DEADLINE_S).high_watermark for p in range(LAST + 1)]


def refusal(client: str, *, idempotent: bool) -> str:
    """What each client calls the error that it gets."""
    if client == "kafka-python":
        return "InvalidProducerEpochError" if idempotent else "PolicyViolationError"
    if client == "java":
        return "PolicyViolationException"
    if client == "librdkafka":
        return "POLICY_VIOLATION"
    said = "Request parameters do not satisfy the configured policy"
    return f"kafka server: {said}" if client == "sarama" else f"POLICY_VIOLATION: {said}."


@pytest.mark.checklist(194, 197, 198, 225, 267)
@pytest.mark.parametrize("keys", [KEYED, KEYLESS], ids=["keyed", "keyless"])
@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_producer_reports_the_record_and_goes_on(
    living: Living, topic: str, client: str, idempotent: bool, keys: Sequence[str | None]
) -> None:
    """Of records that it sends to a read-only partition it reports each as failed, in time; all others are there once.
    When the partition is gone, a producer that begins sends to those that remain."""
    living.topic(topic, [[1, 2], [2, 3], [3, 1], [1, 3]])
    error = refusal(client, idempotent=idempotent)
    with producing(client, living.bootstrap, idempotent=idempotent) as send:
        before = send(topic, keys)
        assert set(before) <= REST | {LAST}
        shrink(living, topic)
        at_first = ends(living, topic)
        after: list[int | str | None] = []

        def is_seen() -> bool:
            """Keyless records go to one partition after another, each client in its own way."""
            now = send(topic, keys)
            if keys is KEYED:
                assert now == [error if place == LAST else place for place in before]
            after.extend(now)
            return REST | {error} <= set(after)

        until(is_seen)
        assert set(after) == REST | {error}
        assert ends(living, topic) == [end + after.count(place) for place, end in enumerate(at_first)]
    shrink(living, topic, immediate=True)
    with producing(client, living.bootstrap, idempotent=idempotent) as send:
        assert set(send(topic, keys)) <= REST


@pytest.mark.checklist(195, 196, 198, 225)
def test_a_consumer_reads_what_is_read_only_and_sees_nothing_offline(living: Living, topic: str) -> None:
    living.topic(topic, [[1, 2], [2, 3], [3, 1], [1, 3]])
    last = kafka.TopicPartition(topic, LAST)
    with producing("kafka-python", living.bootstrap, idempotent=True) as send:
        count = send(topic, KEYED).count(LAST)
    shrink(living, topic)
    consumer = kafka.KafkaConsumer(bootstrap_servers=living.bootstrap, auto_offset_reset="earliest", group_id=None)
    assert consumer.partitions_for_topic(topic) == REST | {LAST}
    consumer.assign([last])
    found: list[bytes] = []

    def are_read() -> bool:
        found.extend(record.key for record in consumer.poll(timeout_ms=1000).get(last, ()))
        return len(found) >= count

    until(are_read)
    assert len(set(found)) == len(found) == count
    consumer.close()
    shrink(living, topic, immediate=True)
    later = kafka.KafkaConsumer(bootstrap_servers=living.bootstrap, group_id=None)
    assert later.partitions_for_topic(topic) == REST
    later.close()
