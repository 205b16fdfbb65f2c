"""The connections of a gateway's clients: which are accepted, and when they wait or are closed.

In: new connections, with the broker whose address was called. Each is served by `connection.run` in a task of its own,
and whatever ends one affects no other. All methods run on the loop of the gateway.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, cast

from ..model.errors import ApiError
from . import connection
from .admission import Admission, Client
from .answers import Budget
from .calls import Address
from .errors import LoginOver, Refused
from .limits import Limits
from .security.files import LOOK_S
from .security.refusals import origin
from .security.tls import HANDSHAKE_S, agree
from .serving import Service

LEAVING_S: Final = 5.0
"""How long a client may read on after the gateway has closed its connection."""
log = logging.getLogger(__name__)


class Clients:
    """`service` answers their frames. `tls`: with which they connect; None: without. `counts`: of the gateway.
    `called`: the address of a broker (None: the common one) at a port, as gateways publish it."""

    def __init__(
        self,
        service: Service,
        limits: Limits,
        tls: ssl.SSLContext | None,
        counts: Counter[str],
        called: Callable[[int | None, int], Address],
    ) -> None:
        self._service, self._limits, self._tls, self._counts, self._called = service, limits, tls, counts, called
        self._clients: dict[asyncio.Task[None], Client] = {}
        self._going: dict[int, asyncio.Event] = {}
        self._admission = Admission(limits)
        self._room = Budget(limits.queued_bytes, limits.queued_bytes_per_client)

    def connected(self, broker_id: int | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new client that called the address of this broker, or hang up where there is no room."""
        client = Client(origin(writer.get_extra_info("peername")), broker_id=broker_id)
        gives_way = self._admission.makes_room(client.address)
        if isinstance(gives_way, str):
            self._counts[gives_way] += 1
            writer.transport.abort()
            return
        self._displace(gives_way, "displaced")
        self._admission.came(client)
        if self._tls is not None:
            # The client begins with TLS, which must not be read as a frame.
            cast("asyncio.Transport", writer.transport).pause_reading()
        client.task = task = asyncio.get_running_loop().create_task(self._serve(client, reader, writer))
        self._clients[task] = client
        task.add_done_callback(lambda _: self._admission.left(self._clients.pop(task)))
        task.add_done_callback(lambda _: writer.transport.abort())  # also if the task never began

    async def hang_up(self, broker_id: int | None = None) -> None:
        """On all clients, or on those that called the address of this broker."""
        clients = [task for task, client in self._clients.items() if broker_id in {None, client.broker_id}]
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    async def pause(self, broker_id: int) -> None:
        """Those at the address of this broker get no answer until `resume`."""
        self._goes_on(broker_id).clear()

    async def resume(self, broker_id: int) -> None:
        """Nothing happens where they are not paused."""
        self._goes_on(broker_id).set()

    async def watch_logins(self) -> None:
        """Close connections whose user was removed or got other credentials, idle ones and waiting ones as well."""
        while True:
            await asyncio.sleep(LOOK_S)
            for task, client in list(self._clients.items()):
                if client.session is not None and client.session.is_removed:
                    log.info("a connection of %s is closed: the user was removed or changed", client.session.principal)
                    self._counts[LoginOver.kind] += 1
                    task.cancel()

    def _goes_on(self, broker_id: int) -> asyncio.Event:
        if broker_id not in self._going:
            self._going[broker_id] = asyncio.Event()
            self._going[broker_id].set()
        return self._going[broker_id]

    def _logged_in(self, client: Client) -> None:
        gives_way = self._admission.logged_in(client)
        self._displace(gives_way, "too_many_from_one" if gives_way is client else "displaced")

    def _displace(self, client: Client | None, kind: str) -> None:
        if client is not None and client.task is not None:
            self._counts[kind] += 1
            client.task.cancel()

    async def _serve(self, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_cut_off = False
        try:
            if client.broker_id is not None:  # a paused broker does not even shake hands
                await self._goes_on(client.broker_id).wait()
            if self._tls is not None:
                await agree(writer, self._tls, min(HANDSHAKE_S, self._limits.login_s))
            self._counts["connections"] += 1
            await self._answer(client, reader, writer)
        except Refused as refused:
            self._counts[refused.kind] += 1
            is_cut_off = refused.cuts_off
            _forget(refused)
        except ApiError as error:  # before OSError, which some of these are, too
            self._counts["unanswered"] += 1
            log.info("a request was not answered: %r", error)
            _forget(error)
        except OSError:  # of the socket, or of TLS
            self._counts["lost"] += 1
            is_cut_off = True
        except Exception:
            self._counts["failed"] += 1
            log.exception("the gateway failed to serve a request")
        except asyncio.CancelledError:
            is_cut_off = True  # it is hung up on
        finally:
            if not is_cut_off:
                await _leave(writer)

    async def _answer(self, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker_id, certificate = client.broker_id, writer.get_extra_info("peercert")
        called = self._called(broker_id, writer.get_extra_info("sockname")[1])
        client.session = self._service.session(broker_id, certificate, client.address, called)
        client.session.logged_in = partial(self._logged_in, client)
        client.session.goes_on = None if broker_id is None else self._goes_on(broker_id)
        if client.session.is_known:
            self._logged_in(client)
        await connection.run(reader, writer, self._limits, self._room, client.session)


def _forget(error: Exception) -> None:
    """Let go of the client's frame. The traceback holds it, and futures in it hold the error: only a collection would
    free them, and one comes late where a few objects hold many megabytes."""
    error.__traceback__ = None


async def _leave(writer: asyncio.StreamWriter) -> None:
    """Close the connection; the client has a moment to read what was written. `close` alone would wait for ever for a
    client that does not read."""
    writer.close()
    with suppress(OSError, asyncio.CancelledError):  # TimeoutError is an OSError
        async with asyncio.timeout(LEAVING_S):
            await writer.wait_closed()
