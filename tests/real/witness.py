"""Everything that was ever written to a real server, held against the invariants of the rig.

What the server wrote down (`zookeeper_log`, `etcd_log`) is written again, commit by commit and under the same
revisions, to a memory server, from which `kedge.controller.rig.invariants` reads it as it reads a simulation: the same
checks, on a past that no client of ours had a hand in. So epochs that fall, a commit of a deposed controller, a member
that goes before the targets are in sync, a delete that is not durable are found in whatever version of whatever key.

Who wrote: on ZooKeeper a session, on etcd the term that the commit names, since etcd keeps no sessions of puts.
"""

from __future__ import annotations

import json
from typing import Final

from kedge.controller.codec import BadValue, keys, small
from kedge.controller.rig.server import FOREIGN, RecordingServer
from kedge.stores import ABSENT, PRESENT, Check, Delete, MemoryStore, Op, Put
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from tests.real.writes import Checked, Deleted, Transaction, Write, Written

CALL_S: Final = 10.0


class Shadow(RecordingServer):
    """The past, written again. `told`: how many transactions were taken in."""

    def __init__(self) -> None:
        super().__init__(
            versioning="per_key", session_timeout_s=1e9, value_bytes_max=10_000_000, commit_ops_max=1_000_000
        )
        self.told = 0
        self._client = MemoryStore(self)
        self._sessions: dict[int, str] = {}

    def take_in(self, transaction: Transaction) -> None:
        """Write it again."""
        self.told += 1
        ops = list(self._ops(transaction))
        if any(isinstance(op, Put | Delete) for op in ops):
            self.table.revision = transaction.revision - 1  # created and revision are the server's own
            with self.speaking(self._sender(transaction)):
                self._client.commit(ops, timeout_s=CALL_S)

    def _ops(self, transaction: Transaction) -> list[Op]:
        last: dict[str, Write] = {}
        for write in transaction.writes:
            if not isinstance(write, Checked) or write.key not in last:
                last[write.key] = write
        found = [self._op(key, write) for key, write in last.items()]
        if transaction.session is None and TOKEN_KEY in last:
            found.append(Check(EPOCH_KEY, PRESENT) if EPOCH_KEY not in last else None)  # etcd keeps no compares
        return [op for op in found if op is not None]

    def _op(self, key: str, write: Write) -> Op | None:
        is_there = key in self.table.rows
        if isinstance(write, Checked):
            return Check(key, PRESENT) if is_there else None
        # A node without data is a mere parent, but for the one kind of key that Kafka writes so.
        is_empty_key = key.startswith(f"{keys.DELETE_TOPICS}/")
        if isinstance(write, Deleted) or (write.value is None and not is_empty_key):
            return Delete(key, PRESENT) if is_there else None
        if key.startswith(f"{keys.CONFIG_TOPICS}/") and not _is_config(write.value or b""):
            return Delete(key, PRESENT) if is_there else None  # no program reads settings there
        is_ephemeral = self.table.rows[key][4] is not None if is_there else write.owner is not None
        return Put(key, write.value or b"", PRESENT if is_there else ABSENT, is_ephemeral)

    def _sender(self, transaction: Transaction) -> str:
        written = {write.key: write for write in transaction.writes if isinstance(write, Written)}
        for key in written:
            if key.startswith(f"{keys.BROKER_IDS}/"):
                return f"broker {key.rpartition('/')[2]}"
            if key == keys.BROKER_SEQUENCE:
                return "broker that asks for an id"  # by its host's controller, which may stand by: no fence
        if transaction.session is not None:
            if LEADER_KEY in written:
                self._sessions[transaction.session] = f"the controller of session {transaction.session:x}"
            return self._sessions.get(transaction.session, FOREIGN)
        if {EPOCH_KEY, LEADER_KEY} <= written.keys():
            return f"the controller of term {int(written[EPOCH_KEY].value or b'')}"
        if TOKEN_KEY in written:
            return f"the controller of term {json.loads(written[TOKEN_KEY].value or b'')['controller_epoch']}"
        return FOREIGN


def _is_config(value: bytes) -> bool:
    try:
        small.decode_config(value)
    except BadValue:
        return False
    return True
