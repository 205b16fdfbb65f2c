"""The addresses of a gateway: which hosts clients get, in which family it listens, when an address goes."""

from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import ExitStack, closing
from itertools import count

import pytest

from kedge.controller.wire import listeners
from kedge.controller.wire.calls import Address
from kedge.controller.wire.listeners import Listeners, callable_host, is_every_address
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served, sockets


def _nobody(_id: int | None, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


def answers(port: int) -> bool:
    """Whether a gateway does, on the IPv4 loopback."""
    with RawClient(Address("127.0.0.1", port)) as client:
        return bool(client.ask("ApiVersions", 0).api_keys)


def hung_up_on(address: Address) -> bool:
    """Whether `_nobody` is there."""
    try:
        with closing(socket.create_connection((address.host, address.port), DEADLINE_S)) as connection:
            return not connection.recv(1)
    except ConnectionRefusedError:
        return False


def test_clients_get_the_advertised_host_with_the_ports_of_the_gateway() -> None:
    with Served(host="127.0.0.1", advertised="localhost") as served:
        told = [served.address, *served.gateway.addresses(RACKS).values()]
        assert {address.host for address in told} == {"localhost"}
        assert all(answers(address.port) for address in told)


def test_every_address_of_the_machine_is_listened_at_only_with_a_host_to_tell() -> None:
    for host in ("0.0.0.0", "::", "", "0", "0x0", "0.0", "::ffff:0.0.0.0"):  # noqa: S104 - nothing listens
        assert is_every_address(host)
        with pytest.raises(ValueError, match="every address of this machine"):
            Listeners(host, 0, _nobody)
        Listeners(host, 0, _nobody, advertised="kafka.example.org")


@pytest.mark.parametrize("host", ["a b", "host:9092", "[::1]", "ä.example", "-a", "x" * 256, "http://a"])
def test_object_that_is_no_host_gets_no_request(host: str) -> None:
    with pytest.raises(ValueError, match="no host that clients can call"):
        Listeners("127.0.0.1", 0, _nobody, advertised=host)


@pytest.mark.parametrize("host", ["localhost", "10.0.0.1", "::1", "fe80::1%eth0", "kafka_1.internal.", "x"])
def test_names_and_addresses_are_hosts(host: str) -> None:
    assert callable_host(host) == host


def test_a_name_is_listened_at_in_one_family() -> None:
    """With a port for each family, clients of one of them would get the other's."""
    with Served(host="localhost") as served:
        for address in (served.address, *served.gateway.addresses(RACKS).values()):
            assert address.host == "localhost"
            assert answers(address.port)


@pytest.mark.parametrize("kept_s, stays", [(0.0, False), (600.0, True)])
def test_the_address_of_a_broker_that_is_gone_for_good_is_closed(kept_s: float, *, stays: bool) -> None:
    """It stays where a broker is only not named now, and comes back with it."""

    async def run() -> None:
        opened = Listeners("127.0.0.1", 0, _nobody, kept_s=kept_s)
        await opened.open()
        first = await opened.of((1, 2))
        await opened.some((1,))
        assert await asyncio.to_thread(hung_up_on, first[2])  # who asks for some says nothing of the others
        await opened.of((1,))
        assert await asyncio.to_thread(hung_up_on, first[1])
        assert await asyncio.to_thread(hung_up_on, first[2]) == stays
        again = await opened.of((1, 2))
        assert await asyncio.to_thread(hung_up_on, again[2])
        assert not stays or again == first
        await opened.close()

    asyncio.run(run())


def test_so_many_addresses_of_brokers_that_are_gone_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the brokers that left last."""
    monkeypatch.setattr(listeners, "GONE_MAX", 2)

    async def run() -> list[bool]:
        opened = Listeners("127.0.0.1", 0, _nobody)
        await opened.open()
        there: dict[int, Address] = {}
        for broker in (4, 3, 2, 1):  # one leaves, the next one comes
            there |= await opened.of((broker,))
        await opened.of(())
        found = [await asyncio.to_thread(hung_up_on, there[broker]) for broker in (4, 3, 2, 1)]
        await opened.close()
        return found

    assert asyncio.run(run()) == [False, False, True, True]


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("how", ["all are closed", "one is closed"])
def test_who_was_accepted_just_before_is_hung_up_on(how: str, turns: int) -> None:
    """And not left to wait for an answer that never comes: however far asyncio was with the client."""

    async def close() -> list[bool]:
        opened = Listeners("127.0.0.1", 0, _nobody, kept_s=0.0)
        await opened.open()
        address = (await opened.some((5,)))[5]
        with ExitStack() as stack:
            clients = [socket.create_connection((address.host, address.port), DEADLINE_S) for _ in range(3)]
            for client in clients:
                stack.enter_context(closing(client))
            for _ in range(turns):
                await asyncio.sleep(0)
            if how == "all are closed":
                await opened.close()
            else:
                await opened.of(())
            found = await asyncio.gather(*(asyncio.to_thread(_is_ended, client) for client in clients))
            await opened.close()
            return found

    assert asyncio.run(close()) == [True] * 3


def _is_ended(client: socket.socket) -> bool:
    try:
        return not client.recv(1)
    except ConnectionResetError:
        return True


def test_many_addresses_are_opened_in_a_few_passes_of_the_loop() -> None:
    """A pass is long while many clients send."""

    async def run() -> int:
        opened, passes = Listeners("127.0.0.1", 0, _nobody), count()
        await opened.open()
        opening = asyncio.create_task(opened.some(tuple(range(100))))
        while not opening.done():
            next(passes)
            await asyncio.sleep(0)
        await opened.close()
        return next(passes)

    assert asyncio.run(run()) < 20


@pytest.mark.parametrize("passes", range(1, 9))
@pytest.mark.parametrize("closes", [False, True])
def test_no_socket_is_lost_when_the_client_that_needed_it_hangs_up(passes: int, *, closes: bool) -> None:
    """However far asyncio was with it, it is the one of its broker, and is closed with all others."""

    async def run() -> None:
        opened = Listeners("127.0.0.1", 0, _nobody)
        before = sockets()
        await opened.open()
        opening = asyncio.create_task(opened.some((1,)))
        for _ in range(passes):
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait([opening])
        if not closes:
            address = (await opened.some((1,)))[1]
            assert await asyncio.to_thread(hung_up_on, address)
        await opened.close()
        gc.disable()  # a collection would close what nothing refers to
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            until(lambda: sockets() <= before)
        finally:
            gc.enable()

    asyncio.run(run())


def test_no_address_is_opened_once_it_is_closed() -> None:
    async def run() -> None:
        opened = Listeners("127.0.0.1", 0, _nobody)
        await opened.open()
        await opened.close()
        with pytest.raises(ConnectionAbortedError):
            await opened.of((1,))

    asyncio.run(run())


def test_refused_address_of_a_broker_that_left_stays_its_own() -> None:
    """It was about to go, since the broker was not registered for long."""

    async def run() -> None:
        found = Listeners("127.0.0.1", 0, _nobody, kept_s=1e-9)
        await found.open()
        try:
            at = (await found.some((1, 2)))[1]
            await found.of(())  # neither is registered
            await found.refuse(1)
            assert await found.of(()) == {}
            assert (await found.some((1,)))[1] == at
            await found.accept(1)
            assert (await found.some((1,)))[1] == at
        finally:
            await found.close()

    asyncio.run(run())
