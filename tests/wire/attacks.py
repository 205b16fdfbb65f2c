"""Attacks on a gateway: what one client may do to stop the others, or to use up memory.

    python -m tests.wire.attacks metadata-names 127.0.0.1:9092 --seconds 30

An attack goes on until it is cancelled. What the gateway answers does not matter to it: it sends again, and opens again
what the gateway closes. `benchmarks/hostile.py` and the soak look at other clients meanwhile; the fuzzer sends the
frames of `attack_frames` alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import struct
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from itertools import cycle, islice
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs
from kafka.protocol.consumer.group import JoinGroupResponse

from kedge.controller.wire.calls import Address
from kedge.controller.wire.messages import MESSAGES
from tests.wire import attack_frames as frames
from tests.wire.asking import new_topic
from tests.wire.served import frame_of, framed

T = TypeVar("T")
PREFIX: Final = "attacked-"
"""Of the topics and the groups that attacks use."""
SOURCES: Final = ("127.0.0.1", "127.0.0.2")
_COMPACTED: Final = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0"}
_FEW_BYTES: Final = {"retention.bytes": "4000000"}
_PAUSE_S: Final = 0.01
_ASKED_AT_ONCE: Final = 8
_OPENED_AT_ONCE: Final = 8
_CLIENT_BYTES: Final = 10_000
_BROKERS_FROM: Final = 10_000
_TURN: Final = 20  # brokers that register between two rounds of heartbeats
_LOW_PRIORITY: Final = 10  # an attacker has processors of its own; this one leaves those of the gateway to it


@attrs.frozen(eq=False)
class Aim:
    """What is attacked: the address of the gateway, the name and the password with which clients log in (None: they
    need none), and the address of the status page. `begun`: set once everything is prepared. `opening`: held until a
    moment after a connection was opened: some of a thousand at once would be lost in the queue of the listener."""

    at: Address
    login: tuple[str, str] | None = None
    page: Address | None = None
    begun: asyncio.Event = attrs.field(factory=asyncio.Event)
    opening: asyncio.Semaphore = attrs.field(factory=lambda: asyncio.Semaphore(_OPENED_AT_ONCE))


@attrs.frozen(eq=False)
class _Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        """The next frame without its size."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def ask(self, api: str, version: int, **fields: Any) -> Any:
        await self.send(framed(frame_of(api, version, **fields)))
        return MESSAGES[f"{api}Response"].decode(await self.receive(), version=version, header=True)


