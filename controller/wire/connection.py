"""One client: frames in, answers out, in the order in which they came.

* One request at a time: the next frame is read after the last answer was written. So answers keep their order, a client
  that does not read stops only itself, and one connection can make the gateway hold one frame at most.
* A frame that is not brief takes room as its bytes come, and holds it until it is answered.
* A frame that was begun must be complete in time, and so must a login, however often parts of it come: otherwise a
  client that sends byte by byte would keep its connection, and the room for a frame, for ever.
* When a client hangs up during its request, the waiting ends; work that was done stays done.
* Anything wrong with the input closes this connection, is counted, and affects no other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from typing import Final, TypeVar

from .answers import Answer, Budget, Growing
from .errors import FrameTooSlow, Garbage, LoginTooSlow, Refused, TooLarge, TooSlow
from .incoming import Incoming
from .limits import Limits
from .protocol import BRIEF, SIZE
from .session import Session

T = TypeVar("T")
LINGER_S: Final = 0.1
STALLED_S: Final = 5.0
"""How long a client may take nothing of its answer while other answers wait for room."""
_PIECE: Final = 256 * 1024


async def run(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits, room: Budget, client: Session
) -> None:
    """Serve until the client hangs up. Raises Refused for what ends the connection before."""
    incoming = Incoming(reader)

    async def go_on() -> bool:
        """Serve one frame; False when the client has hung up."""
        size = await _size(incoming, limits, client.request_bytes)
        if size is not None:
            await _exchange(incoming, writer, size, limits, room, client)
        return size is not None

    login = asyncio.timeout(limits.login_s)
    try:
        async with login:
            while not client.is_known:
                if not await go_on():
                    return
    except TimeoutError as error:
        if login.expired():
            raise LoginTooSlow(f"the client did not log in within {limits.login_s} s") from error
        raise
    while await go_on():
        pass


async def _exchange(  # noqa: PLR0917 - as `run`
    incoming: Incoming, writer: asyncio.StreamWriter, size: int, limits: Limits, room: Budget, client: Session
) -> None:
    """One frame and its answer, not held by anything afterwards: the connection may then be idle for long."""
    async with AsyncExitStack() as sending:
        async with AsyncExitStack() as held:
            frame = await _frame(incoming, size, limits, room, client, held)
            try:
                async with incoming.watched():
                    answer = await sending.enter_async_context(client.serve(frame))
            except Refused as refused:
                await asyncio.sleep(refused.delay_s)
                if refused.last is not None:
                    await _write(writer, Answer(refused.last), limits)
                    await _linger(incoming)
                raise
        await _write(writer, answer, limits)
    if client.mute_ms:
        async with incoming.watched():
            await asyncio.sleep(min(client.mute_ms / 1000, limits.idle_s))
        client.mute_ms = 0


async def _write(writer: asyncio.StreamWriter, answer: Answer, limits: Limits) -> None:
    """Writes in pieces, so that little of a large answer is copied for a client that reads slowly."""
    frame = () if answer.frame is None else answer.frame
    for part in frame if isinstance(frame, tuple) else (frame,):
        rest = memoryview(part)
        for start in range(0, len(rest), _PIECE):
            writer.write(rest[start : start + _PIECE])
            await _taken(writer, limits, answer)


async def _taken(writer: asyncio.StreamWriter, limits: Limits, answer: Answer) -> None:
    """The client has taken the piece, or most of it. Raises TooSlow where it takes nothing, sooner if others wait."""
    if not writer.transport.get_write_buffer_size():
        return await writer.drain()  # at once
    now = asyncio.get_running_loop().time
    end = now() + limits.idle_s
    while True:
        try:
            async with asyncio.timeout(min(STALLED_S, limits.idle_s)):
                return await writer.drain()
        except TimeoutError:
            if answer.is_wanted or now() >= end:
                raise TooSlow("the client does not take its answer") from None


async def _linger(incoming: Incoming) -> None:
    """Wait until the client hangs up, or for a while, and ignore what it sends: some clients do not read an answer that
    arrives together with the end of the connection. It also delays guesses of passwords."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await incoming.read(SIZE.size):
                pass


async def _size(incoming: Incoming, limits: Limits, most: int) -> int | None:
    """The size of the next frame; None when the client hung up between two frames."""
    head = await _in_time(incoming.read(SIZE.size), limits)
    if not head:
        return None
    if len(head) < SIZE.size:
        head += await _exactly(incoming, SIZE.size - len(head), limits)
    size = int(SIZE.unpack(head)[0])
    if size < 0:
        raise Garbage(f"a frame of {size} bytes")
    if size > most:
        raise TooLarge(f"a frame of {size} bytes, at most {most} are accepted")
    return size


async def _frame(  # noqa: PLR0917 - as `run`
    incoming: Incoming, size: int, limits: Limits, room: Budget, client: Session, held: AsyncExitStack
) -> bytes:
    """A frame, of which the part that is not brief holds room until `held` is left: each piece is as large as what has
    come before it."""
    begun_s = time.monotonic()
    parts, read = [await _exactly(incoming, min(size, BRIEF), limits)], BRIEF
    if size <= BRIEF:
        return parts[0]
    time_s = min(limits.frame_s, limits.idle_s) - (time.monotonic() - begun_s)
    growing = Growing(room, client.holder_of(parts[0]))
    held.callback(growing.let_go)
    while read < size:
        piece = min(read, size - read)
        await _in_time(growing.hold(piece), limits)
        begun_s = time.monotonic()
        parts.append(await _exactly(incoming, piece, limits, time_s))
        time_s -= time.monotonic() - begun_s
        read += piece
    return b"".join(parts)


async def _exactly(incoming: Incoming, size: int, limits: Limits, left_s: float | None = None) -> bytes:
    """Bytes of a frame that was begun, which may take `left_s` (None: as long as a frame). Raises FrameTooSlow; Garbage
    where the client hangs up before."""
    within_s = min(limits.frame_s, limits.idle_s)
    try:
        async with asyncio.timeout(within_s if left_s is None else left_s):
            return await incoming.exactly(size)
    except TimeoutError as error:
        raise FrameTooSlow(f"a frame was not complete within {within_s} s") from error
    except asyncio.IncompleteReadError as error:
        raise Garbage(f"the client hung up within a frame, after {len(error.partial)} bytes of it") from error


async def _in_time(done: Awaitable[T], limits: Limits) -> T:
    """Not `wait_for`: before Python 3.12 it loses a cancellation when `done` completes at that moment, and a gateway
    that closes would wait for this client."""
    try:
        async with asyncio.timeout(limits.idle_s):
            return await done
    except TimeoutError as error:
        raise TooSlow(f"no frame for {limits.idle_s} s") from error
