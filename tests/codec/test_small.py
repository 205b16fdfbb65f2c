"""Values of keys with few fields, as they are written."""

from __future__ import annotations

import pytest

from kedge.controller.codec import migration, producer_ids, small
from kedge.controller.codec.producer_ids import ProducerIdBlock
from kedge.controller.codec.text import BadValue


def test_a_gateway_is_written_with_the_brokers_beside_it() -> None:
    beside = {2: ("b", 9093), 1: ("a", 9092)}
    written = small.encode_gateway("g", 9090, beside)
    assert written == (
        b'{"version":1,"host":"g","port":9090,'
        b'"brokers":[{"id":1,"host":"a","port":9092},{"id":2,"host":"b","port":9093}]}'
    )
    assert (small.decode_gateway(written), small.decode_gateway_brokers(written)) == (("g", 9090), beside)
    alone = small.encode_gateway("g", 9090)
    assert (alone, small.decode_gateway_brokers(alone)) == (b'{"version":1,"host":"g","port":9090}', {})


def test_the_controller_key_of_a_move_between_stores_is_held_by_no_controller() -> None:
    held = migration.encode_holder("etcd://other")
    assert held == b'{"version":1,"migrates":"etcd://other"}'
    assert (migration.is_holder(held), small.decode_controller(held)) == (True, None)


@pytest.mark.parametrize("before,start", [(None, 0), (ProducerIdBlock(3, 2000, 2999), 3000)])
def test_a_broker_gets_the_thousand_producer_ids_after_the_last_block(
    before: ProducerIdBlock | None, start: int
) -> None:
    block = producer_ids.next_block(before, 0)
    assert block == ProducerIdBlock(0, start, start + 999)
    assert producer_ids.decode(producer_ids.encode(block)) == block


def test_producer_ids_end_with_64_bits() -> None:
    with pytest.raises(BadValue, match="leaves ids above it"):
        producer_ids.next_block(ProducerIdBlock(1, 0, 2**63 - 2), 1)
