"""Takeover's one bulk load: the whole tree into a state, and the events that there is work for.

Bulk reads by columns, many JSON values parsed in one go, no object that is not kept. Whatever cannot be read is a
finding of that key: the rest is loaded, and `full` requests are withheld as long as a topic or state key is
unreadable.
"""

from __future__ import annotations

from typing import Final

from controller.keys.base import Ground
from controller.keys.brokers import RegistrationKeys
from controller.keys.table import KeyKinds
from controller.keys.topics import TopicKeys
from controller.model.events import Event
from controller.rules.brokers import expand_deaths
from controller.rules.takeover import died
from controller.runtime.collector import collector_off, many_stay
from controller.runtime.loaded import Loaded
from controller.runtime.services import Services
from controller.runtime.topic_load import load_topics
from controller.runtime.writer import FIXED_OPS
from controller.state import ClusterState

_FREEZE_ABOVE: Final = 10_000  # partitions, from which on the collector need not look at them again


def load(services: Services, controller_epoch: int, now_ms: int) -> Loaded:
    """The state of a term that was just won, loaded under its claimed token. Raises what the store raises; the caller
    takes over anew."""
    store, chance = services.store, services.chance
    store.forget()
    keys_at_once = max(1, store.capabilities.commit_ops_max - FIXED_OPS)
    state = ClusterState(services.controller_id, controller_epoch, services.settings, keys_at_once)
    parents_stay = store.capabilities.parents_stay
    ground = Ground(state, store, services.elapsed_ms, chance.topic_id, parents_stay=parents_stay)
    loaded = Loaded(KeyKinds(ground))
    with collector_off():
        for kind in loaded.kinds:
            if isinstance(kind, TopicKeys):
                load_topics(store, loaded, now_ms, chance, services.read_timeout_s)
            loaded.events += kind.load(now_ms)
    if len(state.rows) > _FREEZE_ABOVE:
        many_stay()
    loaded.events[:0] = _deaths(loaded, now_ms)
    return loaded


def _deaths(loaded: Loaded, now_ms: int) -> list[Event]:
    dead, registered = died(loaded.state), loaded.kinds.one(RegistrationKeys).brokers
    loaded.state.load_dying(dead)
    returned = {broker_id: registered[broker_id] for broker_id in dead if broker_id in registered}
    return expand_deaths(loaded.state, dead, returned, now_ms)
