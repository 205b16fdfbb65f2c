"""The move of a cluster to another store, while no controller runs (docs/store-commands.md).

Rules
* `check` only reads. It refuses stores that the move does not fit.
* `run` claims `/controller` of both stores as a controller does: by its session and under a new epoch. So no controller
  leads meanwhile, and the commits of a former one, or of another run, are refused.
* Until the last but one commit the former store is as it was, and the new one has a marker with which no controller
  leads over it. That commit marks the former store as moved, under its fence; the last one removes the other marker. So
  the cluster is led over one store at most, and a run that ended early is run again.
* What the new store has is compared with what the former one has now, and the difference is written, until there is
  none. A first run and one that continues another are the same.
* A new store counts versions from the beginning: those of partitions (partition epochs) and of registrations (broker
  epochs). So all leader epochs are raised, by which brokers know that a request is newer, and every broker counts as
  restarted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import attrs

from ...stores.base import ABSENT, Check, Delete, Entry, Invalid, MetadataStore, Put, StoreError, Unavailable, as_read
from ...stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, ElectedTerm, Fence, elect
from ...stores.transfer import PATIENCE_S, NotEmpty, check_fits, may_load, write_all
from ...stores.tree import parents_of
from ..codec import BadValue, keys, partition_state, small
from ..codec.migration import Marker, decode_marker, encode_holder, encode_marker, is_holder
from ..codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from .clock import IdSource
from .gc_tuning import collector_off

CALL_S: Final = 120.0
ROUNDS_MAX: Final = 5  # since other programs may write to the former store
_NAMED_MAX: Final = 5
_OWN: Final = frozenset({LEADER_KEY, EPOCH_KEY, TOKEN_KEY, keys.MIGRATION})  # each store has its own
_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")


class Migration:
    """One run of the move from `source` to `target`. `names`: their URLs in markers, without secrets. `told` is called
    with the number of written keys and of all keys to write. `save` makes the content of a store last where commits do
    not, or raises. `patience_s`: how long copying goes on without contact. The caller closes the stores, which frees
    `/controller`."""

    def __init__(
        self,
        source: MetadataStore,
        target: MetadataStore,
        names: tuple[str, str],
        *,
        id_source: IdSource,
        told: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005
        save: Callable[[MetadataStore], None] = lambda store: None,  # noqa: ARG005
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._source, self._target = source, target
        self._names = names
        self._id_source = id_source
        self._told, self._save = told, save
        self._patience_s = patience_s
        self._is_complete = False  # the target has everything, and only its marker is left

    def check(self) -> None:
        """Write nothing; raise Invalid if these stores do not fit, and the stores' errors."""
        here, there = _marker(self._source, "FROM"), _marker(self._target, "TO")
        if here is not None and not (here.is_moved and _is_copy(there, here.migration)):
            raise Invalid(f"FROM: {here}")
        if here is None and there is not None and (there.is_moved or there.other != self._names[0]):
            raise Invalid(f"TO: {there}")
        if there is None:
            _demand_empty(self._target)
        for side, store in (("FROM", self._source), ("TO", self._target)):
            _demand_no_leader(store, side)
        self._is_complete = here is not None

    def run(self) -> int:
        """Move the cluster, after `check`; return how many keys it has there (0: a former run had moved them). Raises
        Invalid or TooLarge for a key that cannot be moved; nothing was copied then. After another of the stores'
        errors run it again, from `check` on."""
        with collector_off():
            count = 0 if self._is_complete else self._copy()
        marker = _read(self._target, keys.MIGRATION)
        if marker is not None:
            self._target.commit([Delete(keys.MIGRATION, marker.version)], timeout_s=CALL_S)
        return count

    def _copy(self) -> int:
        unmarked = Check(keys.MIGRATION, ABSENT)  # another run may have marked it since `check`
        former = self._claim(self._source, self._names[1], unmarked)
        found = self._read_source()
        check_fits((Put(key, value, ABSENT) for key, value in found.wanted.items()), self._target.capabilities)
        marker = Marker(self._id_source.nonce(), self._names[0], is_moved=False)
        self._begin(former, marker)
        count = self._until_equal(found, self._claim(self._target, self._names[0]))
        self._save(self._target)
        moved = encode_marker(Marker(marker.migration, self._names[1], is_moved=True))
        attempt = former.attempt([Put(keys.MIGRATION, moved, ABSENT)], self._id_source.nonce())
        self._source.commit(attempt.ops, timeout_s=CALL_S)
        self._save(self._source)
        return count

    def _begin(self, former: Fence, marker: Marker) -> None:
        """The new store has the marker, and its epoch and the numbers of its commits continue those of the former."""
        assert former.token is not None, "the claim wrote it"
        values = {keys.MIGRATION: encode_marker(marker), EPOCH_KEY: b"%d" % former.term.controller_epoch}
        values[TOKEN_KEY] = former.token.encode()
        entries = self._target.get_many(list(values), timeout_s=CALL_S)
        puts = [Put(*item, as_read(entry)) for item, entry in zip(values.items(), entries, strict=True)]
        self._target.commit(puts, timeout_s=CALL_S)

    def _claim(self, store: MetadataStore, other: str, *checks: Check) -> Fence:
        """Take `/controller` under a new epoch, and the token with it, so that no epoch is left out."""
        term: ElectedTerm | None = elect(store, encode_holder(other), self._id_source.nonce(), CALL_S)
        if term is None:
            raise Unavailable(f"{LEADER_KEY} was taken by a controller or by another run meanwhile", key=LEADER_KEY)
        fence = Fence(term)
        attempt = fence.attempt(checks, self._id_source.nonce())
        fence.done(attempt, store.commit(attempt.ops, timeout_s=CALL_S))
        return fence

    def _until_equal(self, found: _Found, fence: Fence) -> int:
        """Write until the target has what the source has; return how many keys."""
        guard = Check(EPOCH_KEY, fence.term.epoch_version)  # this run is still the one that writes there
        for _ in range(ROUNDS_MAX):
            self._write(found.wanted, guard)
            again = found if self._is_unchanged(found) else self._read_source()
            if again.wanted == found.wanted and self._holds(found.wanted):
                return len(found.wanted)
            found = again
        raise StoreError(f"FROM or TO was written by others in each of {ROUNDS_MAX} rounds: end what writes there")

    def _write(self, wanted: Mapping[str, bytes], guard: Check) -> None:
        known = _lasting(self._target.snapshot("/", timeout_s=CALL_S).entries)
        puts = [
            Put(key, value, as_read(known.get(key)))
            for key, value in wanted.items()
            if key not in known or known[key].value != value
        ]
        surplus = sorted(known.keys() - wanted.keys(), reverse=True)  # a store may keep a key that has others below it
        deletes = [Delete(key, known[key].version) for key in surplus]
        total = len(puts) + len(deletes)
        shared: Any = {"timeout_s": CALL_S, "guard": [guard], "patience_s": self._patience_s}
        write_all(self._target, puts, told=lambda done: self._told(done, total), **shared)
        write_all(self._target, deletes, in_flight=1, told=lambda done: self._told(len(puts) + done, total), **shared)

    def _holds(self, wanted: Mapping[str, bytes]) -> bool:
        """Whether the target has these keys with these values."""
        return self._target.get_columns(list(wanted), timeout_s=CALL_S).values == list(wanted.values())

    def _is_unchanged(self, found: _Found) -> bool:
        """Whether nothing was written to the source since then: a cheap proof, which needs a server without others."""
        now = self._source.snapshot(keys.MIGRATION, timeout_s=CALL_S)
        return found.is_of_one_instant and now.cursor == found.cursor

    def _read_source(self) -> _Found:
        """Raises Invalid."""
        snapshot = self._source.snapshot("/", timeout_s=CALL_S)
        entries = _lasting(snapshot.entries)
        below = [key for key in entries if key.endswith(keys.MIGRATION)]
        if below:
            raise Invalid(f"TO is below FROM, which has {below[0]}: choose another TO, and remove that one")
        _demand_known(entries.get(FORMAT_KEY))
        return _Found(_moved(entries), snapshot.cursor, snapshot.consistent)


