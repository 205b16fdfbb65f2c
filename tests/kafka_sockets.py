"""kafka-python 3.0 leaves the socket of a refused connection open. Python would warn of it in whichever test comes
later, and warnings are errors here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.net.inet import KafkaNetSocket


@pytest.fixture(scope="session", autouse=True)
def sockets_of_kafka_python_are_closed() -> Iterator[None]:
    connect = KafkaNetSocket.sock_connect

    async def closing(self: KafkaNetSocket, net: Any, sock: Any, *rest: Any, **named: Any) -> Any:
        try:
            return await connect(self, net, sock, *rest, **named)
        except BaseException:
            sock.close()
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KafkaNetSocket, "sock_connect", closing)
        yield
