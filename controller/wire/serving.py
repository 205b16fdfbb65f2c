"""A frame to its answer: the client's identity, the API, and whether it is answered here or by another gateway."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from ..model.errors import ApiError, ErrorCode, NotController
from .answers import Answer
from .apis.versions import unsupported
from .bounds import elements
from .calls import Address, Api
from .errors import LoginRefused, NotLoggedIn, Refused, TooLarge, UnknownApi
from .peers.forwarding import Forwarding
from .peers.relay import NOBODYS, RELAY, Relayed
from .protocol import (
    API_VERSIONS,
    BRIEF,
    SIZE,
    Frame,
    Header,
    read_answer,
    read_header,
    read_request,
    whole,
    write_again,
    write_answer,
)
from .security import ANONYMOUS, tls
from .security.gateways import users_at
from .security.refusals import Refusals
from .security.sasl import Login, LoginFailed, Turns
from .security.users import Users
from .session import Session
from .slices import CLIENT
from .working import Work

RELAY_BYTES: Final = 4096  # the additional bytes of a forwarded frame
log = logging.getLogger(__name__)


class Service:
    """Serves frames of all connections, on one loop."""

    def __init__(self, work: Work, users: Users | None, secret: str | None, forwarding: Forwarding | None) -> None:
        self._work = work
        self._controller = work.controller
        self._apis = work.apis
        self._limits = work.limits
        self._counts = work.counts
        self._must_log_in = users is not None
        self._users_at = (lambda *_: users) if secret is None else users_at(users, secret)
        self._secret = secret
        self._forwarding = forwarding
        self._logins = Turns()
        self._refusals = Refusals(work.limits.refusal_ms / 1000)

    def session(self, broker_id: int | None, certificate: Any, address: str, called: Address) -> Session:
        """Of a new connection. `certificate`: the client's, from `SSLObject.getpeercert()`; empty: none. `address`: of
        the client (`security.refusals.origin`). `called`: the address that it called, as it is published."""
        known = tls.principal(certificate) if certificate else ANONYMOUS
        users = self._users_at(called.host, called.port)
        logins = None if users is None else users.of_connection()
        login = None if logins is None else Login(logins, self._limits.reauth_ms, turns=self._logins, address=address)
        has_gateways = self._secret is not None
        how = (known, login, self._must_log_in, has_gateways)
        return Session(self.serve, self._limits.request_bytes, broker_id, *how, address=address)

    @asynccontextmanager
    async def serve(self, session: Session, frame: bytes) -> AsyncIterator[Answer]:
        """The answer to one frame, for as long as it is being sent. Raises Refused for what ends the connection."""
        try:
            answer = await self._served(session, frame)
        except LoginRefused as refused:
            refused.delay_s = self._refusals.delay_s(session.address)
            name = "" if session.login is None else session.login.name
            log.warning("a login as %r from %s is refused: %s", name[:80], session.address, refused)
            raise
        try:
            yield answer
        finally:
            answer.let_go()

    async def _served(self, session: Session, frame: bytes) -> Answer:
        if session.login is not None and session.login.is_raw:
            return Answer(await _raw(session.login, frame))
        header = read_header(frame)
        if not self._is_before_login(header):
            if session.principal is None:
                raise NotLoggedIn(f"API {header.api_key} requires a login")
            session.require_login()
        if header.api_key == RELAY.api_key and self._is_gateway(session):
            return await self._relayed(header, session, frame)
        return await self._one(header, session, frame, forwards=self._forwarding)

    def _is_before_login(self, header: Header) -> bool:
        api = self._apis.get(header.api_key)
        return api is not None and api.before_login

    async def _one(self, header: Header, session: Session, frame: bytes, forwards: Forwarding | None = None) -> Answer:
        api = self._apis.get(header.api_key)
        if api is None or (api.is_for_gateways and not session.is_gateway):
            raise UnknownApi(f"API {header.api_key} is not offered")
        if header.version not in api.messages.versions:
            if header.api_key == API_VERSIONS:
                return Answer(write_answer(api.messages, 0, header.correlation_id, unsupported(self._apis)))
            raise UnknownApi(f"{api.messages.name} has no version {header.version}")
        is_ours = api.is_of_logs or api.before_login
        if forwards is not None and not is_ours and not self._controller.is_active:
            try:
                return await self._forwarded(api, header, session, frame, forwards)
            except NotController:
                if not (self._controller.is_active or self._controller.is_cut_off):  # that is in its own answer
                    raise
        return await self._work.answer(api, header, session, frame)

    async def _forwarded(
        self, api: Api, header: Header, session: Session, frame: bytes, forwards: Forwarding
    ) -> Answer:
        if len(frame) > self._limits.request_bytes - RELAY_BYTES:
            raise TooLarge(f"a frame of {len(frame)} bytes cannot be forwarded")
        self._counts["forwarded"] += 1
        CLIENT.set(session.holder)
        done = partial(self._work.done, client=session.holder)
        relayed = Relayed(frame, session.principal or ANONYMOUS, session.broker_id, session.holder, done)
        is_quick = api.reads or api.never_waits
        answer = await forwards.forward(forwards.links, relayed, reads=api.reads, is_quick=is_quick)
        room = self._work.room()
        try:
            await room.take(0 if answer is None else len(answer))
            return Answer(await self._here(api, header, session, answer), room)
        except BaseException:
            room.let_go()
            raise

    async def _here(self, api: Api, header: Header, session: Session, answer: bytes | None) -> bytes | None:
        """An answer from another gateway, with this gateway's addresses of the brokers: its clients stay with it, also
        when the other gateway is gone. Brokers with a listener of their own keep that address."""
        name = api.address_field
        if name is None or answer is None:
            return answer
        is_large = len(answer) > BRIEF
        done = partial(self._work.done, client=session.holder, is_large=is_large)
        told = await done(lambda: read_answer(api.messages, header, answer[SIZE.size :]))
        brokers = tuple(getattr(broker, name) for broker in told.brokers)
        registered = None if self._forwarding is None else await self._forwarding.endpoints(brokers)
        reached = await self._work.addresses.of(brokers, registered)
        for broker in told.brokers:
            broker.host, broker.port = reached[getattr(broker, name)].host, reached[getattr(broker, name)].port
        return await done(lambda: write_again(told))

    def _is_gateway(self, session: Session) -> bool:
        """Whether forwarded frames are accepted from it: from logged-in gateways, if there is a secret."""
        if self._forwarding is None:
            return False
        return self._secret is None or session.is_gateway

    async def _relayed(self, header: Header, session: Session, frame: bytes) -> Answer:
        """A frame that another gateway forwarded. It is never forwarded again: a standby answers that it is none."""
        self._counts["relayed"] += 1
        holder = session.holder_of(frame)
        CLIENT.set(holder)
        done = partial(self._work.done, client=holder)
        request, inner = await done(lambda: _opened(header, frame), is_large=len(frame) > BRIEF)
        # Without a secret the identity cannot be verified, and no login is required.
        known = session.known if self._secret is None else request.principal
        broker_id = None if request.broker_id == NOBODYS else request.broker_id
        # What a client without an identity uses is held by its address.
        client = Session(self.serve, self._limits.request_bytes, broker_id, known, address=holder)
        answer = Answer(None)
        code: int = ErrorCode.NONE if self._controller.is_active else ErrorCode.NOT_CONTROLLER
        if code == ErrorCode.NONE:
            try:
                answer = await self._one(read_header(inner), client, inner)
            except Refused as refused:
                self._counts[refused.kind] += 1
                answer, code = Answer(refused.last), ErrorCode.INVALID_REQUEST
            except ApiError as error:  # of a part, possibly after another part was done: the client has to repeat it
                log.info("a forwarded request was not answered: %r", error)
                code = ErrorCode.UNKNOWN_SERVER_ERROR
        last = answer.frame[-1] if isinstance(answer.frame, tuple) else answer.frame or b""
        try:
            frame = await done(lambda: _closed(header, code, answer.frame), is_large=len(last) > BRIEF)
            return Answer(frame, answer)
        except BaseException:
            answer.let_go()
            raise


def _opened(header: Header, frame: bytes) -> tuple[Any, bytes]:
    """The message of another gateway, and the client's frame in it. Raises Garbage."""
    elements(RELAY.request, header.version, frame, 0)
    request = read_request(RELAY, header, frame)
    return request, bytes(request.frame)


def _closed(header: Header, code: int, answer: Frame | None) -> bytes:
    return write_answer(RELAY, 0, header.correlation_id, {"error_code": code, "answer": whole(answer)})


async def _raw(login: Login, token: bytes) -> bytes:
    try:
        answer = await login.step(token)
    except LoginFailed as failed:
        raise LoginRefused(failed.message) from failed
    return SIZE.pack(len(answer)) + answer
