"""The tables of the known keys, and how each key is read into the tree.

A key is found by its path (EXACT), by its parent (CHILDREN) or by the parent of that (GRANDCHILDREN). State keys are
read by `reading`, many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ...stores.base import Entry
from ...stores.checks import parent
from ...stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token, decode_epoch
from ..codec import broker, handed_back, keys, legacy, notifications, orders, producer_ids, small, topic
from ..codec.migration import decode_marker, is_holder
from ..codec.names import broker_in, is_topic, number_in
from ..codec.text import BadValue, parse
from .tree import IntentKey, Tree

SEQUENCES: Final = {
    keys.CONFIG_CHANGES: "config_change_",
    keys.ISR_CHANGES: "isr_change_",
    keys.LOG_DIR_EVENTS: "log_dir_event_",
}
_NUMBER_DIGITS: Final = 10

Reader: TypeAlias = Callable[[Tree, str, Entry], None]
"""Reads a key into the tree, given the last segment of its path. Raises BadName for a bad segment; BadValue,
ValueError, TypeError or Corrupt for an unreadable value."""


class BadName(Exception):
    """The last segment of a key is not what its parent requires."""


def _topic(tree: Tree, name: str, entry: Entry) -> None:
    if not is_topic(name):
        raise BadName("the last part of the key is no topic name")
    if not entry.value:
        return  # the parent of other keys, without a value
    tree.unreadable_topics.add(name)
    tree.topics[name] = topic.decode(entry.value, name)
    tree.unreadable_topics.discard(name)


def _registration(tree: Tree, name: str, entry: Entry) -> None:
    broker_id = _broker(name)
    broker.decode(entry.value, broker_id)
    tree.registered[broker_id] = entry


def _admitted(tree: Tree, name: str, entry: Entry) -> None:
    broker_id = _broker(name)
    tree.admitted[broker_id] = None
    tree.admitted[broker_id] = small.decode_admitted(entry.value)


def _topic_config(tree: Tree, name: str, entry: Entry) -> None:
    if not is_topic(name):
        raise BadName("the last part of the key is no topic name")
    tree.configs[name] = entry.key
    small.decode_config(entry.value)


def _broker_config(_: Tree, name: str, entry: Entry) -> None:
    if name != "<default>":
        _broker(name)
    small.decode_config(entry.value)


def _intents(tree: Tree, name: str, entry: Entry) -> None:
    broker_id, seq = _broker(entry.key.split("/")[3]), _whole_number(name)
    tree.intents.append(IntentKey(entry.key, broker_id, seq, small.decode_intents(entry.value, broker_id)))


def _gateway(_: Tree, name: str, entry: Entry) -> None:
    _broker(name)
    small.decode_gateway(entry.value)


def _legacy(tree: Tree, _: str, entry: Entry) -> None:
    tree.has_legacy_key = True
    tree.moves = legacy.decode(entry.value, entry.version).entries


def _elections(tree: Tree, _: str, entry: Entry) -> None:
    tree.elections = notifications.decode_partitions(entry.value)


def _deletion(tree: Tree, name: str, _: Entry) -> None:
    if not is_topic(name):
        raise BadName("the last part of the key is no topic name")
    tree.deleting.add(name)


def _reduction(tree: Tree, name: str, entry: Entry) -> None:
    if not is_topic(name):
        raise BadName("the last part of the key is no topic name")
    tree.unreadable_reductions.add(name)
    tree.reductions[name] = orders.decode_retirements(entry.value)
    tree.unreadable_reductions.discard(name)


def _throttled_topics(tree: Tree, _: str, entry: Entry) -> None:
    tree.throttled_topics[entry.key] = orders.decode_throttled_topics(entry.value)


def _throttled_brokers(tree: Tree, _: str, entry: Entry) -> None:
    tree.throttled_brokers[entry.key] = orders.decode_throttled_brokers(entry.value)


def _leader(tree: Tree, _: str, entry: Entry) -> None:
    tree.leader = entry
    if small.decode_controller(entry.value) is None and not is_holder(entry.value):
        parse(entry.value)  # raises the exact error if the value is no JSON at all
        raise BadValue("no controller's id", where="brokerid", expected="a controller's id", got=entry.value[:40])


def _held(tree: Tree, _: str, entry: Entry) -> None:
    tree.held = entry


def _handed_back(_: Tree, __: str, entry: Entry) -> None:
    handed_back.decode(entry.value)


def _producer_ids(_: Tree, __: str, entry: Entry) -> None:
    if entry.value:  # brokers create the key without a value
        producer_ids.decode(entry.value)


def _epoch(tree: Tree, _: str, entry: Entry) -> None:
    tree.has_epoch = True
    tree.epoch = decode_epoch(entry.value)


def _token(tree: Tree, _: str, entry: Entry) -> None:
    tree.has_token = True
    tree.token = Token.decode(entry.value)


def _format(tree: Tree, _: str, entry: Entry) -> None:
    tree.min_controller = orders.decode_format(entry.value)


def _migration(tree: Tree, _: str, entry: Entry) -> None:
    tree.migration = decode_marker(entry.value)


def _notice(tree: Tree, name: str, entry: Entry) -> None:
    above = parent(entry.key)
    number = name.removeprefix(SEQUENCES[above])
    if number == name or len(number) != _NUMBER_DIGITS or not (number.isascii() and number.isdecimal()):
        raise BadName(f"the last part of the key is not {SEQUENCES[above]}<{_NUMBER_DIGITS} digits>")
    tree.notices[above].numbers[entry.key] = int(number)
    _NOTICES[above](entry.value)


def _counter(tree: Tree, _: str, entry: Entry) -> None:
    if entry.value:
        if not entry.value.isdigit() or len(entry.value) > 19:
            raise BadValue("no counter", where="value", expected="decimal digits", got=entry.value[:40])
        tree.notices[entry.key].counter = int(entry.value)


def _broker(name: str) -> int:
    try:
        return broker_in(name)
    except BadValue as error:
        raise BadName(str(error)) from None


def _whole_number(name: str) -> int:
    try:
        return number_in(name)
    except BadValue as error:
        raise BadName(str(error)) from None


def _cluster_id(_: Tree, __: str, entry: Entry) -> None:
    orders.decode_cluster_id(entry.value)


def _gateways_secret(_: Tree, __: str, entry: Entry) -> None:
    small.decode_gateways_secret(entry.value)


def _unread(_: Tree, __: str, ___: Entry) -> None:
    """A known key whose value has nothing to check here."""


_NOTICES: Final[Mapping[str, Callable[[bytes], object]]] = {
    keys.CONFIG_CHANGES: notifications.decode_config_change,
    keys.ISR_CHANGES: notifications.decode_partitions,
    keys.LOG_DIR_EVENTS: notifications.decode_log_dir_event,
}

EXACT: Final[Mapping[str, tuple[Reader, int]]] = {
    HELD_KEY: (_held, 2),
    keys.HANDED_BACK: (_handed_back, 1),
    keys.PRODUCER_IDS: (_producer_ids, 1),
    LEADER_KEY: (_leader, 2),  # Kafka 3.4 and later add the epoch of KRaft's controller
    EPOCH_KEY: (_epoch, 0),
    TOKEN_KEY: (_token, 0),
    orders.FORMAT_KEY: (_format, 1),
    keys.MIGRATION: (_migration, 1),
    keys.GATEWAYS_SECRET: (_gateways_secret, 1),
    keys.REASSIGN_PARTITIONS: (_legacy, 1),
    keys.PREFERRED_ELECTION: (_elections, 1),
    "/cluster/id": (_cluster_id, 0),  # its version is a string
    "/brokers/seqid": (_unread, 0),
    **dict.fromkeys(orders.REPLICAS_REMOVAL, (_throttled_topics, 1)),
    **dict.fromkeys(orders.RATES_REMOVAL, (_throttled_brokers, 1)),
    **dict.fromkeys(SEQUENCES, (_counter, 0)),
    # Kafka's own, which Kedge neither reads nor writes
    **dict.fromkeys(("/feature", "/migration"), (_unread, 0)),
}
CHILDREN: Final[Mapping[str, tuple[Reader, int]]] = {
    keys.TOPICS: (_topic, 3),
    keys.BROKER_IDS: (_registration, 5),
    keys.ADMITTED: (_admitted, 0),
    keys.GATEWAYS: (_gateway, 1),
    keys.MIGRATION: (_unread, 0),  # the seal, which is binary
    keys.CONFIG_TOPICS: (_topic_config, 1),
    "/config/brokers": (_broker_config, 1),
    orders.DELETE_TOPICS: (_deletion, 0),
    orders.DELETE_PARTITIONS: (_reduction, 1),
    keys.CONFIG_CHANGES: (_notice, 2),
    keys.ISR_CHANGES: (_notice, 1),
    keys.LOG_DIR_EVENTS: (_notice, 1),
    **dict.fromkeys(("/config/users", "/config/clients", "/config/ips", "/kafka-acl-changes"), (_unread, 0)),
}
GRANDCHILDREN: Final[Mapping[str, tuple[Reader, int]]] = {
    keys.REPLICA_DELETIONS: (_intents, 1),
    **dict.fromkeys(("/kafka-acl", "/kafka-acl-extended"), (_unread, 0)),
}
