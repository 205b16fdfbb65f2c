"""What Kedge's gateway can do beyond Kafka: requests under private keys, of which a server says in ApiVersions whether
it knows them. Without, `offers` is False, and a command goes Kafka's way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused
from controller.wire.messages.private import AlterInterbrokerThrottledRatesRequest, DeletePartitionsRequest

RATES: Final = 20001
DELETE_PARTITIONS: Final = 20003
_REASSIGNMENT: Final = 1  # the family of KIP-542
_TIMEOUT_MS: Final = 30_000


class Private:
    """The part of `Cluster` that other servers than Kedge do not offer."""

    client: Client

    def set_reassignment_rates(self, rates: Mapping[int, tuple[int, int]], *, stays: bool = False) -> None:
        """Moves copy at most so many bytes/s out of each of these brokers (the first number) and into it (KIP-542);
        those of other brokers that were set this way go. The controller takes them back when the last reassignment
        ends, unless `stays`. No brokers: it does so now. Raises Refused."""
        of = AlterInterbrokerThrottledRatesRequest.ThrottledBroker
        request = AlterInterbrokerThrottledRatesRequest(
            brokers=[of(broker_id=b, leader_rate=out, follower_rate=into) for b, (out, into) in sorted(rates.items())],
            remove_throttle=not stays,
            family=_REASSIGNMENT,
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
            min_version=1,
        )
        answer = self.client.ask_controller(request, lambda a: _first(a.brokers))
        _raise_first(answer.brokers)

    def delete_partitions(self, topic: str, partitions: Sequence[int], *, immediate: bool) -> None:
        """They become read-only, and go when their retention is over; or go at once (KIP-694). Raises Refused."""
        of = DeletePartitionsRequest.ReducedTopic
        request = DeletePartitionsRequest(
            timeout_ms=_TIMEOUT_MS,
            immediate_delete=immediate,
            topics=[of(name=topic, partitions=list(partitions))],
        )
        answer = self.client.ask_controller(request, lambda a: int(a.error_code))
        if answer.error_code:
            raise refused(answer.error_code, answer.error_message)
        _raise_first([each for found in answer.responses for each in found.partitions])


def _first(answers: Sequence[Any]) -> int:
    return next((int(answer.error_code) for answer in answers if answer.error_code), 0)


def _raise_first(answers: Sequence[Any]) -> None:
    for answer in answers:
        if answer.error_code:
            error: Refused = refused(answer.error_code, answer.error_message)
            raise error
