"""Brokers that are processes of their own, somewhere else: they register and beat, and are told by TCP what to do.

host        what is called by the controller (`controller.model.host.Host`), and asks the broker
orders      the controller's requests as the broker's messages, its answers back; nothing is sent here
link        one connection to a broker: which versions it speaks, a request, its answer, in time
sessions    BrokerRegistration and BrokerHeartbeat: who is alive
in_sync     AlterPartition: a leader says who is in sync
leaving     ControlledShutdown: a broker goes in good order
reporting   ReportLogs: what its logs hold
obeying     the other side: brokers of this process take orders of controllers elsewhere
received    those orders as the requests that they were made of
sound       whether such an order can be one

host = RemoteHost()
controller = Controller(store, 1, host)
host.attach(controller)
controller.start()
gateway = Gateway(controller, apis=with_remote_brokers())
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.wire.apis import APIS
from controller.wire.apis.versions import table
from controller.wire.calls import Api
from controller.wire.remote.host import RemoteHost
from controller.wire.remote.in_sync import IsrChanges
from controller.wire.remote.leaving import LEAVING
from controller.wire.remote.obeying import with_orders
from controller.wire.remote.reporting import REPORTS
from controller.wire.remote.sessions import Sessions
from controller.wire.security.client import Credentials

SESSION_S = 9.0


def with_remote_brokers(base: Mapping[int, Api] = APIS, *, session_s: float = SESSION_S) -> dict[int, Api]:
    """What a gateway answers (`Gateway(apis=...)`), with what remote brokers ask for. A broker that does not beat for
    `session_s` is dead. One table per gateway. ValueError for a time that is not positive."""
    apis = {**base}
    for api in (*Sessions(session_s).table, IsrChanges().api, LEAVING, REPORTS):
        apis[api.messages.api_key] = api
    apis.update((api.messages.api_key, api) for api in table(apis))
    return apis


__all__ = ["Credentials", "RemoteHost", "with_orders", "with_remote_brokers"]