@attrs.frozen
class _Found:
    """What the source had: the values that the target must have, and the instant."""

    wanted: Mapping[str, bytes]
    cursor: int
    is_of_one_instant: bool


# --- what is copied, and how it changes


def _lasting(entries: Collection[Entry]) -> dict[str, Entry]:
    """The keys that are copied: not those of sessions, of leadership, and parents without data. Notifications of
    config changes stay behind too: programs read the configs when they connect to the new store, which numbers these
    keys itself."""
    has_empty = not all(entry.value for entry in entries)
    parents = parents_of(entry.key for entry in entries) if has_empty else frozenset[str]()
    return {
        entry.key: entry
        for entry in entries
        if entry.owner is None
        and entry.key not in _OWN
        and (entry.value or entry.key not in parents)
        and not entry.key.startswith(keys.CONFIG_CHANGES + "/")
    }


def _moved(entries: Mapping[str, Entry]) -> dict[str, bytes]:
    """The values in the new store. Raises Invalid if a leader epoch cannot be raised."""
    found = {key: entry.value for key, entry in entries.items()}
    states = [key for key in found if key.endswith("/state") and keys.partition_of(key) is not None]
    broken = list[str]()
    for key, value in zip(states, partition_state.raised([found[key] for key in states]), strict=True):
        if isinstance(value, BadValue):
            broken.append(f"{key}: {value}")
        else:
            found[key] = value
    if broken:
        more = f"; and {len(broken) - _NAMED_MAX} more" if len(broken) > _NAMED_MAX else ""
        raise Invalid(f"FROM has leader epochs that cannot be raised: {'; '.join(broken[:_NAMED_MAX])}{more}")
    for key in found:
        if key.startswith(keys.ADMITTED + "/"):
            found[key] = small.encode_admitted(0)  # which no registration has
    if keys.BROKER_SEQUENCE in found:  # counted by how often it is written, or by its value
        value, written = found[keys.BROKER_SEQUENCE], entries[keys.BROKER_SEQUENCE].generation
        found[keys.BROKER_SEQUENCE] = b"%d" % max(written, int(value) if _DECIMAL.fullmatch(value) else 0)
    return found


