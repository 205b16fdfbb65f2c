"""Brokers that are processes elsewhere: they register and send heartbeats, and get the controller's requests by TCP.

host        the controller's host (`kedge.controller.model.host.Host`), which sends requests to the broker
orders      the controller's requests as the broker's messages, its answers back; nothing is sent here
sessions    BrokerRegistration and BrokerHeartbeat: which brokers are alive
in_sync     AlterPartition: a leader changes its isr
leaving     ControlledShutdown: a broker hands over its leaderships
reporting   ReportLogs: the state of a broker's logs
obeying     the other side: brokers of this process take requests of controllers elsewhere
received    those messages back as the requests that they were made from

host = RemoteHost()
controller = Controller(store, 1, host)
host.attach(controller)
controller.start()
gateway = Gateway(controller, apis=with_remote_brokers())
"""

from __future__ import annotations

from collections.abc import Mapping

from ..apis import APIS
from ..apis.versions import with_apis
from ..calls import Api
from ..security.client import Credentials as Credentials
from .host import RemoteHost as RemoteHost
from .in_sync import IsrChanges
from .leaving import LEAVING
from .obeying import with_orders as with_orders
from .reporting import REPORTS
from .sessions import Sessions

SESSION_S = 9.0
BROKERS_MAX = 200


def with_remote_brokers(
    base: Mapping[int, Api] = APIS, *, session_s: float = SESSION_S, brokers_max: int = BROKERS_MAX
) -> dict[int, Api]:
    """The APIs of a gateway (`Gateway(apis=...)`), with those of remote brokers. A broker without a heartbeat for
    `session_s` is dead; `brokers_max` may be registered at a time. One table per gateway. Raises ValueError for a value
    that is not positive."""
    return with_apis(base, (*Sessions(session_s, brokers_max).table, IsrChanges().api, LEAVING, REPORTS))
