"""BrokerRegistration and BrokerHeartbeat: which remote brokers are alive.

* A broker that registers has a store session here until it sends no heartbeat for the session time; then its
  registration is deleted, which is its death. If this process ends, the session ends with it, and the broker registers
  elsewhere.
* `incarnation_id` distinguishes two processes of a broker. The same one again keeps the epoch. Another one is refused
  (101) while the first is alive, also at the same host and port: two processes often share a default address, and would
  take the broker id from each other with every heartbeat.
* A broker that restarted at its address need not wait for the end of the session: once the first has missed its
  heartbeats for a third of the session time, or was allowed to shut down, the next one is a death and a birth with a
  new epoch.
* A heartbeat under another epoch than the registered one is refused (77): the broker has to register again.
* A gateway registers `brokers_max` remote brokers at most: each takes a thread and a connection of the controller, and
  every broker gets the list of all of them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

import attrs

from ....stores.base import StoreError
from ...host import Controller
from ...model.errors import (
    ApiError,
    DuplicateBrokerRegistration,
    ErrorCode,
    InvalidRequest,
    PolicyViolation,
    StaleBrokerEpoch,
)
from ...model.values import BrokerRegistration, Endpoint
from ..apis.answering import outcome
from ..calls import OF_BROKER, Api, Call
from ..listeners import OWN_LISTENER, callable_host
from ..messages import messages_of
from ..protocol import Answer, Request
from .orders import PROTOCOLS

log = logging.getLogger(__name__)
SILENT_PART: Final = 1 / 3  # of the session time: Kafka's brokers send one every 2 s in sessions of 9 s
INCONSISTENT_CLUSTER_ID: Final = 104
LISTENERS_MAX: Final = 16
TEXT_MAX: Final = 255  # characters of a host, of a listener's name and of a rack: every broker gets them
_NAMES: Final = {number: name for name, number in PROTOCOLS.items()}


@attrs.define(eq=False)
class _Session:
    """A process of a broker. `beat_at`: its last heartbeat, in the loop's time. `may_go`: it asked to shut down, and
    was allowed to."""

    incarnation: UUID | None
    address: tuple[str, int]
    beat_at: float
    is_over: bool = False
    may_go: bool = False


class Sessions:
    """The remote brokers of one gateway, all on its loop. `session_s`: a broker without a heartbeat for so long is
    dead. `brokers_max`: so many may be registered at a time."""

    def __init__(self, session_s: float, brokers_max: int) -> None:
        if not session_s > 0:
            raise ValueError(f"session_s must be positive, not {session_s!r:.80}")
        if type(brokers_max) is not int or brokers_max < 1:
            raise ValueError(f"brokers_max must be an int of at least 1, not {brokers_max!r:.80}")
        self._session_s = session_s
        self._brokers_max = brokers_max
        self._sessions: dict[int, _Session] = {}
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()  # those that are held
        self._ending: set[asyncio.Task[None]] = set()
        self.table: Final = (
            Api(messages_of("BrokerRegistration"), self.register, OF_BROKER),
            Api(messages_of("BrokerHeartbeat"), self.beat, OF_BROKER, never_waits=True),
        )

    # --- BrokerRegistration

    async def register(self, call: Call, request: Request) -> Answer:
        """The broker's epoch. Errors: 42, 44, 101, 104, 7 where the store is not reached."""
        if call.cluster_id is not None and request.cluster_id != call.cluster_id:
            return {"error_code": INCONSISTENT_CLUSTER_ID}
        try:
            registration = _registration(request)
            self._require_room(registration.broker_id)
            async with self._lock(registration.broker_id):
                epoch = await self._registered(call.controller, registration, request.incarnation_id)
        except ApiError as error:
            log.warning("broker %d is not registered: %s", request.broker_id, error)
            return {"error_code": error.code}
        except ValueError as error:  # of what the store cannot hold
            log.warning("broker %d is not registered: %.300r", request.broker_id, error)
            return {"error_code": ErrorCode.INVALID_REQUEST}
        except StoreError as error:
            log.warning("broker %d could not be registered: %r", request.broker_id, error)
            return {"error_code": ErrorCode.REQUEST_TIMED_OUT}
        return {"error_code": 0, "broker_epoch": epoch}

    async def _registered(
        self, controller: Controller, registration: BrokerRegistration, incarnation: UUID | None
    ) -> int:
        broker_id, address = registration.broker_id, (registration.host, registration.port)
        present = self._sessions.get(broker_id)
        if present is None and controller.broker_epoch(broker_id) is not None:
            raise DuplicateBrokerRegistration(
                f"broker {broker_id} is registered already by the gateway's own process: give this broker another id"
            )
        if present is not None and (present.is_over or present.incarnation != incarnation):
            self._require_replaceable(broker_id, present, address)
            await self._end(controller, broker_id, present)
            present = None
        epoch = await asyncio.to_thread(controller.register_broker, registration)
        loop = asyncio.get_running_loop()
        if present is None:
            self._sessions[broker_id] = session = _Session(incarnation, address, loop.time())
            loop.call_later(self._session_s, self._look, controller, broker_id, session)
        else:
            present.address, present.beat_at = address, loop.time()
        return epoch

    def _lock(self, broker_id: int) -> asyncio.Lock:
        return self._locks.setdefault(broker_id, asyncio.Lock())

    def _require_room(self, broker_id: int) -> None:
        """Raises PolicyViolation for one broker more than there may be, those included that are being registered."""
        if len({broker_id, *self._sessions, *self._locks}) > self._brokers_max:
            raise PolicyViolation(f"{self._brokers_max} brokers are registered at this gateway, which is its limit")

    def _require_replaceable(self, broker_id: int, present: _Session, address: tuple[str, int]) -> None:
        """Raises DuplicateBrokerRegistration while the registered process counts as alive."""
        silent_s = asyncio.get_running_loop().time() - present.beat_at
        patience_s = self._session_s * (SILENT_PART if present.address == address else 1)
        if present.is_over or present.may_go or silent_s >= patience_s:
            return
        host, port = present.address
        raise DuplicateBrokerRegistration(
            f"broker {broker_id} is registered already at {host}:{port} by another process, whose last heartbeat was "
            f"{silent_s:.1f} s ago: give this broker another id, or wait until that process has left"
        )

    # --- BrokerHeartbeat

    async def beat(self, call: Call, request: Request) -> Answer:
        """The broker is alive. `want_shut_down`: as ControlledShutdown; `should_shut_down` once it leads nothing that
        another can lead. No broker is fenced here: one that sends heartbeats is served. Errors: 77, 41, 7."""
        session = self._sessions.get(request.broker_id)
        epoch = call.controller.broker_epoch(request.broker_id)
        if session is None or session.is_over or epoch != request.broker_epoch:
            return {"error_code": ErrorCode.STALE_BROKER_EPOCH}
        session.beat_at = asyncio.get_running_loop().time()
        answer = {"error_code": 0, "is_caught_up": True, "is_fenced": False, "should_shut_down": False}
        if request.want_shut_down:
            leads = await outcome(call.controller.controlled_shutdown(request.broker_id, request.broker_epoch))
            answer |= {"error_code": leads.error_code, "should_shut_down": not leads.error_code and not leads.value}
        session.may_go = bool(answer["should_shut_down"])
        return answer

    # --- the end of a session

    def _look(self, controller: Controller, broker_id: int, session: _Session) -> None:
        """Check whether a heartbeat came in time; if so, check again at the end of its time."""
        if self._sessions.get(broker_id) is not session:
            return
        loop = asyncio.get_running_loop()
        left_s = session.beat_at + self._session_s - loop.time()
        if left_s > 0:
            loop.call_later(left_s, self._look, controller, broker_id, session)
            return
        session.is_over = True  # from here on it has to register again, even if a heartbeat comes first
        log.warning("broker %d sent no heartbeat for %.1f s: its session is over", broker_id, self._session_s)
        task = asyncio.ensure_future(self._over(controller, broker_id, session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _over(self, controller: Controller, broker_id: int, session: _Session) -> None:
        async with self._lock(broker_id):
            if self._sessions.get(broker_id) is session:
                await self._end(controller, broker_id, session)

    async def _end(self, controller: Controller, broker_id: int, session: _Session) -> None:
        """Delete the registration. The caller holds the broker's lock."""
        session.is_over = True
        epoch = controller.broker_epoch(broker_id)
        try:
            if epoch is not None:
                await asyncio.to_thread(controller.unregister_broker, broker_id, epoch)
        except StaleBrokerEpoch:
            pass  # gone already
        del self._sessions[broker_id]


def _registration(request: Request) -> BrokerRegistration:
    """The registration in the request. Raises InvalidRequest for one that cannot be reached or read."""
    endpoints = tuple(
        Endpoint(each.name, each.host, each.port, _NAMES.get(each.security_protocol, "PLAINTEXT"))
        for each in request.listeners
    )
    if not endpoints or request.broker_id < 0:
        raise InvalidRequest(f"broker {request.broker_id} needs an id of at least 0 and a listener")
    texts = [text for each in endpoints for text in (each.listener, each.host)]
    if len(endpoints) > LISTENERS_MAX or max(map(len, (*texts, request.rack or ""))) > TEXT_MAX:
        raise InvalidRequest(
            f"broker {request.broker_id} may have {LISTENERS_MAX} listeners, and names, hosts and a rack of {TEXT_MAX} "
            "characters"
        )
    try:
        _require_printable(*texts, request.rack or "")
        for each in endpoints:
            _require_usable(each)
        return BrokerRegistration(
            request.broker_id, endpoints[0].host, endpoints[0].port, request.rack, endpoints=endpoints
        )
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"broker {request.broker_id}: {error}") from error


def _require_usable(endpoint: Endpoint) -> None:
    """Raises ValueError for a listener that cannot be called, or whose address would get the logins of clients."""
    if not endpoint.listener:
        raise ValueError("a listener has no name")
    if endpoint.listener == OWN_LISTENER:
        raise ValueError(f"the listener {OWN_LISTENER} is of brokers beside a gateway alone")
    callable_host(endpoint.host)
    if not endpoint.port:
        raise ValueError(f"listener {endpoint.listener} has port 0")


def _require_printable(*texts: str) -> None:
    """Raises ValueError for control characters: the texts get into logs, terminals and other brokers."""
    if flawed := [text for text in texts if not text.isprintable()]:
        raise ValueError(f"expected printable characters, got {flawed[0]!r}")
