"""The keys of delete intents: which replicas a broker has to delete."""

from __future__ import annotations

from ...stores.base import Delete, Entry, Op, Put
from ..codec import BadValue, keys, small
from ..codec.names import broker_in, number_in
from ..model.events import Event, IntentsDue
from ..state.intents import KeyId
from .base import KeyKind
from .unreadable import Unreadable


class NewIntentKeys(KeyKind):
    """What a broker has to delete by this commit. `of`: its id. Each intent adds bytes of its own. `seq_max`: the
    highest number that a takeover found in the name of a key."""

    unreadable = (
        Unreadable(
            "intents", "the replicas that it names are not deleted until a controller takes over that can read it"
        ),
    )
    dirty, seq_max = "intents", 0

    def load(self, now_ms: int) -> list[Event]:
        ground = self.ground
        paths = [path for broker in ground.children(keys.REPLICA_DELETIONS) for path in ground.children(broker)]
        for entry in filter(None, ground.many(paths)):
            try:
                self._take(entry)
            except BadValue as error:
                ground.findings.bad(entry.key, str(error))
        return [IntentsDue(now_ms, broker) for broker in sorted({broker for broker, _ in self.state.intents.keys})]

    def _take(self, entry: Entry) -> None:
        broker, seq = entry.key.split("/")[-2:]
        owner, number = broker_in(broker), number_in(seq)
        self.seq_max = max(self.seq_max, number)
        self.state.intents.load(owner, number, entry.version, small.decode_intents(entry.value, owner))

    def key(self, of: int) -> str:
        return keys.replica_deletions(of, self.ground.intents_seq)

    def op(self, of: int, key: str) -> Op | None:
        waiting = self.state.intents.undurable(of)
        return Put(key, small.encode_intents(waiting), self.ground.at(key, 0)) if waiting else None

    def stands(self, of: int, version: int) -> None:
        self.state.intents.durable(of, self.ground.intents_seq, version)


class DoneIntentKeys(KeyKind):
    """A key of intents of which none is open. `of`: broker and number of the key."""

    dirty = "intents done"

    def key(self, of: KeyId) -> str:
        return keys.replica_deletions(*of)

    def op(self, of: KeyId, key: str) -> Op | None:
        known = self.state.intents.keys.get(of)
        if known is None or self.ground.is_gone(key, known.version):
            return None  # another client removed it
        return Delete(key, self.ground.at(key, known.version))

    def stands(self, of: KeyId, version: int) -> None:  # noqa: ARG002
        self.state.intents_are_gone(of)
