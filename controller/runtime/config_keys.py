"""Changes a config key that another program may change at the same time, with a notification beside it.

The key is written with the version that was read, not by a fenced commit: the change is decided again from what the key
holds, so a deposed controller overwrites nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import tenacity

from ...stores.base import ABSENT, Conflict, Corrupt, MetadataStore, Put, as_read
from ...stores.recipes import next_in_sequence, sequence_key
from ..codec import BadValue, keys, small
from ..codec.notifications import encode_config_change
from ..model.requests import as_configs
from ..model.values import KeyConfigs

_TRIES: Final = 20

Change = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From the configs of an entity to its new ones."""


def change(store: MetadataStore, kind: str, name: str, to: Change, timeout_s: float) -> None:
    """The entity `name` of the kind ("topics", "brokers", "users") has the configs that `to` returns for its present
    ones. Where nothing changes nothing is written. `name` is as in the path of the key.

    `timeout_s` is for each call to the store. Raises Corrupt where the key holds something else, the last Conflict
    after 20 tries, what `to` raises, TypeError for what it returns, and whatever else the store raises.
    """
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Conflict),
        stop=tenacity.stop_after_attempt(_TRIES),
        sleep=lambda _: None,
        reraise=True,
    )
    retrying(_change_once, store, kind, name, to, timeout_s)


def _change_once(store: MetadataStore, kind: str, name: str, to: Change, timeout_s: float) -> None:
    key = keys.config(kind, name)
    entry = store.get(key, sync=True, timeout_s=timeout_s)
    try:
        before = {} if entry is None else small.decode_config(entry.value)
    except BadValue as error:
        raise Corrupt(f"{key}: {error}", key=key) from error
    after = as_configs(to(before))
    if after == before:
        return
    if isinstance(before, KeyConfigs):
        after = KeyConfigs(after, before.more)
    number = next_in_sequence(store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, timeout_s)
    note = sequence_key(keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, number)
    ops = [Put(key, small.encode_config(after), as_read(entry)), Put(note, encode_config_change(kind, name), ABSENT)]
    store.commit(ops, timeout_s=timeout_s)
