"""Broken frames against gateways: `python -m tests.wire.fuzz --frames 1000000 --seed 1`.

Each frame is sent on a connection of its own, or on one that was answered before, and a good request is sent behind it.
So there are two ends, and nothing else: the answer of the good request, or the gateway hung up and counted why.
The same seed, the same frames.

Another client measures how long it waits for an answer: all the time, and after each block. At the end the gateways
must serve as fast as they did before the first frame. Other work on the machine slows a measurement, so the best of
several counts.
"""

from __future__ import annotations

import argparse
import logging
import resource
import socket
import statistics
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from random import Random
from typing import Any, Final, Self

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
HEAVY_EACH: Final = 1_000  # one of so many frames has up to two million elements
SLOWER_MAX: Final = 1.5  # how many times as long an answer may take after all frames
LONGEST_MS_MAX: Final = 4_000  # that another client waits while frames are sent; the same for a busy machine
MEASURED_MAX: Final = 5  # how often that is measured: other work on the machine is no fault of the gateway


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


def wait_ms(target: Target, rounds: int = 7, asks: int = 100) -> float:
    """How long a client waits for the metadata of a topic, in ms: the lowest median of several rounds."""
    with target.connect() as client:
        return min(statistics.median(_ask_ms(client) for _ in range(asks)) for _ in range(rounds))


def _ask_ms(client: RawClient) -> float:
    began_s = time.perf_counter()
    answer = client.ask("Metadata", 12, topics=[{"name": KEPT}])
    assert [topic.error_code for topic in answer.topics] == [0]
    return (time.perf_counter() - began_s) * 1000


class Beside:
    """A client that asks each gateway in turn while frames are sent. `longest_ms`: what it had to wait at most, by
    gateway."""

    def __init__(self, found: Sequence[Target]) -> None:
        self.longest_ms = dict.fromkeys((target.name for target in found), 0.0)
        self._found = found
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        with ExitStack() as stack:
            clients = {target.name: stack.enter_context(target.connect()) for target in self._found}
            while not self._over.wait(0.05):
                for name, client in clients.items():
                    self.longest_ms[name] = max(self.longest_ms[name], _ask_ms(client))


def _said(waits_ms: dict[str, float]) -> str:
    return ", ".join(f"{name} {wait:.2f} ms" for name, wait in waits_ms.items())


def main(arguments: list[str]) -> int:
    """The exit status: 1 if the gateways serve slower than before, or let another client wait for seconds."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.fuzz")
    parser.add_argument("--frames", type=int, default=1_000_000, help="for all gateways together")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with targets() as found:
        fuzzes = [Fuzz(target, asked.seed, attacks=True) for target in found]
        first = {target.name: wait_ms(target) for target in found}
        sys.stdout.write(f"an answer before: {_said(first)}\n")
        began_s, before, sent, longest_ms = time.monotonic(), memory_mib(), 0, 0.0
        while sent < asked.frames:
            block = min(BLOCK, asked.frames - sent)
            with Beside(found) as beside:
                for number, (target, fuzz) in enumerate(zip(found, fuzzes, strict=True)):
                    fuzz.run(block // len(found) + (number < block % len(found)))
                    check(target.controller, fuzz, target.gateway)
            longest_ms = max(longest_ms, *beside.longest_ms.values())
            sent += block
            last = {target.name: wait_ms(target) for target in found}
            seconds, more = round(time.monotonic() - began_s, 1), memory_mib() - before
            sys.stdout.write(
                f"{sent} frames, {seconds} s, {more} MiB more\n"
                f"  an answer: {_said(last)}\n  at most meanwhile: {_said(beside.longest_ms)}\n"
            )
            sys.stdout.flush()
        slower = _slower(found, first)
        for target, fuzz in zip(found, fuzzes, strict=True):
            sys.stdout.write(f"{target.name}: {dict(fuzz.sent)}\n  {dict(target.gateway.counts)}\n")
    sys.stdout.write(f"slower than before: {', '.join(slower) or 'none'}; longest wait: {longest_ms:.0f} ms\n")
    return 1 if slower or longest_ms > LONGEST_MS_MAX else 0


def _slower(found: Sequence[Target], first: dict[str, float]) -> list[str]:
    """The gateways that are slower than at first, each time that they are measured."""
    slow = list(found)
    for _ in range(MEASURED_MAX):
        slow = [target for target in slow if wait_ms(target) > SLOWER_MAX * first[target.name]]
    return [target.name for target in slow]


if __name__ == "__main__":
    socket.setdefaulttimeout(DEADLINE_S)
    # What is refused is meant to be; a log of it would look like failures.
    logging.getLogger("controller").addHandler(logging.NullHandler())
    sys.exit(main(sys.argv[1:]))
