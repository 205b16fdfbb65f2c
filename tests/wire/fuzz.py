"""Broken frames against a gateway: `python -m tests.wire.fuzz --frames 1000000 --seed 1`.

Each frame is sent on a connection of its own, or on one that was answered before, and a good request is sent behind it.
So there are two ends, and nothing else: the answer of the good request, or the gateway hung up and counted why.
The same seed, the same frames.
"""

from __future__ import annotations

import argparse
import resource
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from controller.wire import Gateway
from controller.wire.apis import APIS
from controller.wire.calls import Address
from controller.wire.errors import Refused
from tests.kit.waiting import until
from tests.wire.requests_made import every_version, frame
from tests.wire.served import DEADLINE_S, RawClient, Served

REFUSALS: Final = (*(each.kind for each in Refused.__subclasses__()), "lost", "unanswered")
GOOD: Final = struct.pack(">ihhih", 10, 18, 0, 2**31 - 1, -1)  # ApiVersions, with a correlation id of its own
GOOD_ID: Final = GOOD[8:12]
ODD: Final = (
    b"\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x80\x80\x80\x80",
    b"\0\0",
    b"\xff\xff\xff\xff\x07",
)


class Fuzz:
    """Makes frames and sends them. `sent` counts them by kind, `hung_up` those that ended a connection."""

    def __init__(self, address: Address, seed: int) -> None:
        self._address = address
        self._random = Random(seed)
        self._kinds = every_version(dict(APIS))
        self._client: RawClient | None = None
        self.sent: Counter[str] = Counter()
        self.hung_up = 0

    def run(self, frames: int) -> None:
        ways: tuple[Callable[[], tuple[bytes, bool]], ...] = (
            self._flipped,
            self._odd,
            self._cut,
            self._noise,
            self._noise_behind_a_header,
            self._unknown,
            self._size,
            self._hanging,
            self._whole,
        )
        for _ in range(frames):
            way = self._random.choice(ways)
            self.sent[way.__name__.strip("_")] += 1
            self._send(*way())
        if self._client is not None:
            self._client.__exit__()
            self._client = None

    def _send(self, data: bytes, half_closed: bool) -> None:
        client = self._client or RawClient(self._address)
        self._client = client
        try:
            client.send(data if half_closed else data + GOOD)
            if half_closed:
                client.hang_up()
            while (answer := client.receive()) is not None:
                if answer[:4] == GOOD_ID:
                    return
        except ConnectionError:
            pass  # hung up on while we were sending
        self.hung_up += 1
        client.__exit__()
        self._client = None

    # --- what is sent, and whether no more will come

    def _request(self) -> bytearray:
        kind, version = self._random.choice(self._kinds)
        return bytearray(frame(kind, version, self._random))

    def _whole(self) -> tuple[bytes, bool]:
        return _framed(self._request()), False

    def _flipped(self) -> tuple[bytes, bool]:
        whole = self._request()
        for _ in range(self._random.randint(1, 8)):
            whole[self._random.randrange(len(whole))] ^= 1 << self._random.randrange(8)
        return _framed(whole), False

    def _odd(self) -> tuple[bytes, bool]:
        """Counts and lengths that nothing stands behind."""
        whole, odd = self._request(), self._random.choice(ODD)
        at = self._random.randrange(8, len(whole) + 1)
        whole[at : at + len(odd)] = odd
        return _framed(whole), False

    def _cut(self) -> tuple[bytes, bool]:
        whole = self._request()
        return _framed(whole[: self._random.randrange(len(whole))]), False

    def _noise(self) -> tuple[bytes, bool]:
        return _framed(self._random.randbytes(self._random.randrange(200))), False

    def _noise_behind_a_header(self) -> tuple[bytes, bool]:
        kind, version = self._random.choice(self._kinds)
        header = struct.pack(">hhih", kind.API_KEY, version, 1, -1) + b"\0"
        return _framed(header + self._random.randbytes(self._random.randrange(300))), False

    def _unknown(self) -> tuple[bytes, bool]:
        key, version = self._random.randrange(-(2**15), 2**15), self._random.randrange(-(2**15), 2**15)
        return _framed(struct.pack(">hhih", key, version, 1, -1)), False

    def _size(self) -> tuple[bytes, bool]:
        """A frame that says that it is as long as it can say, and is not."""
        return struct.pack(">i", self._random.randrange(-(2**31), 2**31)) + self._random.randbytes(20), True

    def _hanging(self) -> tuple[bytes, bool]:
        """One that ends before its end, and so does the connection."""
        whole = _framed(self._request())
        return whole[: self._random.randrange(1, len(whole))], True


def _framed(body: bytes | bytearray) -> bytes:
    return struct.pack(">i", len(body)) + bytes(body)


def check(served: Served, fuzz: Fuzz, gateway: Gateway) -> None:
    """Nothing failed, each closed connection was counted, the controller leads, and others are served."""
    until(lambda: sum(gateway.counts[kind] for kind in REFUSALS) >= fuzz.hung_up)
    refused = {kind: gateway.counts[kind] for kind in REFUSALS}
    assert sum(refused.values()) == fuzz.hung_up, (refused, fuzz.hung_up)
    assert gateway.counts["failed"] == 0
    assert served.controller.is_active


def memory_mib() -> int:
    """The most that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wire.fuzz")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with Served() as served:
        fuzz = Fuzz(served.address, asked.seed)
        began, before = time.monotonic(), memory_mib()
        while (left := asked.frames - sum(fuzz.sent.values())) > 0:
            fuzz.run(min(left, 10_000))
            check(served, fuzz, served.gateway)
            seconds = round(time.monotonic() - began, 1)
            sys.stdout.write(f"{sum(fuzz.sent.values())} frames, {seconds} s, {memory_mib() - before} MiB more\n")
        sys.stdout.write(f"{dict(fuzz.sent)}\n{dict(served.gateway.counts)}\n")
    return 0


if __name__ == "__main__":
    socket.setdefaulttimeout(DEADLINE_S)
    sys.exit(main(sys.argv[1:]))
