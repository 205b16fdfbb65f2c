"""Connections that ask one thing again and again, in a process of their own: `wire_client.py PORT N ROUNDS HEX`.

Prints one JSON object: seconds of all, the latencies of each answer in seconds, and the bytes of one. Answers are read
and not decoded, so what is measured is the gateway.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from time import perf_counter

HOST = "127.0.0.1"


async def ask(port: int, rounds: int, frame: bytes, start: asyncio.Event) -> tuple[list[float], int]:
    """The latencies of one connection, and how large an answer is."""
    reader, writer = await asyncio.open_connection(HOST, port, limit=2**20)
    await start.wait()
    seconds, size = [], 0
    for _ in range(rounds):
        began = perf_counter()
        writer.write(frame)
        size = struct.unpack(">i", await reader.readexactly(4))[0]
        await reader.readexactly(size)
        seconds.append(perf_counter() - began)
    writer.close()
    return seconds, size


async def main(port: int, connections: int, rounds: int, frame: bytes) -> None:
    start = asyncio.Event()
    asking = [asyncio.create_task(ask(port, rounds, frame, start)) for _ in range(connections)]
    await asyncio.sleep(0.5)  # all of them connect, which is not measured
    began = perf_counter()
    start.set()
    told = await asyncio.gather(*asking)
    total = perf_counter() - began
    latencies = [seconds for one, _ in told for seconds in one]
    print(json.dumps({"seconds": total, "latencies": latencies, "bytes": told[0][1]}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4])))
