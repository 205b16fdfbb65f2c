"""The small keys: configs, delete intents, last admissions, gateways, the active controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from ..model.values import DeleteIntent, KeyConfigs
from .text import INT32_MAX, BadValue, bad, dump, dump_name, fields, hidden, number, parse, text

INTENTS_BYTES_MAX: Final = 64_000  # one key of intents (one per broker and commit)


def decode_config(value: bytes) -> dict[str, str]:
    """`{"version":1,"config":{"k":"v"}}`; KeyConfigs where the key has other fields. Raises BadValue, which does not
    repeat the content: it may have passwords."""
    try:
        key = fields(parse(value), "config key")
        found = fields(key.get("config"), "config")
        configs = {name: text(content, f"config.{name}") for name, content in found.items()}
    except BadValue as error:
        raise hidden(error) from None
    if len(key) == 1 + ("version" in key):
        return configs
    return KeyConfigs(configs, {name: said for name, said in key.items() if name not in {"version", "config"}})


def encode_config(config: Mapping[str, str]) -> bytes:
    """The value of the key, with the other fields that it had."""
    more = config.more if isinstance(config, KeyConfigs) else {}
    return dump({"version": 1, "config": dict(config), **more}).encode()


def decode_intents(value: bytes, broker: int) -> tuple[DeleteIntent, ...]:
    """The replicas that `broker` must delete. Raises BadValue."""
    raw = fields(parse(value), "intents").get("replicas")
    if type(raw) is not list:
        bad("replicas", "a list", raw)
    return tuple(_intent(fields(one, "replicas"), broker) for one in raw)


def _intent(found: dict[str, object], broker: int) -> DeleteIntent:
    return DeleteIntent(
        broker,
        text(found.get("topic"), "topic"),
        text(found.get("topic_id"), "topic_id"),
        number(found.get("partition"), "partition", 0, 2**31 - 1),
        number(found.get("leader_epoch"), "leader_epoch", 0, 2**31 - 1),
    )


def encode_intents(intents: Sequence[DeleteIntent]) -> bytes:
    replicas = ",".join(
        [f'{_intent_head(i.topic, i.topic_id)}{i.partition},"leader_epoch":{i.leader_epoch}}}' for i in intents]
    )
    return f'{{"version":1,"replicas":[{replicas}]}}'.encode()


def intent_bytes_max(intent: DeleteIntent) -> int:
    """An upper bound on the bytes that one intent adds to its key."""
    return 46 + len(_intent_head(intent.topic, intent.topic_id))


@lru_cache(maxsize=4096)
def _intent_head(topic: str, topic_id: str) -> str:
    """The beginning of an intent, cached: a move writes three of one topic."""
    return f'{{"topic":{dump_name(topic)},"topic_id":{dump_name(topic_id)},"partition":'


def decode_admitted(value: bytes) -> int:
    """The broker epoch of the last admission."""
    return number(fields(parse(value), "admitted").get("broker_epoch"), "broker_epoch", 0, 2**63 - 1)


def encode_admitted(epoch: int) -> bytes:
    return f'{{"broker_epoch":{epoch}}}'.encode()


def decode_gateways_secret(value: bytes) -> str:
    """The secret that the gateways of a cluster share; otherwise only readers of the store know it. Raises BadValue,
    which does not repeat the content."""
    try:
        return text(fields(parse(value), "gateways_secret").get("secret"), "secret")
    except BadValue as error:
        raise hidden(error) from None


def encode_gateways_secret(secret: str) -> bytes:
    return dump({"version": 1, "secret": secret}).encode()


def decode_gateway(value: bytes) -> tuple[str, int]:
    """Host and port of a controller's gateway."""
    return _place(fields(parse(value), "gateway"))


def decode_gateway_brokers(value: bytes) -> dict[int, tuple[str, int]]:
    """Host and port of each broker that lives beside the gateway, by broker id."""
    listed = fields(parse(value), "gateway").get("brokers", [])
    if type(listed) is not list:
        bad("brokers", "a list", listed)
    found = [fields(each, "brokers") for each in listed]
    return {number(each.get("id"), "brokers.id", 0, INT32_MAX): _place(each) for each in found}


def _place(found: Mapping[str, object]) -> tuple[str, int]:
    return text(found.get("host"), "host"), number(found.get("port"), "port", 1, 65535)


def encode_gateway(host: str, port: int, brokers: Mapping[int, tuple[str, int]] | None = None) -> bytes:
    beside = [{"id": broker, "host": at[0], "port": at[1]} for broker, at in sorted((brokers or {}).items())]
    return dump({"version": 1, "host": host, "port": port, **({"brokers": beside} if beside else {})}).encode()


def decode_controller(value: bytes) -> int | None:
    """The id of the active controller; None where the value cannot be read (the key is held all the same)."""
    try:
        return number(fields(parse(value), "controller").get("brokerid"), "brokerid", -(2**31), 2**31 - 1)
    except BadValue:
        return None


def is_of_kraft(value: bytes) -> bool:
    """Whether the active controller is one of KRaft, to which Kafka's brokers are being migrated or have been."""
    try:
        return number(fields(parse(value), "controller").get("kraftControllerEpoch", -1), "epoch", -1, INT32_MAX) >= 0
    except BadValue:
        return False


def encode_controller(controller_id: int, now_ms: int) -> bytes:
    return f'{{"version":1,"brokerid":{controller_id},"timestamp":"{now_ms}"}}'.encode()
