"""A frame to its answer: which API, how much, what it says, who answers it.

What takes long is done beside the loop, one at a time: reading a large request, writing a large answer. The loop has
its turn in between, so nobody else waits for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

import attrs

from controller.host import Controller
from controller.model.errors import ApiError, ErrorCode, NotController
from controller.wire.apis.versions import unsupported
from controller.wire.budget import Budget
from controller.wire.calls import Addresses, Api, Call
from controller.wire.errors import LoginRefused, NotLoggedIn, Refused, TooLarge, UnknownApi
from controller.wire.limits import Limits
from controller.wire.peers.forwarding import Forwarding, Way
from controller.wire.peers.relay import NOBODYS, RELAY
from controller.wire.protocol import (
    API_VERSIONS,
    BRIEF,
    SIZE,
    Frame,
    Header,
    Request,
    elements,
    is_long,
    questioned,
    read_answer,
    read_header,
    read_request,
    readdressed,
    whole,
    write_again,
    write_answer,
)
from controller.wire.room import Room
from controller.wire.security import ANONYMOUS, tls
from controller.wire.security.access import answered
from controller.wire.security.acls import Authorizer
from controller.wire.security.sasl import Login, LoginFailed
from controller.wire.security.users import GATEWAY, Users, with_gateways
from controller.wire.sharing import Shared
from controller.wire.turns import turns

T = TypeVar("T")
LOGIN_BYTES: Final = 4096
"""Of a frame of somebody who did not log in yet: tokens of PLAIN and SCRAM are a few hundred bytes. Kafka's 512 KiB
(sasl.server.max.receive.size) are for Kerberos."""
RELAY_BYTES: Final = 4096  # what a frame needs besides when it is passed on
TELLS_ADDRESSES: Final = {3: "node_id", 60: "broker_id"}
"""Metadata and DescribeCluster: how the id of a broker is called there."""
log = logging.getLogger(__name__)
BEFORE_LOGIN: Final = frozenset({API_VERSIONS, 17, 36})  # ApiVersions, SaslHandshake, SaslAuthenticate
_FEW: Final = 1000  # elements that need no share of the budget


@attrs.define
class Session:
    """One connection. `broker_id`: whose address it called. `known`: who it is by its certificate, or where nobody has
    to say so; `login`: how it says so otherwise, and `must_log_in` whether it has to. `way`: to where its frames are
    passed on."""

    service: Service
    broker_id: int | None
    known: str
    login: Login | None = None
    must_log_in: bool = False
    way: Way = attrs.field(factory=Way)
    room: Room | None = None
    """What the answer on its way to it holds."""

    @property
    def principal(self) -> str | None:
        """None until it said so."""
        if self.login is not None and self.login.principal is not None:
            return self.login.principal
        return None if self.must_log_in else self.known

    @property
    def is_known(self) -> bool:
        return self.principal is not None

    @property
    def request_bytes(self) -> int:
        most = self.service.limits.request_bytes
        return most if self.is_known else min(most, LOGIN_BYTES)

    async def serve(self, frame: bytes) -> Frame | None:
        return await self.service.serve(self, frame)

    @property
    def is_hurried(self) -> bool:
        return self.room is not None and self.room.is_wanted

    def taken(self) -> None:
        self.room = None


class Service:
    """Serves frames of all connections, on one loop."""

    def __init__(
        self,
        controller: Controller,
        *,
        apis: Mapping[int, Api],
        addresses: Addresses,
        cluster_id: str | None,
        limits: Limits,
        users: Users | None,
        authorizer: Authorizer,
        counts: Counter[str],
        secret: str | None = None,
        forwarding: Forwarding | None = None,
    ) -> None:
        self._controller = controller
        self._apis = apis
        self._addresses = addresses
        self._cluster_id = cluster_id
        self.limits = limits
        self._must_log_in = users is not None
        self._users = users if secret is None else with_gateways(users, secret)
        self._secret = secret
        self._forwarding = forwarding
        self._authorizer = authorizer
        self._counts = counts
        self._in_flight = {key: turns(api, limits) for key, api in apis.items()}
        self._elements = Budget(limits.elements)
        self._answers = Budget(limits.answer_bytes)
        self._beside = asyncio.Semaphore(1)
        self._shared: Shared[tuple[bytes | None, Room]] = Shared()

    def session(self, broker_id: int | None, certificate: Any) -> Session:
        """Of a new connection. `certificate`: the client's, as `SSLObject.getpeercert()` gives it; empty: none."""
        known = tls.principal(certificate) if certificate else ANONYMOUS
        login = None if self._users is None else Login(self._users)
        return Session(self, broker_id, known, login, self._must_log_in)

    async def serve(self, session: Session, frame: bytes) -> Frame | None:
        """The answer, with its size. Refused for what ends the connection."""
        if session.login is not None and session.login.is_raw:
            return await _raw(session.login, frame)
        header = read_header(frame)
        if session.principal is None and header.api_key not in BEFORE_LOGIN:
            raise NotLoggedIn(f"API {header.api_key} is for those who say first who they are")
        if header.api_key == RELAY.api_key and self._is_gateway(session):
            return await self._relayed(header, session, frame)
        return await self._one(header, session, frame, forwards=self._forwarding)

    async def _one(
        self, header: Header, session: Session, frame: bytes, forwards: Forwarding | None = None
    ) -> Frame | None:
        api = self._apis.get(header.api_key)
        if api is None:
            raise UnknownApi(f"API {header.api_key} is not offered")
        if header.version not in api.messages.versions:
            if header.api_key == API_VERSIONS:
                return write_answer(api.messages, 0, header.correlation_id, unsupported(self._apis))
            raise UnknownApi(f"{api.messages.name} has no version {header.version}")
        is_ours = api.is_of_logs or header.api_key in BEFORE_LOGIN
        if forwards is not None and not is_ours and not self._controller.is_active:
            if len(frame) > self.limits.request_bytes - RELAY_BYTES:
                raise TooLarge(f"a frame of {len(frame)} bytes cannot be passed on")
            self._counts["forwarded"] += 1
            try:
                answer = await forwards.forward(session.way, frame, session.principal or ANONYMOUS, session.broker_id)
                session.room = self._room()
                await session.room.take(0 if answer is None else len(answer))
                return await self._here(api, header, answer)
            except NotController:
                if not self._controller.is_active:
                    raise
        return await self._answer(api, header, session, frame)

    async def _here(self, api: Api, header: Header, answer: bytes | None) -> bytes | None:
        """An answer from elsewhere, with our addresses of the brokers: clients that we serve stay with us, and are
        served when the one who answered is gone."""
        name = TELLS_ADDRESSES.get(api.messages.api_key)
        if name is None or answer is None:
            return answer
        is_large = len(answer) > BRIEF
        told = await self._done(lambda: read_answer(api.messages, header, answer[SIZE.size :]), is_large=is_large)
        reached = await self._addresses.of(tuple(getattr(broker, name) for broker in told.brokers))
        for broker in told.brokers:
            broker.host, broker.port = reached[getattr(broker, name)].host, reached[getattr(broker, name)].port
        return await self._done(lambda: write_again(told), is_large=is_large)

    def _is_gateway(self, session: Session) -> bool:
        """Whether frames of others are taken from it: where gateways have a secret, from who knows that."""
        if self._forwarding is None:
            return False
        return self._secret is None or session.principal == f"User:{GATEWAY}"

    async def _relayed(self, header: Header, session: Session, frame: bytes) -> bytes:
        """A frame that another gateway passed on. It is never passed on again: who does not lead says so."""
        self._counts["relayed"] += 1
        elements(RELAY, header, frame, 0)
        request = read_request(RELAY, header, frame)
        # Without a secret nobody can tell who it was, nor did anybody have to.
        known = session.known if self._secret is None else request.principal
        client = Session(self, None if request.broker_id == NOBODYS else request.broker_id, known)
        answer: Frame | None = None
        code: int = ErrorCode.NONE if self._controller.is_active else ErrorCode.NOT_CONTROLLER
        if code == ErrorCode.NONE:
            try:
                inner = bytes(request.frame)
                answer = await self._one(read_header(inner), client, inner)
                session.room = client.room
            except Refused as refused:
                self._counts[refused.kind] += 1
                answer, code = refused.last, ErrorCode.INVALID_REQUEST
            except ApiError as error:  # of a part of it, perhaps after another part was done: the client is to ask anew
                log.info("a request that was passed on was not answered: %r", error)
                code = ErrorCode.UNKNOWN_SERVER_ERROR
        return write_answer(RELAY, 0, header.correlation_id, {"error_code": code, "answer": whole(answer)})

    async def _answer(self, api: Api, header: Header, session: Session, frame: bytes) -> Frame | None:
        if not api.is_shared:
            made, session.room = await self._made(api, header, session, frame)
            return made
        question = (session.principal, *questioned(header, frame))
        answer, session.room = await self._shared.get(question, lambda: self._made(api, header, session, frame))
        return None if answer is None else readdressed(answer, header.correlation_id)

    async def _made(self, api: Api, header: Header, session: Session, frame: bytes) -> tuple[bytes | None, Room]:
        room = self._room()
        async with self._in_flight[api.messages.api_key]:
            answer = await self._worked_on(api, header, session, frame, room)
            await room.take(0 if answer is None else len(answer))
        return answer, room

    def _room(self) -> Room:
        return Room(self._answers, self.limits.idle_s)

    async def _worked_on(self, api: Api, header: Header, session: Session, frame: bytes, room: Room) -> bytes | None:
        is_large, most = len(frame) > BRIEF, self.limits.elements
        count = await self._done(lambda: elements(api.messages, header, frame, most), is_large=is_large)
        async with AsyncExitStack() as held:
            if count > _FEW:
                await held.enter_async_context(self._elements.share(count))
            request: Request = await self._done(lambda: read_request(api.messages, header, frame), is_large=is_large)
            self._counts["requests"] += 1
            self._counts[api.messages.name] += 1
            epoch = self._controller.controller_epoch
            try:
                answer = await answered(api, self._call(api, header, session, room), request)
                if self._forwarding is not None and epoch != self._controller.controller_epoch:
                    _require_leader(answer)
            except LoginRefused as refused:
                if refused.answer is not None:
                    refused.last = write_answer(api.messages, header.version, header.correlation_id, refused.answer)
                raise
        if answer is None:
            return None
        version, correlation_id = header.version, header.correlation_id
        return await self._done(
            lambda: write_answer(api.messages, version, correlation_id, answer), is_large=is_long(answer)
        )

    async def _done(self, work: Callable[[], T], *, is_large: bool) -> T:
        if not is_large:
            return work()
        async with self._beside:
            working = asyncio.ensure_future(asyncio.to_thread(work))
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                await asyncio.wait([working])  # a thread cannot be stopped, and the next one is to wait for it
                raise

    def _call(self, api: Api, header: Header, session: Session, room: Room) -> Call:
        principal = session.principal or ANONYMOUS  # before it logged in
        return Call(
            controller=self._controller,
            admin=self._controller.admin_for(principal),
            addresses=self._addresses,
            cluster_id=self._cluster_id,
            messages=api.messages,
            version=header.version,
            client_id=header.client_id,
            principal=principal,
            broker_id=session.broker_id,
            login=session.login,
            authorizer=self._authorizer,
            make_room=room.take,
        )


def _require_leader(answer: Any) -> None:
    """NotController where a part of it says that we did not lead any more: who is hung up on asks again, and some who
    are told so do not."""
    waiting = [answer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if value.get("error_code") == ErrorCode.NOT_CONTROLLER:
                raise NotController("it ceased to lead before it had answered")
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


async def _raw(login: Login, token: bytes) -> bytes:
    try:
        answer = await login.step(token)
    except LoginFailed as failed:
        raise LoginRefused(failed.message) from failed
    return SIZE.pack(len(answer)) + answer
