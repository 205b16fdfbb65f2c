"""Candidacy: checks that this version may lead over the tree, the election, and the claim of the token. The loop then
leads the term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...stores.base import ABSENT, Check, Corrupt, Delete, Entry, Op, Put, as_read
from ...stores.recipes import EPOCH_KEY, LEADER_KEY, Fence, Seat, decode_epoch, elect, hold
from ..codec import BadValue, keys
from ..codec.migration import decode_marker
from ..codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from ..codec.small import decode_controller, encode_controller, is_of_kraft
from .cannot_lead import CannotLead
from .committer import Committer, End
from .services import Services

CLAIMS_MAX: Final = 3
_ZOOKEEPER: Final = (
    "controller {active_id} holds it by its session, as a Kafka broker does: this controller stands by until that "
    "session ends, or until it is started with depose_kafka_controller"
)
_KRAFT: Final = (
    "KRaft's controller {active_id} holds it: the brokers are being migrated from ZooKeeper, or have been. This "
    "controller stands by, since it only controls brokers in ZooKeeper mode: end it, or take the migration back as "
    "Kafka's documentation says, which deletes the key"
)
FORMAT: Final = b'{"version":1,"min_controller":1}'  # written by the first claim of a tree


@attrs.frozen
class Another:
    """Another controller leads. `active_id` None: its id is not known."""

    active_id: int | None


@attrs.frozen
class Won:
    """The election was won in a session, and the token was claimed."""

    committer: Committer
    controller_epoch: int
    session_id: int | None
    now_ms: int


class Candidacy:
    """The candidacy of one controller. `findings`: the loop's; they say why it does not take part in elections."""

    def __init__(self, services: Services, findings: dict[str, str]) -> None:
        self._services = services
        self._findings = findings
        # Once: a cluster that is handed back to Kafka afterwards is not taken again by a process that still runs.
        self._may_depose = services.settings.depose_kafka_controller

    def stand(self) -> Another | Won | None:
        """Take part in the election if no controller leads. None: it was not won, or this controller must not lead.
        Raises CannotLead if the token could not be claimed, or a needed key may not be read, and the store's errors."""
        services, timeout_s = self._services, self._services.read_timeout_s
        now_ms, session_id, seat = services.clock.now_ms(), services.store.session.session_id, services.seat
        entry = services.store.get(seat.session_key, sync=True, timeout_s=timeout_s)
        self._findings.pop(LEADER_KEY, None)
        self._findings.pop(keys.MIGRATION, None)
        if entry is not None and entry.owner not in {None, session_id}:
            return self._another(entry)
        kafkas, given = self._held_by_kafka(seat), self._handed_back(seat)
        if self._is_kafkas(kafkas, given):
            return self._kafka_leads(kafkas, entry)
        if services.stand_by_only:
            return Another(None) if entry is None else self._another(entry)
        services.store.ask_again(services.elapsed_ms(), timeout_s)
        if entry is not None and entry.owner is None:
            return self._another(entry)
        is_moved, tree_format = self._is_moved(), self._format()
        if tree_format is None or is_moved:
            if entry is not None:  # the marker or format was written between the election and the claim
                self.give_up()
            return None
        value = encode_controller(services.controller_id, now_ms)
        if kafkas is not None:
            self._depose(entry, value)
        won = elect(services.store, value, services.id_source.nonce(), timeout_s, seat)
        if won is None:
            return None
        committer = Committer(services.store, Fence(won), services.clock, services.id_source)
        if services.settings.resume_foreign_targets:
            committer.gaps = ()  # or the next controller would drop what this one resumes
        _claim(
            committer,
            (
                tree_format,
                Check(keys.MIGRATION, ABSENT),  # it may have been written since it was read
                *([] if given is None else [Delete(keys.HANDED_BACK, given.version)]),
            ),
        )
        self._may_depose = False
        return Won(committer, won.controller_epoch, session_id, now_ms)

    def taken(self) -> str | None:
        """The key that this controller lost, though it won it; None: it holds all of them. Raises what the store
        raises."""
        store, seat, timeout_s = self._services.store, self._services.seat, self._services.read_timeout_s
        held = store.get(seat.session_key, sync=True, timeout_s=timeout_s)
        if held is None or held.owner != store.session.session_id:
            return seat.session_key
        if seat.public_key is None:
            return None
        shown = store.get(seat.public_key, sync=True, timeout_s=timeout_s)
        is_ours = shown is not None and shown.owner is None and shown.value == held.value
        return None if is_ours else seat.public_key

    def _handed_back(self, seat: Seat) -> Entry | None:
        """The key that says that the cluster was given back to Kafka's controller."""
        self._findings.pop(keys.HANDED_BACK, None)
        if seat.public_key is None:
            return None
        entry = self._services.store.get(keys.HANDED_BACK, sync=True, timeout_s=self._services.read_timeout_s)
        if entry is not None and not self._may_depose:
            self._findings[keys.HANDED_BACK] = (
                "stands by: the cluster was handed back to Kafka's own controller; a controller that is started with "
                "depose_kafka_controller takes it again"
            )
        return entry

    def _held_by_kafka(self, seat: Seat) -> Entry | None:
        """`/controller`, where it is expected to stay, and belongs to a session or to KRaft's controller. A session is
        that of a Kafka broker, or of a controller that does not expect Kafka brokers."""
        if seat.public_key is None:
            return None
        entry = self._services.store.get(seat.public_key, sync=True, timeout_s=self._services.read_timeout_s)
        return entry if entry is not None and (entry.owner is not None or is_of_kraft(entry.value)) else None

    def _is_kafkas(self, kafkas: Entry | None, given: Entry | None) -> bool:
        """Whether Kafka's controller must not be deposed. That of KRaft never is: ZooKeeper has a copy of its metadata
        at most."""
        if kafkas is not None and is_of_kraft(kafkas.value):
            return True
        return not self._may_depose and (kafkas is not None or given is not None)

    def _kafka_leads(self, kafkas: Entry | None, held: Entry | None) -> Another:
        """Kafka's controller leads, or is about to."""
        if held is not None:
            self.give_up()  # `/controller` was taken from this controller
        if kafkas is None:
            return Another(None)
        active_id = decode_controller(kafkas.value)
        said = _KRAFT if is_of_kraft(kafkas.value) else _ZOOKEEPER
        self._findings[LEADER_KEY] = said.format(active_id=active_id)
        return Another(active_id)

    def _depose(self, held: Entry | None, value: bytes) -> None:
        """Kafka's controller leads no more, and no Kafka broker is elected in between."""
        services, key = self._services, self._services.seat.session_key
        expected = as_read(held)
        with_it = [Put(key, value, expected, ephemeral=True)]
        hold(services.store, value, Check(keys.MIGRATION, ABSENT), lambda _: with_it, services.read_timeout_s)

    def _another(self, entry: Entry) -> Another:
        active_id = decode_controller(entry.value)
        if active_id is None:
            self._findings[LEADER_KEY] = f"its holder does not give an id: {entry.value!r:.100}"
        elif active_id == self._services.controller_id:
            self._findings[LEADER_KEY] = (
                f"held by another session of controller {active_id}: a former process, whose session will time "
                "out, or another controller with this node_id"
            )
        if active_id is not None and self._services.notices.wants_controller:
            self._tell_host(active_id)
        return Another(active_id)

    def _tell_host(self, active_id: int) -> None:
        entry = self._services.store.get(EPOCH_KEY, timeout_s=self._services.read_timeout_s)
        try:
            epoch = None if entry is None else decode_epoch(entry.value)
        except Corrupt:
            epoch = None  # reported by the controller that takes part in the election
        if epoch is not None:
            self._services.notices.controller_changed(active_id, epoch)

    def _format(self) -> Op | None:
        """The op of the claim for the format of the tree: a check that it is still what was read, or a write if there
        is none. None: the tree was written by a version after which this one must not lead; it only stands by."""
        entry = self._services.store.get(FORMAT_KEY, sync=True, timeout_s=self._services.read_timeout_s)
        self._findings.pop(FORMAT_KEY, None)
        if entry is None:
            return Put(FORMAT_KEY, FORMAT, ABSENT)
        try:
            least = decode_format(entry.value)
        except BadValue as error:  # a later version may use another form, and would have this one stand by
            self._findings[FORMAT_KEY] = f"stands by, since this cannot be read: {error}"
            return None
        if least <= CONTROLLER_VERSION:
            return Check(FORMAT_KEY, entry.version)
        self._findings[FORMAT_KEY] = (
            f"stands by: the tree needs a controller of version {least}, this one has {CONTROLLER_VERSION}"
        )
        return None

    def _is_moved(self) -> bool:
        """Whether no controller may lead over this store, because the cluster left it, or is not complete in it yet."""
        entry = self._services.store.get(keys.MIGRATION, sync=True, timeout_s=self._services.read_timeout_s)
        if entry is None:
            return False
        try:
            self._findings[keys.MIGRATION] = f"stands by: {decode_marker(entry.value)}"
        except BadValue as error:
            self._findings[keys.MIGRATION] = f"stands by, since this cannot be read: {error}"
        return True

    def give_up(self) -> None:
        """Give the leadership up: the next controller is elected at once. Raises what the store raises."""
        store, held, timeout_s = self._services.store, self._services.seat.session_key, self._services.read_timeout_s
        entry = store.get(held, timeout_s=timeout_s)
        if entry is not None and entry.owner == store.session.session_id:
            store.commit([Delete(held, entry.version)], timeout_s=timeout_s)


def _claim(committer: Committer, ops: Sequence[Op]) -> None:
    """Claim the token before anything is loaded: afterwards, no commit of an older term is applied."""
    committer.begin(ops)
    result = committer.try_once()
    for _ in range(CLAIMS_MAX - 1):
        if result.end is End.IN_FLIGHT:
            result = committer.try_once()
    if result.end is not End.APPLIED:
        raise CannotLead(f"the token could not be claimed: {result.why}")
