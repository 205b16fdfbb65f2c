"""A request to its answer: its size, its content, its turn.

Long work runs in threads: reading a large request, writing a large answer. The loop continues meanwhile, and a client
has one thread at a time, so others do not wait.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from ..host import Controller
from ..model.errors import ErrorCode, NotController
from ..runtime.gc_tuning import collector_off, give_back
from .answers import Answer, Budget, Room, Shared
from .bounds import elements
from .calls import Addresses, Api, Call
from .errors import LoginRefused
from .limits import LARGE, SHARES, Limits
from .protocol import (
    API_VERSIONS,
    BRIEF,
    LONG,
    Header,
    Request,
    length_of,
    questioned,
    read_request,
    readdressed,
    write_answer,
)
from .security import ANONYMOUS
from .security.access import answered
from .security.acls import Authorizer
from .session import Session
from .slices import CLIENT, FEW, turn

T = TypeVar("T")
_THREADS: Final = 4
_SMALL: Final = 1024  # bytes of a frame that is read in a tenth of a millisecond
_FEW: Final = 1000  # elements that need no share of the budget
_READING: Final = 16
"""How many answers of one API that only reads are built at a time: a large one waits for room when it is built."""
MANY: Final = 20_000
"""Elements that make a full collection of Python's collector stop the loop for 20 ms or more."""
GIVE_BACK_S: Final = 20.0
"""So long after large work the memory of it is given back to the system, or later: that stops the loop, so it takes one
part in `_SELDOM` of the time at most."""
_SELDOM: Final = 200