@asynccontextmanager
async def _connected(aim: Aim, at: Address, source: str | None = None) -> AsyncIterator[_Client]:
    local = None if source is None else (source, 0)
    await aim.opening.acquire()
    try:
        reader, writer = await asyncio.open_connection(at.host, at.port, local_addr=local)
    finally:
        asyncio.get_running_loop().call_later(_PAUSE_S, aim.opening.release)
    try:
        yield _Client(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def _logged_in(aim: Aim, at: Address | None = None) -> AsyncIterator[_Client]:
    async with _connected(aim, at or aim.at) as client:
        if aim.login is not None:
            await client.ask("SaslHandshake", 1, mechanism="PLAIN")
            token = "\0".join(("", *aim.login)).encode()
            await client.ask("SaslAuthenticate", 2, auth_bytes=token)
        yield client


async def _until(once: Callable[[], Awaitable[T]]) -> T:
    """The first result of `once` that is true, whatever the gateway refuses or closes before."""
    while True:
        with suppress(OSError, EOFError):
            if found := await once():
                return found
        await asyncio.sleep(_PAUSE_S)


async def _held(opens: Callable[[], AbstractAsyncContextManager[_Client]], sent: bytes) -> None:
    """A connection on which `sent` was sent, and nothing else. It is opened again when the gateway closes it."""

    async def once() -> None:
        async with opens() as client:
            await client.send(sent)
            await client.reader.read()

    await _until(once)


async def _repeated(aim: Aim, frame: bytes, at: Callable[[], Awaitable[Address]] | None = None) -> None:
    """The frame again and again. `at`: where, if it is not the common address."""
    aim.begun.set()

    async def once() -> None:
        async with _logged_in(aim, None if at is None else await at()) as client:
            while True:
                await client.send(frame)
                await client.receive()

    await _until(once)


# --- what has to be there


async def _topic(
    aim: Aim, name: str, partitions: int = 1, configs: Mapping[str, str] = MappingProxyType({})
) -> dict[Address, list[int]]:
    """Creates the topic if it is missing; the partitions that each address leads, once all are led."""
    creates = {"topics": [new_topic(name, partitions, 1, configs=configs)], "timeout_ms": 10_000}

    async def once() -> dict[Address, list[int]] | None:
        async with _logged_in(aim) as client:
            await client.ask("CreateTopics", 5, **creates, validate_only=False)
            led = await _leaders(client, name)
        return led if sum(map(len, led.values())) >= partitions else None

    return await _until(once) or {}


async def _leaders(client: _Client, topic: str) -> dict[Address, list[int]]:
    said = await client.ask("Metadata", 8, topics=[{"name": topic}])
    places = {broker.node_id: Address(broker.host, broker.port) for broker in said.brokers}
    led: dict[Address, list[int]] = {}
    for part in said.topics[0].partitions:
        if part.leader_id in places:
            led.setdefault(places[part.leader_id], []).append(part.partition_index)
    return led


async def _leader(aim: Aim, topic: str, configs: Mapping[str, str]) -> Address:
    """Of a topic with one partition."""
    return next(iter(await _topic(aim, topic, configs=configs)))


async def _coordinator(aim: Aim, group: str) -> Address:
    async def once() -> Address | None:
        async with _logged_in(aim) as client:
            found = await client.ask("FindCoordinator", 2, key=group, key_type=0)
        return None if found.error_code else Address(found.host, found.port)

    return await _until(once) or aim.at


# --- the attacks


def _heavy(name: str) -> Callable[[Aim, int], Awaitable[object]]:
    """One frame, again and again."""
    return lambda aim, size: _repeated(aim, frames.heavy("")[name].frame(size))


async def _announced(aim: Aim, size: int) -> None:
    """Frames of 100 MiB, of which ten bytes come."""
    aim.begun.set()
    await asyncio.gather(*(_held(partial(_logged_in, aim), frames.ANNOUNCED) for _ in range(size)))


async def _compacted(aim: Aim, size: int) -> None:
    """Batches of so many records to a compacted topic."""
    topic = f"{PREFIX}compacted"
    await _repeated(aim, frames.produced(topic, frames.batch(size)), partial(_leader, aim, topic, _COMPACTED))


async def _offsets_of_time(aim: Aim, size: int) -> None:
    """ListOffsets of a time that no record has, though a batch of so many records says so."""
    topic = f"{PREFIX}times"
    at = await _leader(aim, topic, _FEW_BYTES)
    with suppress(OSError, EOFError):
        async with _logged_in(aim, at) as client:
            await client.send(frames.produced(topic, frames.batch(size, frames.FORGED_MS)))
            await client.receive()
    frame = frames.offsets_of_time(topic, 100)
    where = partial(_leader, aim, topic, _FEW_BYTES)
    await asyncio.gather(*(_repeated(aim, frame, where) for _ in range(_ASKED_AT_ONCE)))


async def _long_polls(aim: Aim, size: int) -> None:
    """So many Fetch at once that wait, each for its share of so many partitions without records."""
    topic = f"{PREFIX}polled"
    led = await _topic(aim, topic, size)

    async def poll(at: Address) -> None:
        async with _logged_in(aim, at) as client:
            while True:
                await client.send(frames.polled(topic, led[at]))
                await client.receive()

    aim.begun.set()
    await asyncio.gather(*(_until(partial(poll, at)) for at in islice(cycle(led), size)))


async def _pending_members(aim: Aim, size: int) -> None:
    """Requests for a member id that is never used, so many at a time."""
    group = f"{PREFIX}pending"
    at, asked = await _coordinator(aim, group), frames.joined(group, client_bytes=_CLIENT_BYTES) * size

    async def once() -> None:
        async with _logged_in(aim, at) as client:
            while True:
                sending = asyncio.ensure_future(client.send(asked))
                for _ in range(size):
                    await client.receive()
                await sending

    aim.begun.set()
    await _until(once)


async def _many_protocols(aim: Aim, size: int) -> None:
    """Three members of a group, each with so many protocols."""
    group = f"{PREFIX}protocols"
    at = await _coordinator(aim, group)

    async def once() -> None:
        async with _logged_in(aim, at) as client:
            await client.send(frames.joined(group))
            joined = JoinGroupResponse.decode(await client.receive(), version=4, header=True)
            frame = frames.joined(group, joined.member_id, size)
            while True:
                await client.send(frame)
                await client.receive()

    aim.begun.set()
    await asyncio.gather(*(_until(once) for _ in range(3)))


async def _idle(aim: Aim, size: int) -> None:
    """So many connections of two addresses, without a login."""
    aim.begun.set()
    opens = (partial(_connected, aim, aim.at, source) for source in islice(cycle(SOURCES), size))
    await asyncio.gather(*(_held(each, b"") for each in opens))


async def _half_requests(aim: Aim, size: int) -> None:
    """So many requests to the status page that do not end."""
    aim.begun.set()
    at = aim.page
    assert at is not None, "the address of a status page is needed"
    await asyncio.gather(*(_held(partial(_connected, aim, at), b"GET / HTTP/1.1\r\n") for _ in range(size)))


async def _brokers(aim: Aim, size: int) -> None:
    """So many brokers that register, are alive, and take no order. They share a listener that accepts nothing."""
    with socket.create_server((SOURCES[0], 0), backlog=size) as silent:
        host, port = silent.getsockname()
        listener = {"name": "PLAINTEXT", "host": host, "port": port, "security_protocol": 0}
        same = {"incarnation_id": uuid.uuid4(), "listeners": [listener]}
        aim.begun.set()
        ids = range(_BROKERS_FROM, _BROKERS_FROM + size)
        shares = (partial(_registered, aim, ids[n::_ASKED_AT_ONCE], same) for n in range(_ASKED_AT_ONCE))
        await asyncio.gather(*map(_until, shares))


async def _registered(aim: Aim, ids: Sequence[int], same: Mapping[str, Any]) -> None:
    """Registers these brokers one after the other, and keeps them alive."""
    async with _logged_in(aim) as client:
        said = await client.ask("Metadata", 8, topics=[])
        epochs: dict[int, int] = {}
        while True:
            for broker_id in [each for each in ids if each not in epochs][:_TURN]:
                asked = {"broker_id": broker_id, "cluster_id": said.cluster_id, **same}
                made = await client.ask("BrokerRegistration", 1, **asked)
                if not made.error_code:
                    epochs[broker_id] = made.broker_epoch
            await _beat(client, epochs)


async def _beat(client: _Client, epochs: dict[int, int]) -> None:
    """A heartbeat of each; those that are not registered any more are removed."""
    for broker_id, epoch in list(epochs.items()):
        asked = {"broker_id": broker_id, "broker_epoch": epoch}
        beaten = await client.ask("BrokerHeartbeat", 1, **asked)
        if beaten.error_code:
            del epochs[broker_id]
    await asyncio.sleep(_PAUSE_S)


@attrs.frozen
class Attack:
    """`what`: the attack in words, with its size. `needs_rights`: its user may create topics that begin with `PREFIX`,
    write and read them, join such groups, and register brokers; the user of any other attack may do nothing."""

    run: Callable[[Aim, int], Awaitable[object]]
    size: int
    what: str
    needs_rights: bool = False


ATTACKS: Final[Mapping[str, Attack]] = {
    "fetch-topics": Attack(_heavy("fetch-topics"), 249_000, "Fetch of {:,} topics without rights"),
    "metadata-names": Attack(_heavy("metadata-names"), 249_000, "Metadata of {:,} topics without rights"),
    "produce-topics": Attack(_heavy("produce-topics"), 249_000, "Produce to {:,} topics without rights"),
    "fetch-partitions": Attack(_heavy("fetch-partitions"), 1_990_000, "Fetch of {:,} partitions without rights"),
    "announced": Attack(_announced, 6, "{:,} frames of 100 MiB that stop after ten bytes"),
    "compacted": Attack(_compacted, 199_000, "batches of {:,} records to a compacted topic", needs_rights=True),
    "offsets-of-time": Attack(
        _offsets_of_time, 199_000, "ListOffsets by a forged time of {:,} records", needs_rights=True
    ),
    "long-polls": Attack(_long_polls, 700, "{:,} long polls of as many partitions", needs_rights=True),
    "pending-members": Attack(_pending_members, 1_000, "JoinGroup without an end, {:,} at a time", needs_rights=True),
    "many-protocols": Attack(_many_protocols, 300_000, "3 members of {:,} protocols each", needs_rights=True),
    "idle": Attack(_idle, 1_000, "{:,} idle connections from two addresses"),
    "half-requests": Attack(_half_requests, 50, "{:,} half requests to the status page"),
    "brokers": Attack(_brokers, 1_500, "{:,} registered brokers that take no order", needs_rights=True),
}


async def attack(name: str, aim: Aim, seconds: float, part: int = 1) -> None:
    """For so long, from the moment when all is prepared. `part`: sizes are divided by it."""
    made = ATTACKS[name]
    running = asyncio.ensure_future(made.run(aim, max(1, made.size // part)))
    prepared = asyncio.ensure_future(aim.begun.wait())
    await asyncio.wait([running, prepared], return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        await asyncio.wait([running], timeout=seconds)
    prepared.cancel()
    if running.done():
        running.result()  # it ends by an error alone
    running.cancel()
    await asyncio.wait([running])


def main(arguments: list[str]) -> None:
    """Prints `begun` when the attack begins."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.attacks")
    parser.add_argument("name", choices=ATTACKS)
    parser.add_argument("at", type=_address, metavar="HOST:PORT", help="of the gateway")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--part", type=int, default=1, help="sizes are divided by it")
    parser.add_argument("--login", metavar="NAME:PASSWORD")
    parser.add_argument("--page", type=_address, metavar="HOST:PORT", help="of the status page")
    asked = parser.parse_args(arguments)
    os.nice(_LOW_PRIORITY)
    login = None
    if asked.login is not None:
        user, _, password = asked.login.partition(":")
        login = (user, password)
    asyncio.run(attack(asked.name, Aim(asked.at, login, asked.page), asked.seconds, asked.part))


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


if __name__ == "__main__":
    main(sys.argv[1:])
