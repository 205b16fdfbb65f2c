"""Settings in ZooKeeper, changed as Kafka's tools did: the key of the topic or broker, and a notification beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.cli.kafka.errors import Failed
from controller.codec import keys, small
from controller.codec.notifications import encode_config_change
from controller.model.values import KeyConfigs
from stores import ABSENT, Conflict, MetadataStore, Put
from stores.base import Op
from stores.recipes import next_in_sequence

_CALL_S: Final = 30.0
_TRIES: Final = 20


def change_settings(store: MetadataStore, kind: str, name: str, changes: Mapping[str, str | None]) -> None:
    """The settings of "topics" or "brokers" `name` have these values afterwards; None: unset. What others set there
    stays. Where nothing would change nothing is written. Raises Failed."""
    key = keys.topic_config(name) if kind == "topics" else keys.broker_config(name)
    for _ in range(_TRIES):
        entry = store.get(key, sync=True, timeout_s=_CALL_S)
        before = {} if entry is None else small.decode_config(entry.value)
        after = {n: v for n, v in {**before, **changes}.items() if v is not None}
        if after == before:
            return
        if isinstance(before, KeyConfigs):
            after = KeyConfigs(after, before.more)
        number = next_in_sequence(store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, _CALL_S)
        note = f"{keys.CONFIG_CHANGES}/{keys.CONFIG_CHANGE}{number:010d}"
        put = Put(key, small.encode_config(after), ABSENT if entry is None else entry.version)
        ops: list[Op] = [put, Put(note, encode_config_change(kind, name), ABSENT)]
        try:
            store.commit(ops, timeout_s=_CALL_S)
        except Conflict:
            continue  # another writer was first: look again
        return
    raise Failed(f"{key} is changed by others again and again")
