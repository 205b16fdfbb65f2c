"""One client: frames in, answers out, in the order in which they came.

Rules
* One request at a time: the next frame is read when the answer of the last one was written. So answers keep their
  order, who does not read them stops only itself, and what one connection can make us hold is one frame.
* Whatever is wrong with what came closes this connection, is counted, and touches nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from controller.wire.errors import Garbage, TooLarge, TooSlow
from controller.wire.limits import Limits
from controller.wire.protocol import SIZE

T = TypeVar("T")
Serve = Callable[[bytes], Awaitable[bytes | None]]
"""A frame without its size to the answer with its size; None: there is none to be given (Produce with acks=0)."""


async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits, serve: Serve) -> None:
    """Until the client hangs up. Refused for what ends it before."""
    while (frame := await _frame(reader, limits)) is not None:
        answer = await serve(frame)
        if answer is not None:
            writer.write(answer)
            await _in_time(writer.drain(), limits)


async def _frame(reader: asyncio.StreamReader, limits: Limits) -> bytes | None:
    """The next one; None when the client hung up between two."""
    head = await _in_time(reader.read(SIZE.size), limits)
    if not head:
        return None
    try:
        if len(head) < SIZE.size:
            head += await _in_time(reader.readexactly(SIZE.size - len(head)), limits)
        size = SIZE.unpack(head)[0]
        if size < 0:
            raise Garbage(f"a frame of {size} bytes")
        if size > limits.request_bytes:
            raise TooLarge(f"a frame of {size} bytes, {limits.request_bytes} are taken")
        return await _in_time(reader.readexactly(size), limits)
    except asyncio.IncompleteReadError as error:
        raise Garbage(f"the client hung up within a frame, after {len(error.partial)} bytes of it") from error


async def _in_time(done: Awaitable[T], limits: Limits) -> T:
    try:
        return await asyncio.wait_for(done, limits.idle_s)
    except TimeoutError as error:
        raise TooSlow(f"nothing for {limits.idle_s} s") from error
