"""ACLs, quotas of clients, and the list of SCRAM credentials: what clients ask any node.

Kafka's brokers keep them in ZooKeeper themselves, and a client asks the node that it finds first, which may be the
controller. So the request is sent to a broker, and its answer is the answer here. The broker sees the login of this
controller, so the right of the client is checked here, by the operation that Kafka requires.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import attrs

from ...model.errors import RequestTimedOut
from ...model.values import BrokerRegistration
from ...model.view import ClusterView
from ..apis import acls
from ..calls import Api, Call, on_cluster
from ..link import NotDelivered
from ..messages import messages_of
from ..protocol import Answer, Request
from ..remote import RemoteHost

log = logging.getLogger(__name__)
_ROWS: Final = (
    (messages_of("DescribeClientQuotas", range(2)), on_cluster("DESCRIBE_CONFIGS"), True),
    (messages_of("DescribeUserScramCredentials", range(1)), on_cluster("DESCRIBE"), True),
    (messages_of("AlterClientQuotas", range(2)), on_cluster("ALTER_CONFIGS", "entries", "entries"), False),
)
"""The messages, the right that a client needs, and whether the request only reads."""


class AnyBroker:
    """The handlers of one gateway. `brokers` connects to them."""

    def __init__(self, brokers: RemoteHost) -> None:
        self._brokers = brokers

    def table(self) -> Iterator[Api]:
        """The rows. Each request may be repeated without harm, since it states what there is afterwards."""
        yield from (attrs.evolve(api, handler=self.ask) for api in acls.TABLE)
        yield from (Api(messages, self.ask, access, reads=reads) for messages, access, reads in _ROWS)

    async def ask(self, call: Call, request: Request) -> Answer:
        """The answer of the first broker that gives one. Raises RequestTimedOut where none does."""
        for broker in await call.query(_live):
            try:
                return await asyncio.to_thread(self._asked, broker, call, request)
            except NotDelivered as error:
                log.warning("broker %d did not answer a client's %s: %r", broker.broker_id, call.messages.name, error)
        raise RequestTimedOut("no broker answers")

    def _asked(self, broker: BrokerRegistration, call: Call, request: Request) -> Answer:
        """Raises NotDelivered."""
        with closing(self._brokers.connect(broker)) as link:
            link.version_of(attrs.evolve(call.messages, versions=range(call.version, call.version + 1)))
            answer: Answer = link.ask(call.messages, call.version, request.to_dict()).to_dict()
        return answer


def _live(view: ClusterView) -> tuple[BrokerRegistration, ...]:
    return tuple(view.brokers[broker].registration for broker in sorted(view.brokers))
