"""The table of known keys: what the last part of their path may be, how their value is read, which versions it has.

It also knows what no controller loads: keys of gateways, of a move to another store, and Kafka's own. State keys are
in `reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...stores.checks import parent
from ...stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token, decode_epoch
from ..codec import broker, handed_back, keys, legacy, notifications, orders, producer_ids, small, topic
from ..codec.migration import decode_marker, is_holder
from ..codec.names import broker_in, is_topic, number_in
from ..codec.text import BadValue, parse

NUMBER_DIGITS: Final = 10  # of the keys of a sequence
SEQUENCES: Final = {
    keys.CONFIG_CHANGES: keys.CONFIG_CHANGE,
    keys.ISR_CHANGES: "isr_change_",
    keys.LOG_DIR_EVENTS: "log_dir_event_",
}


class KnownKey(NamedTuple):
    """`decode` raises BadValue, ValueError, TypeError or Corrupt for a value that cannot be read. `version_max` is 0
    where values have no version. `names` raise BadValue for what the last parts of the path may not be."""

    decode: Callable[[bytes], object]
    version_max: int = 0
    names: tuple[Callable[[str], object], ...] = ()


def known_key(key: str) -> KnownKey | None:
    above = parent(key)
    return KNOWN.get(key) or KNOWN.get(f"{above}/*") or KNOWN.get(f"{parent(above)}/*/*")


def _topic_name(name: str) -> None:
    if not is_topic(name):
        raise BadValue("the last part of the key is no topic name")


def _broker_or_default(name: str) -> None:
    if name != "<default>":
        broker_in(name)


def _numbered(prefix: str) -> Callable[[str], None]:
    def check(name: str) -> None:
        digits = name.removeprefix(prefix)
        if digits == name or len(digits) != NUMBER_DIGITS or not (digits.isascii() and digits.isdecimal()):
            raise BadValue(f"the last part of the key is not {prefix}<{NUMBER_DIGITS} digits>")

    return check


def _leader(value: bytes) -> None:
    if small.decode_controller(value) is None and not is_holder(value):
        parse(value)  # raises the exact error if the value is no JSON at all
        raise BadValue("no controller's id", where="brokerid", expected="a controller's id", got=value[:40])


def _producer_ids(value: bytes) -> None:
    if value:  # brokers create the key without a value
        producer_ids.decode(value)


def _counter(value: bytes) -> int | None:
    """The counter of a sequence, which some backends have in the parent's value."""
    if value and (not value.isdigit() or len(value) > 19):
        raise BadValue("no counter", where="value", expected="decimal digits", got=value[:40])
    return int(value) if value else None


def _unread(_: bytes) -> None:
    """A value in which there is nothing to check."""


KNOWN: Final[Mapping[str, KnownKey]] = {
    HELD_KEY: KnownKey(_unread, 2),
    LEADER_KEY: KnownKey(_leader, 2),  # Kafka 3.4 and later add the epoch of KRaft's controller
    EPOCH_KEY: KnownKey(decode_epoch),
    TOKEN_KEY: KnownKey(Token.decode),
    orders.FORMAT_KEY: KnownKey(orders.decode_format, 1),
    keys.HANDED_BACK: KnownKey(handed_back.decode, 1),
    keys.PRODUCER_IDS: KnownKey(_producer_ids, 1),
    keys.MIGRATION: KnownKey(decode_marker, 1),
    keys.GATEWAYS_SECRET: KnownKey(small.decode_gateways_secret, 1),
    f"{keys.GATEWAYS}/*": KnownKey(small.decode_gateway, 1, (broker_in,)),
    keys.CLUSTER_ID: KnownKey(orders.decode_cluster_id),  # its version is a string
    keys.BROKER_SEQUENCE: KnownKey(_unread),
    f"{keys.BROKER_IDS}/*": KnownKey(lambda value: broker.decode(value, 0), 5, (broker_in,)),
    f"{keys.ADMITTED}/*": KnownKey(small.decode_admitted, 0, (broker_in,)),
    f"{keys.TOPICS}/*": KnownKey(lambda value: topic.decode(value, ""), 3, (_topic_name,)),
    f"{keys.CONFIG_TOPICS}/*": KnownKey(small.decode_config, 1, (_topic_name,)),
    f"{keys.CONFIG_BROKERS}/*": KnownKey(small.decode_config, 1, (_broker_or_default,)),
    **dict.fromkeys((f"{keys.CONFIG_USERS}/*", f"{keys.CONFIG_CLIENTS}/*"), KnownKey(small.decode_config, 1)),
    keys.REASSIGN_PARTITIONS: KnownKey(lambda value: legacy.decode(value).entries, 1),
    keys.PREFERRED_ELECTION: KnownKey(notifications.decode_partitions, 1),
    f"{keys.DELETE_TOPICS}/*": KnownKey(_unread, 0, (_topic_name,)),
    f"{keys.DELETE_PARTITIONS}/*": KnownKey(orders.decode_retirements, 1, (_topic_name,)),
    f"{keys.REPLICA_DELETIONS}/*/*": KnownKey(lambda value: small.decode_intents(value, 0), 1, (broker_in, number_in)),
    **dict.fromkeys(orders.REPLICAS_REMOVAL, KnownKey(orders.decode_throttled_topics, 1)),
    **dict.fromkeys(orders.RATES_REMOVAL, KnownKey(orders.decode_throttled_brokers, 1)),
    **dict.fromkeys(SEQUENCES, KnownKey(_counter)),
    f"{keys.CONFIG_CHANGES}/*": KnownKey(notifications.decode_config_change, 2, (_numbered("config_change_"),)),
    f"{keys.ISR_CHANGES}/*": KnownKey(notifications.decode_partitions, 1, (_numbered("isr_change_"),)),
    f"{keys.LOG_DIR_EVENTS}/*": KnownKey(notifications.decode_log_dir_event, 1, (_numbered("log_dir_event_"),)),
    # Kafka's own, which Kedge neither reads nor writes
    **dict.fromkeys(("/feature", "/migration", "/config/ips/*", "/kafka-acl-changes/*"), KnownKey(_unread)),
    **dict.fromkeys(("/kafka-acl/*/*", "/kafka-acl-extended/*/*"), KnownKey(_unread)),
}
