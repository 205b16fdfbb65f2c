"""The keys of delete intents: which replicas a broker has to delete."""

from __future__ import annotations

from ...stores.base import Entry
from ..codec import BadValue, keys, small
from ..codec.names import broker_in, number_in
from ..model.events import Event, IntentsDue
from ..state.intents import KeyId
from .base import GONE, Content, KeyKind
from .unreadable import Unreadable


class NewIntentKeys(KeyKind):
    """What a broker has to delete by this commit. `key_id`: its id. Each intent adds bytes of its own. `seq_max`: the
    highest number that a takeover found in the name of a key."""

    unreadable = (
        Unreadable(
            "intents", "the replicas that it names are not deleted until a controller takes over that can read it"
        ),
    )
    name, seq_max = "intents", 0

    def load(self, now_ms: int) -> list[Event]:
        context = self.context
        paths = [path for broker in context.children(keys.REPLICA_DELETIONS) for path in context.children(broker)]
        for entry in filter(None, context.many(paths)):
            try:
                self._take(entry)
            except BadValue as error:
                context.findings.bad(entry.key, str(error))
        return [IntentsDue(now_ms, broker) for broker in sorted({broker for broker, _ in self.state.intents.keys})]

    def _take(self, entry: Entry) -> None:
        broker, seq = entry.key.split("/")[-2:]
        owner, number = broker_in(broker), number_in(seq)
        self.seq_max = max(self.seq_max, number)
        self.state.intents.load(owner, number, small.decode_intents(entry.value, owner))
        self.state.versions.put(entry.key, entry.version)

    def key(self, key_id: int) -> str:
        return keys.replica_deletions(key_id, self.context.intents_seq)

    def content(self, key_id: int) -> Content:
        waiting = self.state.intents.undurable(key_id)
        return small.encode_intents(waiting) if waiting else None

    def committed(self, key_id: int, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.intents.durable(key_id, self.context.intents_seq)


class DoneIntentKeys(KeyKind):
    """A key of intents of which none is open. `key_id`: broker and number of the key."""

    name = "intents done"

    def key(self, key_id: KeyId) -> str:
        return keys.replica_deletions(*key_id)

    def content(self, key_id: KeyId) -> Content:
        return GONE if key_id in self.state.intents.keys else None

    def committed(self, key_id: KeyId, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.intents.key_is_gone(key_id)
