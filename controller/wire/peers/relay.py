"""From gateway to gateway: Relay, a message of Kedge, over an ordinary client connection. Where clients log in,
gateways do so, too, by SCRAM-SHA-256 under a name that no user can have."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, Self, TypeVar

import attrs

from ...model.errors import ErrorCode
from ..calls import Address
from ..errors import Garbage, Refused
from ..messages import messages_of
from ..protocol import BRIEF, SIZE, Header, Messages, read_answer, read_header, write_request
from ..security.client import Credentials, NotLetIn, logging_in
from ..security.gateways import login_at
from ..security.users import GATEWAY
from ..slices import turn

NOBODYS: Final = -1
"""The broker id that stands for the common address."""


RELAY: Final = messages_of("Relay", range(1))
_LARGEST: Final = {17: 4096, 36: 4096}  # bytes of an answer about a login; a larger one is of another protocol
_CONNECT_S: Final = 5.0
_PIECE: Final = 256 * 1024  # bytes; TLS encrypts what it is given at once
T = TypeVar("T")


class Done(Protocol):
    """The result of work, from a thread where it is large."""

    async def __call__(self, work: Callable[[], T], *, is_large: bool) -> T: ...


async def at_once(work: Callable[[], T], *, is_large: bool) -> T:  # noqa: ARG001 - as `Done`
    return work()


@attrs.frozen
class Relayed:
    """A client's frame. `broker_id`: the broker whose address it called. `client`: who holds what the frame uses, at
    both gateways (`Session.holder`). `done`: does work on long answers."""

    frame: bytes = attrs.field(repr=False)
    principal: str
    broker_id: int | None = None
    client: str = GATEWAY
    done: Done = at_once


def client_of(frame: bytes) -> str | None:
    """Of a frame that begins like this, and that another gateway sent: who holds what it uses. None: the gateway. It is
    in the header, so that it is known before a large frame takes room. Raises Garbage."""
    header = read_header(frame)
    return header.client_id if header.api_key == RELAY.api_key else None


class NotReached(Exception):
    """The other gateway was not reached, or did not accept the login: it did nothing."""


class NotActive(Exception):
    """The other controller does not lead: its gateway did nothing."""


class Lost(Refused, kind="forward_lost"):
    """The answer was lost: it is unknown what was done."""


class Broken(Lost):
    """Lost because the connection ended, or carried an invalid answer: a new connection may help."""


class RefusedThere(Refused, kind="forward_refused"):
    """The other gateway refused the frame, and counted the reason."""


class Link:
    """A connection to another gateway, for one frame at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0
        self.is_unsent = False
        """Whether a frame was cut off before it had been sent completely: then it cannot have been carried out."""

    @classmethod
    async def to(cls, address: Address, secret: str | None, tls: ssl.SSLContext | None) -> Self:
        """Connected, and logged in where there is a secret. Raises NotReached."""
        try:
            async with asyncio.timeout(_CONNECT_S):
                link = cls(*await asyncio.open_connection(address.host, address.port, ssl=tls))
                try:
                    if secret is not None:
                        await link._log_in(login_at(secret, address.host, address.port))
                except BaseException:
                    link.close()
                    raise
        except (OSError, EOFError, Lost) as error:  # TimeoutError is an OSError
            raise NotReached(f"{address}: {error!r}") from error
        return link

    @property
    def is_open(self) -> bool:
        """Whether the other side has not closed the connection, as far as is known."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    def close(self) -> None:
        """Close at once: bytes that are not sent yet must not arrive, and a peer that does not read would delay it."""
        self._writer.transport.abort()

    async def ask(self, relayed: Relayed) -> bytes | None:
        """The answer to a client's frame, with its size; None: the client gets none. Raises NotActive; Refused for what
        ends the client's connection: Lost, RefusedThere. It has no time limit: a caller that cancels it must look at
        `is_unsent`."""
        number = NOBODYS if relayed.broker_id is None else relayed.broker_id
        fields = {"principal": relayed.principal, "broker_id": number}
        answer = await self._call(RELAY, 0, fields, relayed)
        if answer.error_code == ErrorCode.NOT_CONTROLLER:
            raise NotActive
        if answer.error_code:
            refused = RefusedThere(f"error {answer.error_code}")
            refused.last = None if answer.answer is None else bytes(answer.answer)
            raise refused
        return None if answer.answer is None else bytes(answer.answer)

    async def _log_in(self, login: Credentials) -> None:
        steps, answer = logging_in(login), None
        try:
            while True:
                messages, fields = steps.send(answer)
                answer = await self._call(messages, messages.versions[-1], fields)
        except StopIteration:
            return
        except NotLetIn as error:
            raise NotReached("the two gateways do not have the same secret") from error

    async def _call(
        self, messages: Messages, version: int, fields: Mapping[str, Any], relayed: Relayed | None = None
    ) -> Any:
        self._correlation_id += 1
        header = Header(messages.api_key, version, self._correlation_id, relayed.client if relayed else GATEWAY)
        is_written = False
        try:
            whole = write_request(messages, header, fields)
            await self._write(parts(whole, relayed.frame) if relayed else (whole,))
            is_written = True
            answer = await self._frame(_LARGEST.get(messages.api_key, 2**31))
            done = relayed.done if relayed else at_once
            return await done(lambda: read_answer(messages, header, answer), is_large=len(answer) > BRIEF)
        except (OSError, EOFError, Garbage) as error:
            self.close()
            raise Broken(f"the other gateway closed the connection, or sent no answer: {error!r}") from error
        except asyncio.CancelledError:
            self.is_unsent = not is_written or self._writer.transport.get_write_buffer_size() > 0
            self.close()  # a late answer must not be taken for that of another request
            raise

    async def _write(self, request: Iterable[bytes]) -> None:
        """In pieces, between which other clients have their turn: the other side may take them as fast as they come."""
        for part in request:
            rest = memoryview(part)
            for start in range(0, len(rest), _PIECE):
                if start:
                    await turn()
                self._writer.write(rest[start : start + _PIECE])
                await self._writer.drain()

    async def _frame(self, most: int) -> bytes:
        """The next frame. Raises Garbage where its size cannot be that of an answer."""
        size = SIZE.unpack(await self._reader.readexactly(SIZE.size))[0]
        if not 0 <= size <= most:
            raise Garbage(f"an answer of {size} bytes")
        return await self._reader.readexactly(size)


def parts(empty: bytes, frame: bytes) -> tuple[bytes, ...]:
    """Relay with this frame, made of one with an empty frame, its last field. A large frame is not copied: each copy of
    100 MiB stops all threads for a while, and the codec makes several."""
    length, size = b"", len(frame) + 1  # compact: a varint, one more than the length
    while size > 0x7F:
        length, size = length + bytes((size & 0x7F | 0x80,)), size >> 7
    head, tags = empty[SIZE.size : -2] + length + bytes((size,)), empty[-1:]
    found = (SIZE.pack(len(head) + len(frame) + len(tags)) + head, frame, tags)
    return found if len(frame) > BRIEF else (b"".join(found),)