@attrs.define(eq=False, kw_only=True, slots=False)
class Work:
    """The work for requests of all connections, on one loop. `has_peers`: gateways forward requests to this one, or it
    to them: then no answer says that its controller lost its leadership."""

    controller: Controller
    apis: Mapping[int, Api]
    addresses: Addresses
    cluster_id: str | None
    limits: Limits
    authorizer: Authorizer
    counts: Counter[str]
    has_peers: bool

    def __attrs_post_init__(self) -> None:
        self._in_flight = {key: turns_of(api, self.limits) for key, api in self.apis.items()}
        self._elements = Budget(SHARES * self.limits.elements, self.limits.elements)
        self._answers = Budget(self.limits.answer_bytes)
        self._beside = Budget(_THREADS, 1)
        self._threads = ThreadPoolExecutor(_THREADS, "kedge-frames")
        self._shared = Shared()
        self._gives_back = False
        self._pause_s = GIVE_BACK_S

    async def answer(self, api: Api, header: Header, session: Session, frame: bytes) -> Answer:
        """The answer, to be let go after it was sent. Raises Refused for what ends the connection, ApiError for what
        cannot be answered here and now."""
        if not api.is_shared or len(frame) > BRIEF:  # a long question is not compared with others, on the loop
            return await self._made(api, header, session, frame)
        # The holder, too: one client's turns are not for others to wait for. The client id, because of its quotas.
        question = (session.principal, session.holder, header.client_id, *questioned(header, frame))
        shared = await self._shared.get(question, lambda: self._made(api, header, session, frame))
        assert isinstance(shared.frame, bytes), api.messages.name
        # One client's own copy of the answer, which holds its share of the room until it is sent.
        return Answer(readdressed(shared.frame, header.correlation_id), shared)

    async def _made(self, api: Api, header: Header, session: Session, frame: bytes) -> Answer:
        """The client's share of the elements comes before a turn of the API: who waits for a share holds no turn, for
        which others would wait."""
        CLIENT.set(session.holder)
        room, most = self.room(), self._most(api)
        is_large = len(frame) > BRIEF
        if not is_large and len(frame) > _SMALL:
            await turn(len(frame) / BRIEF)
        count = await self.done(
            lambda: elements(api.messages.request, header.version, frame, most),
            client=session.holder,
            is_large=is_large,
        )
        share = nullcontext() if count <= _FEW else self._elements.share(count, session.holder)
        try:
            async with share, self._turn(api, session):
                with nullcontext() if count <= MANY else collector_off():
                    made = await self._worked_on(api, header, session, frame, room)
                await room.take(0 if made is None else len(made))
        except BaseException:
            room.let_go()
            raise
        return Answer(made, room)

    def _most(self, api: Api) -> int:
        """Orders have any number: they are about all that a broker holds, and only a gateway that logged in sends
        them."""
        limits = self.limits
        if api.is_for_gateways:
            return sys.maxsize
        return limits.elements if api.messages.name in LARGE else min(limits.elements, limits.elements_of_others)

    def _turn(self, api: Api, session: Session) -> AbstractAsyncContextManager[object]:
        """Held while a request of this API is in work. Each API has its own turns: a request that waits for the
        controller, or for records, delays no request of another API. Nor does a client delay others: it has a part of
        the turns."""
        turns = self._in_flight[api.messages.api_key]
        return nullcontext() if turns is None else turns.share(1, session.holder)

    def room(self) -> Room:
        return Room(self._answers, self.limits.idle_s)

    async def _worked_on(self, api: Api, header: Header, session: Session, frame: bytes, room: Room) -> bytes | None:
        is_large = len(frame) > BRIEF
        done = partial(self.done, client=session.holder)
        request: Request = await done(lambda: read_request(api.messages, header, frame), is_large=is_large)
        self.counts["requests"] += 1
        self.counts[api.messages.name] += 1
        if header.api_key == API_VERSIONS:
            session.software = getattr(request, "client_software_name", None) or ""
        epoch = self.controller.controller_epoch
        try:
            answer = await answered(api, self._call(api, header, session, room, len(frame)), request)
            if self.has_peers and epoch != self.controller.controller_epoch:
                _require_leader(answer)
        except LoginRefused as refused:
            if refused.answer is not None:
                refused.last = write_answer(api.messages, header.version, header.correlation_id, refused.answer)
            raise
        if answer is None:
            return None
        version, correlation_id, length = header.version, header.correlation_id, length_of(answer)
        if FEW < length <= LONG:
            await turn(length / LONG)
        return await done(lambda: write_answer(api.messages, version, correlation_id, answer), is_large=length > LONG)

    async def done(self, work: Callable[[], T], *, client: str, is_large: bool) -> T:
        """The result of `work`; in a thread where it is large, one at a time for each client."""
        if not is_large:
            return work()
        loop = asyncio.get_running_loop()
        if not self._gives_back:
            self._gives_back = True
            loop.call_later(self._pause_s, self._give_back)
        async with self._beside.share(1, client):
            working = loop.run_in_executor(self._threads, work)
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                await asyncio.wait([working])  # a thread cannot be stopped, and the next one must wait for it
                raise

    def _give_back(self) -> None:
        """Not beside a large request, whose elements a collection would go through."""
        if not self._elements.is_whole:
            asyncio.get_running_loop().call_later(self._pause_s, self._give_back)
            return
        self._gives_back = False
        begun_s = time.monotonic()
        give_back()
        self._pause_s = max(GIVE_BACK_S, _SELDOM * (time.monotonic() - begun_s))

    def _call(self, api: Api, header: Header, session: Session, room: Room, request_bytes: int) -> Call:
        principal = session.principal or ANONYMOUS  # before it logged in
        return Call(
            controller=self.controller,
            admin=self.controller.admin_for(principal),
            addresses=self.addresses,
            cluster_id=self.cluster_id,
            messages=api.messages,
            version=header.version,
            client_id=header.client_id,
            principal=principal,
            broker_id=session.broker_id,
            software=session.software,
            login=session.login,
            authorizer=self.authorizer,
            make_room=room.take,
            aside=partial(self.done, client=session.holder, is_large=True),
            is_gateway=session.is_gateway,
            address=session.address,
            client=session.holder,
            request_bytes=request_bytes,
            mute=partial(setattr, session, "mute_ms"),
        )


def turns_of(api: Api, limits: Limits) -> Budget | None:
    """How many requests of this API are in work at a time, and how many of one client; None: any number."""
    if api.never_waits:
        return None
    whole = limits.log_requests_in_flight if api.is_of_logs else limits.requests_in_flight
    whole = min(whole, _READING) if api.is_shared or api.reads else whole
    return Budget(whole, max(1, whole // SHARES))


def _require_leader(answer: Any) -> None:
    """Raises NotController where a part of the answer has that error: a client whose connection is closed repeats its
    request, and some clients do not repeat it after this error."""
    waiting = [answer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if value.get("error_code") == ErrorCode.NOT_CONTROLLER:
                raise NotController("the controller lost its leadership before it had answered")
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
