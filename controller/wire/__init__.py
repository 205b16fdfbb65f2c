"""A gateway that stock Kafka clients drive: Kafka's protocol over the admin and host APIs of a controller.

What goes in: frames of Kafka's protocol over TCP. What comes out: the answers of the controller that stands behind it,
as Kafka words them. The codec is kafka-python's (`kafka.protocol`); messages that it lacks are declared to it in
`messages`.

    limits, errors    what a gateway takes, and how it refuses
    protocol          a frame to a request, an answer to a frame; the only place that knows the codec
    bounds, budget    how much of one request, and of all, is taken
    security/         who a client is, and what that one may do
    peers/            a stand-by passes on what its clients ask
    calls             what a handler is given
    apis/             one handler per API, and the table of them
    connection        one client: frames in, frames out, in order
    session           who one client is
    serving           a frame to its answer, here or by another gateway
    working           a request to its answer: how much it is, when it has its turn, what is done beside the loop
    listeners         the addresses: one that everybody may begin at, and one per broker id
    gateway           what a host starts and stops
    cluster_id        the id that clients know the cluster by, and what else a store holds once
    data/             records: Produce, Fetch, ListOffsets, where brokers keep them
"""

from __future__ import annotations

from controller.model.extras import missing

try:
    import kafka  # noqa: F401 - only tried
    import scramp  # noqa: F401
except ImportError as error:
    raise ImportError(missing("wire", error)) from error

from controller.wire.gateway import Gateway
from controller.wire.limits import Limits
from controller.wire.peers import Peers
from controller.wire.security.acls import Acls, Authorizer, allow_all
from controller.wire.security.tls import Tls
from controller.wire.security.users import Users

__all__ = ["Acls", "Authorizer", "Gateway", "Limits", "Peers", "Tls", "Users", "allow_all"]
