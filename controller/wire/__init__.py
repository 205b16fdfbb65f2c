"""A gateway for stock Kafka clients: Kafka's protocol over the admin and host APIs of a controller.

Frames of Kafka's protocol come in over TCP; the answers of the controller behind it go out in Kafka's form. The codec
is kafka-python's (`kafka.protocol`); messages that it lacks are declared to it in `messages`.

    limits, errors    what a gateway accepts, and how it refuses
    protocol          a frame to a request, an answer to a frame; the only module that uses the codec
    bounds, answers   how much of one request, and of all, is accepted
    security/         the identity of a client, and its rights
    peers/            a gateway on standby forwards the requests of its clients
    calls             the arguments of a handler
    apis/             one handler per API, and the table of them
    connection        one client: frames in, frames out, in order
    session           the identity of one client
    serving           a frame to its answer, from here or from another gateway
    working           a request to its answer: its size, its turn, the work outside the loop
    link              the other side: one connection to a broker, as its client
    listeners         the addresses: a common one, and one per broker id
    gateway           what a host starts and stops
    cluster_id        the cluster id of clients, and the other value that a store has once
    data/             records: Produce, Fetch, ListOffsets, for brokers that keep them
    records           those, and groups, all together
    mirrored          answers with an error, by the schemas
    faults            errors and delays that a test orders
"""

from __future__ import annotations

import warnings

from ..model.extras import missing

with warnings.catch_warnings():  # kafka-python reads its schemas by functions that Python 3.11 and 3.12 warn of
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    try:
        import kafka  # noqa: F401 - only tried
        import scramp  # noqa: F401
    except ImportError as error:
        raise ImportError(missing("wire", error)) from error

    from .gateway import Gateway
    from .limits import Limits
    from .peers import Peers
    from .security.acls import Acls, Authorizer, allow_all
    from .security.tls import Tls
    from .security.users import Users

__all__ = ["Acls", "Authorizer", "Gateway", "Limits", "Peers", "Tls", "Users", "allow_all"]