def _demand_known(entry: Entry | None) -> None:
    """A later version of Kedge may have written keys that this one would move wrongly."""
    try:
        least = 0 if entry is None else decode_format(entry.value)
    except BadValue as error:
        raise Invalid(f"FROM: {FORMAT_KEY} cannot be read: {error}") from error
    if least > CONTROLLER_VERSION:
        raise Invalid(f"FROM needs a controller of version {least}, and this is {CONTROLLER_VERSION}: upgrade Kedge")


# --- the state of both stores


def _marker(store: MetadataStore, side: str) -> Marker | None:
    entry = _read(store, keys.MIGRATION)
    try:
        return None if entry is None else decode_marker(entry.value)
    except BadValue as error:
        raise Invalid(f"{side}: {keys.MIGRATION} cannot be read: {error}", key=keys.MIGRATION) from error


def _is_copy(marker: Marker | None, migration: str) -> bool:
    return marker is not None and not marker.is_moved and marker.migration == migration


def _demand_no_leader(store: MetadataStore, side: str) -> None:
    leader = _read(store, LEADER_KEY)
    if leader is None:
        return
    if is_holder(leader.value):
        raise Invalid(
            f"{side}: another `kedge store migrate` holds {LEADER_KEY}, or one that was killed: run this again when it "
            f"has ended, or when the session of the killed one has ended ({store.session_timeout_s:g} s)"
        )
    leads = f"controller {small.decode_controller(leader.value)} leads there"
    raise Invalid(f"{side}: {leads}: close every controller on that store first; brokers may run on")


def _demand_empty(target: MetadataStore) -> None:
    try:
        may_load(target, {}, resume=False, timeout_s=CALL_S)
    except NotEmpty as error:
        raise Invalid(f"TO: {error}", key=error.key) from None


def _read(store: MetadataStore, key: str) -> Entry | None:
    return store.get(key, sync=True, timeout_s=CALL_S)
