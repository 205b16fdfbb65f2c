"""Dirty keys -> ops: each key is encoded once from the state, however many records changed it.

`cost_max` is an upper bound, known before anything is encoded, of what a dirty key adds to a commit, so that a batch
never exceeds the declared limits of the store (`fits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from ...stores.base import ABSENT, Entry, Op, Put, Version
from ..codec import keys, partition_state, small
from ..codec.partition_state import ID_BYTES_MAX
from ..keys.states import STATE_KEY_BYTES_MAX, StateKeys
from ..keys.table import KeyKinds
from ..state import Batch, DirtyKey

FIXED_BYTES: Final = 400  # the two ops of the fence
FIXED_OPS: Final = 2


class Writer:
    """Turns the batch of a state into ops, and the versions of a commit into versions of the state."""

    def __init__(self, kinds: KeyKinds) -> None:
        self.state, self._ground, self._kinds = kinds.state, kinds.context, kinds.by_word
        self._versions = cast(Sequence[Version], self.state.versions.states)

    def cost_max(self, dirty_key: DirtyKey) -> int:
        """An upper bound of the bytes that `dirty_key` adds to a commit."""
        kind, of = dirty_key
        return self._kinds[kind].cost_max(of)

    def fits(self, batch: Batch, bytes_max: int) -> bool:
        """Whether the writes of `batch` are within `bytes_max`, by the bounds of its keys in the present state, and the
        intents of each broker within their key."""
        rows, bytes_left = self.state.rows, bytes_max - FIXED_BYTES
        for dirty_key in batch.dirty_keys:
            kind, of = dirty_key
            if kind == "state" and type(of) is int and (row := rows[of]) is not None and row.extra is None:
                move = row.move  # most keys are states; this is `States.cost_max`, inlined
                ids = len(row.isr) if move is None else len(row.isr) + len(move.target) + len(move.origin)
                bytes_left -= STATE_KEY_BYTES_MAX + len(row.topic) + ID_BYTES_MAX * ids
                continue
            bytes_left -= self.cost_max(dirty_key)
            if kind == "intents" and type(of) is int:
                size = sum([small.intent_bytes_max(intent) for intent in self.state.intents.undurable(of)])
                if size > small.INTENTS_BYTES_MAX:
                    return False
                bytes_left -= size
        return bytes_left >= 0

    def ops(self, batch: Batch, seq: int) -> tuple[list[DirtyKey], list[Op]]:
        """The dirty keys that need a write, and their ops, in the same order.

        Most are states of partitions, which are encoded here: `States.op`, inlined."""
        state, kinds, self._ground.seq = self.state, self._kinds, seq
        rows, versions, epoch = state.rows, self._versions, state.controller_epoch
        dirty_keys: list[DirtyKey] = []
        ops: list[Op] = []
        for dirty_key in batch.dirty_keys:
            name, of = dirty_key
            op: Op | None
            if name == "state" and type(of) is int and (row := rows[of]) is not None and row.isr:
                at = versions[of]
                key, value = keys.state(row.topic, row.partition), partition_state.encode(row, epoch)
                op = Put(key, value, at or ABSENT)
            else:
                kind = kinds[name]
                op = kind.op(of, kind.key(of))
            if op is not None:
                dirty_keys.append(dirty_key)
                ops.append(op)
        return dirty_keys, ops

    def found(self, dirty_key: DirtyKey, op: Op, entry: Entry | None) -> tuple[bool, Version | None]:
        """Of a key that was read after a commit whose reply was lost: whether it is as `op` left it, and the version to
        record. Without one the key is adopted with its content only; state keys are distinguished by generation."""
        kind = self._kinds[dirty_key[0]]
        version = None if entry is None else entry.version
        if entry is None:
            return not isinstance(op, Put), None
        # another program may have written the same bytes since then
        if isinstance(op, Put) and entry.value == op.value and self._is_next(dirty_key, entry):
            return True, version
        return False, version if kind.name == StateKeys.name or kind.read_event is None else None

    def _is_next(self, dirty_key: DirtyKey, entry: Entry) -> bool:
        """Whether a state key was written exactly once since: by the commit in question. Of other keys only the content
        counts."""
        kind, of = dirty_key
        if kind != "state":
            return True
        number, versions = cast(int, of), self.state.versions
        return entry.generation == (versions.generations[number] + 1 if versions.states[number] else 0)

    def committed(
        self, dirty_keys: Sequence[DirtyKey], ops: Sequence[Op], versions: Sequence[Version | None], seq: int
    ) -> None:
        """Record the `versions` of a commit of `dirty_keys` in the state."""
        state, kinds, self._ground.seq = self.state, self._kinds, seq
        states, generations = state.versions.states, state.versions.generations
        has_gone = state.deletions or state.reducing.purged
        for (kind, of), op, version in zip(dirty_keys, ops, versions, strict=True):
            if version and kind == "state" and type(of) is int and not has_gone:  # `StateKeys.committed`, inlined
                generations[of] = generations[of] + 1 if states[of] else 0
                states[of] = version
            else:
                kinds[kind].committed(of, op.key, version or 0)
