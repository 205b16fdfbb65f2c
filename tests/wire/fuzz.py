"""Broken frames against gateways: `python -m tests.wire.fuzz --frames 1000000 --seed 1`.

Each frame is sent on a connection of its own, or on one that was answered before, and a good request is sent behind it.
So there are two ends, and nothing else: the answer of the good request, or the gateway hung up and counted why.
The same seed, the same frames.
"""

from __future__ import annotations

import argparse
import logging
import resource
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any, Final

from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.producer import ProduceRequest

from kedge.controller.host import Controller
from kedge.controller.wire import Gateway
from kedge.controller.wire.errors import Refused
from kedge.controller.wire.protocol import build
from tests.kit.waiting import until
from tests.wire.attack_frames import heavy
from tests.wire.fuzzed import KEPT, Target, targets
from tests.wire.packed import bomb
from tests.wire.requests_made import AtLimits, every_version, frame
from tests.wire.served import DEADLINE_S, RawClient

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
BLOCK: Final = 10_000
BOMB_MIB: Final = (17, 900)  # what a batch unpacks to
HEAVY_EACH: Final = 5_000  # one of so many frames has up to two million elements, and takes ten seconds


class Fuzz:
    """Makes frames and sends them. `sent` counts them by kind, `hung_up` those that ended a connection. `attacks`: some
    are as large as those of attacks."""

    def __init__(self, target: Target, seed: int, *, attacks: bool = False) -> None:
        self._target = target
        self._random, self._limits, self._rare = Random(seed), AtLimits(seed), Random(seed)
        self._kinds = every_version(dict(target.apis))
        self._bombs = [bomb(mib) for mib in BOMB_MIB] if ProduceRequest.API_KEY in target.apis else []
        self._heavies = [each for each in heavy(KEPT).values() if attacks and each.key in target.apis]
        self._client: RawClient | None = None
        self.sent: Counter[str] = Counter()
        self.hung_up = 0

    def run(self, frames: int) -> None:
        ways: list[Callable[[], tuple[bytes, bool]]] = [
            self._flipped,
            self._odd,
            self._cut,
            self._noise,
            self._noise_behind_a_header,
            self._unknown,
            self._size,
            self._hanging,
            self._whole,
            self._at_limits,
        ]
        if self._bombs:
            ways += [self._bomb, self._time_in_a_bomb]
        if self._target.name == "tls":
            ways.append(self._no_tls)
        for _ in range(frames):
            is_heavy = not self._rare.randrange(HEAVY_EACH) and self._heavies
            way = self._heavy if is_heavy else self._random.choice(ways)
            self.sent[way.__name__.strip("_")] += 1
            data, half_closed = way()
            if way == self._no_tls:
                self._close()
                self._client = self._target.bare()
            self._send(data, half_closed)
        self._close()

    def _close(self) -> None:
        if self._client is not None:
            self._client.__exit__()
            self._client = None

    def _send(self, data: bytes, half_closed: bool) -> None:
        client = self._client or self._target.connect()
        self._client = client
        try:
            client.send(data if half_closed else data + GOOD)
            if half_closed:
                client.hang_up()
            while (answer := client.receive()) is not None:
                if answer[:4] == GOOD_ID:
                    return
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            # hung up on while we were sending
        self.hung_up += 1
        self._close()

    # --- what is sent, and whether no more will come

    def _request(self) -> bytearray:
        kind, version = self._random.choice(self._kinds)
        return bytearray(frame(kind, version, self._random))

    def _whole(self) -> tuple[bytes, bool]:
        return _framed(self._request()), False

    def _at_limits(self) -> tuple[bytes, bool]:
        """Well-formed, with ids, epochs and counts at the limits of their types."""
        kind, version = self._random.choice(self._kinds)
        return _framed(frame(kind, version, self._limits)), False

    def _bomb(self) -> tuple[bytes, bool]:
        """Records that unpack to far more than they are."""
        part = {"index": 0, "records": self._random.choice(self._bombs)}
        topics = [{"name": KEPT, "partition_data": [part]}]
        fields = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": topics}
        return _asked(ProduceRequest, 7, fields), False

    def _time_in_a_bomb(self) -> tuple[bytes, bool]:
        """To answer it, records have to be read."""
        part = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": self._random.choice([0, 1, -3])}
        topics = [{"name": KEPT, "partitions": [part]}]
        return _asked(ListOffsetsRequest, 7, {"replica_id": -1, "isolation_level": 0, "topics": topics}), False

    def _heavy(self) -> tuple[bytes, bool]:
        """What an attack sends, at its size or at a part of it."""
        chosen = self._rare.choice(self._heavies)
        return chosen.frame(max(1, chosen.size // self._rare.choice([1, 10, 100]))), False

    def _no_tls(self) -> tuple[bytes, bool]:
        """What begins no handshake, where one is due."""
        return self._random.randbytes(self._random.randrange(1, 200)), True

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


def _asked(kind: Any, version: int, fields: dict[str, Any]) -> bytes:
    request = build(kind, version, fields)
    request.with_header(1, None)
    return bytes(request.encode(header=True, framed=True))


def check(controller: Controller, fuzz: Fuzz, gateway: Gateway) -> None:
    """Nothing failed, each closed connection was counted, the controller leads, and others are served."""
    until(lambda: sum(gateway.counts[kind] for kind in REFUSALS) >= fuzz.hung_up)
    refused = {kind: gateway.counts[kind] for kind in REFUSALS}
    assert sum(refused.values()) == fuzz.hung_up, (refused, fuzz.hung_up)
    assert gateway.counts["failed"] == 0
    assert controller.is_active


def memory_mib() -> int:
    """The most that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def answer_ms(target: Target) -> float:
    """The median of what a good request takes, of 500 on a connection of their own."""
    times = []
    with target.connect() as client:
        for _ in range(500):
            began_s = time.perf_counter()
            client.send(GOOD)
            client.receive()
            times.append(time.perf_counter() - began_s)
    return median(times) * 1000


def main(arguments: list[str]) -> None:
    """Prints, after each block, how much memory was taken since the beginning, and of each gateway whether it answers
    as fast as before."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.fuzz")
    parser.add_argument("--frames", type=int, default=1_000_000, help="for all gateways together")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with targets() as attacked:
        fuzzes = [Fuzz(target, options.seed, attacks=True) for target in attacked]
        fast = [answer_ms(target) for target in attacked]
        began_s, before, sent = time.monotonic(), memory_mib(), 0
        while sent < options.frames:
            block = min(BLOCK, options.frames - sent)
            for number, (target, fuzz) in enumerate(zip(attacked, fuzzes, strict=True)):
                fuzz.run(block // len(attacked) + (number < block % len(attacked)))
                check(target.controller, fuzz, target.gateway)
            sent += block
            seconds, more = round(time.monotonic() - began_s, 1), memory_mib() - before
            sys.stdout.write(f"{sent} frames, {seconds} s, {more} MiB more\n")
            sys.stdout.flush()
        for target, fuzz, before_ms in zip(attacked, fuzzes, fast, strict=True):
            sys.stdout.write(f"{target.name}: {dict(fuzz.sent)}\n  {dict(target.gateway.counts)}\n")
            sys.stdout.write(f"  an answer took {before_ms:.2f} ms before, and {answer_ms(target):.2f} ms after\n")


if __name__ == "__main__":
    socket.setdefaulttimeout(DEADLINE_S)
    # What is refused is meant to be; a log of it would look like failures.
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    main(sys.argv[1:])
