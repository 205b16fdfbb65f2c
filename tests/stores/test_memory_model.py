from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Delete,
    Entry,
    Expect,
    Invalid,
    MemoryServer,
    MemoryStore,
    Op,
    Put,
    Version,
)

KEYS = ("/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/ab")


@attrs.define
class Model:
    """What a memory store should hold, in the plainest way: a dict, looked through from end to end."""

    per_key: bool
    revision: int = 0
    entries: dict[str, Entry] = attrs.Factory(dict)

    def fits(self, key: str, expect: Expect) -> bool:
        entry = self.entries.get(key)
        if expect is ABSENT or entry is None:
            return expect is ABSENT and entry is None
        return expect is PRESENT or entry.version == expect

    def first_failing(self, ops: list[Op]) -> int | None:
        return next((index for index, op in enumerate(ops) if not self.fits(op.key, op.expect)), None)

    def refuses(self, ops: list[Op], session_id: int) -> bool:
        known = ((op, self.entries[op.key]) for op in ops if isinstance(op, Put) and op.key in self.entries)
        return any(entry.owner != (session_id if op.ephemeral else None) for op, entry in known)

    def apply(self, ops: list[Op], session_id: int) -> None:
        self.revision += any(not isinstance(op, Check) for op in ops)
        for op in ops:
            if isinstance(op, Delete):
                del self.entries[op.key]
            elif isinstance(op, Put):
                old = self.entries.get(op.key)
                generation = 0 if old is None else old.generation + 1
                created = self.revision if old is None else old.created
                version = Version(generation + 1 if self.per_key else self.revision)
                owner = session_id if op.ephemeral else None
                self.entries[op.key] = Entry(op.key, op.value, version, generation, created, owner)

    def end(self, session_id: int) -> None:
        kept = {key: entry for key, entry in self.entries.items() if entry.owner != session_id}
        self.revision += len(kept) < len(self.entries)
        self.entries = kept

    def below(self, prefix: str) -> list[Entry]:
        head = "/" if prefix == "/" else prefix + "/"
        return sorted((e for k, e in self.entries.items() if k.startswith(head)), key=lambda entry: entry.key)

    def children(self, prefix: str) -> list[str]:
        depth = 1 if prefix == "/" else prefix.count("/") + 1
        return sorted({entry.key.split("/")[depth] for entry in self.below(prefix)})


_expects = st.one_of(st.just(ABSENT), st.just(PRESENT), st.integers(1, 12).map(Version))
_ops = st.lists(
    st.one_of(
        st.builds(Put, st.sampled_from(KEYS), st.binary(max_size=3), _expects, st.booleans()),
        st.builds(Delete, st.sampled_from(KEYS), _expects.filter(lambda expect: expect is not ABSENT)),
        st.builds(Check, st.sampled_from(KEYS), _expects),
    ),
    max_size=4,
    unique_by=lambda op: op.key,
)
_steps = st.lists(st.one_of(st.tuples(st.sampled_from([0, 1]), _ops), st.sampled_from(["expire 0", "expire 1"])))


@pytest.mark.slow
@given(st.booleans(), _steps)
def test_any_sequence_of_commits_matches_the_model(per_key: bool, steps: list[tuple[int, list[Op]] | str]) -> None:
    """Whatever two clients commit and whenever their sessions end, the store holds what a plain dict would hold, and
    refuses what it would refuse, for the same op."""
    server = MemoryServer(versioning="per_key" if per_key else "global")
    clients = [MemoryStore(server), MemoryStore(server)]
    model = Model(per_key)
    for step in steps:
        if isinstance(step, str):
            client = clients[int(step[-1])]
            model.end(client.session.session_id)
            client.expire()
        else:
            _commit(model, clients[step[0]], step[1])
        assert list(clients[0].snapshot("/", timeout_s=1).entries) == model.below("/")
        assert server.revision == model.revision
    for prefix in ("/", *KEYS):
        assert list(clients[1].snapshot(prefix, timeout_s=1).entries) == model.below(prefix)
        assert clients[1].children(prefix, timeout_s=1) == model.children(prefix)
    assert clients[0].get_many(KEYS, timeout_s=1) == [model.entries.get(key) for key in KEYS]


def _commit(model: Model, client: MemoryStore, ops: list[Op]) -> None:
    session_id = client.session.session_id
    failing = model.first_failing(ops)
    try:
        commit = client.commit(ops, timeout_s=1)
    except Conflict as conflict:
        assert (conflict.index, conflict.key) == (failing, ops[conflict.index].key)  # noqa: PT017 - either may come
    except Invalid:
        assert failing is None
        assert model.refuses(ops, session_id)
    else:
        assert failing is None
        assert not model.refuses(ops, session_id)
        model.apply(ops, session_id)
        versions = [model.entries[op.key].version if isinstance(op, Put) else None for op in ops]
        assert list(commit.versions) == versions
