"""The loop of a controller: stand by, be elected, lead, be demoted, stand by again.

`step` is one pass, driven by `poll_once` on the caller's thread or by a thread of the runtime. Sessions are watched
beside it (`session_event`, `check_session`), so that callers are answered even while the loop waits for the store.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from ...stores.base import Changed, Depth, Resync, SessionChanged, SessionState, StoreError, StoreEvent
from ...stores.recipes import LEADER_KEY
from ..keys.intents import NewIntentKeys
from ..keys.table import KINDS
from ..model.errors import NotController
from .candidacy import Another, Candidacy, Won
from .cannot_lead import CannotLead
from .foreign_targets import foreign_targets, said_of
from .inbox import Hint, Item
from .listing import CommittedMoves
from .loader import load
from .registrar import Registrar
from .services import Services
from .term import Term

_log = logging.getLogger(__name__)

ITEMS_MAX: Final = 10_000  # of the inbox, per pass
STORE_RETRY_S: Final = 0.05
DEFECT: Final = "defect"  # of the findings: what ended a term that no other controller ended
STAND_AGAIN_MS: Final = 100  # after an election that was not won, while no leader is known


class Loop:
    """The loop of one controller. `term`: its leadership, None while it stands by."""

    def __init__(self, services: Services, registrar: Registrar) -> None:
        self.services = services
        self.term: Term | None = None
        self.active_id: int | None = None
        self.controller_epoch: int | None = None
        self.driver: int | None = None  # the thread that runs a pass
        self.polled_by: int | None = None  # the thread that called `poll_once` last
        self.findings: dict[str, str] = {}
        self.silence: str | None = None  # why the store has not answered for the length of a session; None: it answers
        self._registrar = registrar
        self._was_driven = self._is_closed = False
        self._stand_at_ms = 0
        self._candidacy = Candidacy(services, self.findings)
        self._lock = threading.Lock()  # for `term`, `_lost` and `_losses`: another thread watches sessions
        self._lost: str | None = None
        self._losses = 0
        self._session_id: int | None = None  # in which the term was won
        self._suspended_at_s: float | None = None
        self._check_leader = False
        self._leader_keys = {LEADER_KEY, services.seat.session_key}
        self.subscription = services.store.subscribe(LEADER_KEY, Depth.SELF)
        if services.seat.session_key != LEADER_KEY:
            self.subscription.add(services.seat.session_key, Depth.SELF)
        for root, depth in (watched for kind in KINDS for watched in kind.roots):
            if depth is not None:
                self.subscription.add(root, depth)

    @property
    def is_active(self) -> bool:
        return self.term is not None and self._lost is None

    def not_controller(self) -> NotController:
        """The error for requests to a controller that does not lead."""
        if self._is_closed:
            return NotController(f"controller {self.services.controller_id} was closed")
        if not self._was_driven:
            hint = "it is not running: call start(), or poll_once() in a loop"
            return NotController(f"controller {self.services.controller_id} is not the active one; {hint}")
        other = None if self.active_id == self.services.controller_id else self.active_id
        if self.silence is not None:
            return NotController("no controller is active; its store does not answer", other)
        known = "none is known" if other is None else f"{other} is"
        return NotController(f"controller {self.services.controller_id} is not the active one, {known}", other)

    def is_driver(self, *, waits: bool) -> bool:
        """Whether the calling thread runs a pass, or (`waits`: it would block) is the one that runs them."""
        me = threading.get_ident()
        return me == self.driver or (waits and me == self.polled_by)

    def committed_moves(self) -> CommittedMoves | None:
        """The moves, for callers that need not wait for a pass of another thread; None if a pass must answer: in
        `poll_once` mode it also answers all earlier requests."""
        term = self.term
        is_driven = self.driver not in {None, threading.get_ident()}
        return term.moves if is_driven and term is not None and self.is_active else None

    # --- sessions: any thread of the runtime

    def hear(self, event: StoreEvent) -> None:
        """Process an event of the subscription."""
        if isinstance(event, SessionChanged):
            self.session_event(event)
        else:
            self.services.inbox.put(Hint(event))

    def session_event(self, event: SessionChanged) -> None:
        """A lost session ends the term at once; a suspended one does after the session time."""
        if event.state is SessionState.SUSPENDED:
            if self._suspended_at_s is None:
                self._suspended_at_s = self.services.clock.monotonic_s()
        elif event.state is SessionState.LOST:
            if self._session_id is None or event.session_id == self._session_id:  # not an older session
                self.lose("the session of the store was lost")
        else:
            self._suspended_at_s = self.silence = None
            self._stand_at_ms = 0
            self.services.inbox.wake()

    def check_session(self) -> None:
        """End the term by the own clock, since a client may learn of its lost session only after a reconnect."""
        since_s = self._suspended_at_s
        if since_s is not None and self.services.clock.monotonic_s() - since_s >= self.services.store.session_timeout_s:
            self._suspended_at_s = None
            self.silence = self.services.store.session.why
            self.lose("no contact with the store for the length of a session")

    def check_deadlines(self) -> None:
        """Answer requests whose deadline has passed, also while the loop waits for the store."""
        self.services.outstanding.expire(self.services.elapsed_ms())

    def lose(self, why: str) -> None:
        """End the term: pending requests fail with NOT_CONTROLLER now; the loop follows when its present call
        returns."""
        with self._lock:
            self._losses += 1
            if self.term is None or self._lost is not None:
                return
            self._lost = why
            self.term.is_over = True
        self.services.outstanding.fail_all(self.not_controller)
        self.services.inbox.wake()

    # --- the body

    def drain(self) -> None:
        """Take in the events of the subscription without waiting: `poll_once` mode."""
        self.driver = self.polled_by = threading.get_ident()
        try:
            self._drain()
        finally:
            self.driver = None

    def _drain(self) -> None:
        while (event := self.subscription.poll(0)) is not None:
            self.hear(event)
        self.check_session()
        self.check_deadlines()
        self.watch_registrations()

    def watch_registrations(self) -> None:
        """Register brokers of this host again whose session was lost."""
        self._registrar.watch()

    def resign(self) -> None:
        """Resign, so that the next controller is elected at once. The loop is not driven any more."""
        self._is_closed = True
        if self.term is not None:
            in_flight = self.term.is_in_flight
            self._drop("closed")
            if not in_flight:
                self._give_up_leadership()
        self.services.outstanding.fail_all(self.not_controller)
        self.subscription.close()

    def _give_up_leadership(self) -> None:
        try:
            self._candidacy.give_up()
        except (StoreError, CannotLead):
            _log.info(
                "controller %d: /controller was not deleted; it ends with the session", self.services.controller_id
            )

    def step(self, timeout_s: float) -> bool:
        """One pass: take in, decide, commit, publish, send. Waits up to `timeout_s` if there is nothing to do. Returns
        whether anything was done."""
        self.driver = threading.get_ident()
        self._was_driven = True
        try:
            worked = self._step(timeout_s)
            self.services.notices.send()
        except Exception as error:
            self.findings[DEFECT] = f"{type(error).__name__}: {error}"
            self.lose("a pass of the loop failed")  # the next term loads everything again
            raise
        else:
            return worked
        finally:
            self.driver = None

    def _step(self, timeout_s: float) -> bool:
        items = self.services.inbox.take(ITEMS_MAX, self._wait_s(timeout_s))
        self._leader_hints(items)
        if self._lost is not None:
            self._drop(self._lost)
        if self.term is None:
            return self._stand_by(items)
        return self._lead(self.term, items)

    def _wait_s(self, timeout_s: float) -> float:
        term = self.term
        if self._lost is not None or (term is not None and term.work.is_ready() and term.ready is None):
            return 0.0
        if term is not None and term.ready is not None:
            return min(timeout_s, STORE_RETRY_S)
        due_ms = self._stand_at_ms if term is None else term.next_due_ms()
        if due_ms is None:
            return timeout_s
        return min(timeout_s, max(0.0, (due_ms - self.services.elapsed_ms()) / 1000))

    def _leader_hints(self, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Hint) and _where(item.event) in self._leader_keys:
                self._stand_at_ms = 0
                self._check_leader = True

    def _lead(self, term: Term, items: list[Item]) -> bool:
        try:
            if self._check_leader:
                self._still_leader()
            return term.step(items)
        except CannotLead as deposed:
            self._drop(str(deposed))
            return True

    def _still_leader(self) -> None:
        try:
            taken = self._candidacy.taken()
        except StoreError:
            return  # read again in the next pass
        self._check_leader = False
        if taken is not None:
            raise CannotLead(f"{taken} is not ours any more")

    def _drop(self, why: str) -> None:
        """End the term. Nothing is left half done: the next term loads what was committed."""
        _log.info("controller %d: demoted: %s", self.services.controller_id, why)
        self.services.journal.resigned(self.services.clock.now_ms(), why)
        with self._lock:
            if self.term is not None:
                self.term.is_over = True
            self.term, self._lost, self.controller_epoch = None, None, None
            self.active_id = self._session_id = None
        self.findings["demoted"] = why
        self.services.outstanding.fail_all(self.not_controller)
        self._stand_at_ms = 0

    # --- stand by, be elected

    def _stand_by(self, items: list[Item]) -> bool:
        if len(self.services.outstanding):
            self.services.outstanding.fail_all(self.not_controller)
        if self.services.elapsed_ms() < self._stand_at_ms:
            return bool(items)
        self._stand_at_ms = self.services.elapsed_ms() + STAND_AGAIN_MS
        if not self.services.store.session.connected:
            return bool(items)
        try:
            won = self._stand()
            self.findings.pop("election", None)
            return won or bool(items)
        except CannotLead as deposed:
            self.findings["election"] = str(deposed)
            if self.services.store.is_refused:
                self._give_up_leadership()  # another controller may be allowed to read what this one may not
            return bool(items)
        except StoreError as error:
            self.findings["election"] = f"{type(error).__name__}: {error}"
            return bool(items)

    def _stand(self) -> bool:
        """Take part in the election; return whether it was won and the cluster is loaded."""
        losses = self._losses
        outcome = self._candidacy.stand()
        if isinstance(outcome, Another):
            self.active_id = outcome.active_id
            patience_ms = int(self.services.store.session_timeout_s * 1000 / 3)
            self._stand_at_ms = self.services.elapsed_ms() + patience_ms
        if not isinstance(outcome, Won):
            return False
        self._take_over(outcome, losses)
        return True

    def _take_over(self, won: Won, losses: int) -> None:
        """Load, and lead. `losses`: the number of lost sessions when the election began."""
        services, committer, epoch, now_ms = self.services, won.committer, won.controller_epoch, won.now_ms
        loaded = load(services, epoch, now_ms)
        if services.store.session.session_id != won.session_id:
            raise CannotLead("the session was lost during the load")
        left, committer.gaps = foreign_targets(
            services.store, loaded.state, committer.gaps, now_ms, services.read_timeout_s
        )
        loaded.first += left
        if services.measures.is_kept:
            loaded.state.start_tally()
        seq = committer.next_seq - 1
        seq_max = loaded.kinds.one(NewIntentKeys).seq_max
        loaded.kinds.context.intents_seq_offset = seq_max if seq_max > seq else 0
        self._check_leader = False
        for finding in [*self.findings]:
            if finding != DEFECT:  # kept until the process ends, since the next term may be well
                del self.findings[finding]
        linger_ms = 0 if self.polled_by is not None else services.settings.metadata_linger_ms
        term = Term(services, committer, loaded, linger_ms)
        if left:
            term.findings["foreign controller"] = said_of(left)
        with self._lock:
            if self._losses != losses:  # lost while there was no term that could be ended
                raise CannotLead("the session was lost during the load")
            self.term, self._lost, self._session_id = term, None, won.session_id
            self.active_id, self.controller_epoch = services.controller_id, epoch
        services.journal.takeover(loaded.state, seq, now_ms)
        services.notices.controller_changed(services.controller_id, epoch)
        _log.info("controller %d: active under epoch %d", services.controller_id, epoch)


def _where(event: StoreEvent) -> str:
    return event.key if isinstance(event, Changed) else event.prefix if isinstance(event, Resync) else ""
