"""Gateways of other controllers: the gateway of a standby forwards its clients' requests to that of the active one.

    directory   the addresses of gateways: each in a key that lives as long as its session
    leading     whether another controller still leads, for all that wait for its answer
    relay       a client's frame, with the client and the called address, from one gateway to another
    links       connections to the active controller's gateway, which clients use in turn
    forwarding  a client's frames to the active controller's gateway
    asking      requests of this process' brokers to the active controller

* A frame is forwarded once. A gateway that gets it without being the leader's answers so, and does nothing.
* Nothing was done where the other gateway answers that it does not lead, was not reached, or did not take the whole
  frame: then the leader is looked for again. Where the answer is lost the outcome is unknown: the client's connection
  is closed, as a dying broker would close it, and the client repeats the request.
* An answer is awaited while the other controller leads, and for `Peers.answer_s` at most, because a process that hangs
  does not answer, and the waiting would block others. A request that only reads is then sent to the next leader.
* Where a connection breaks while the other controller still leads, a request that only reads is repeated once on a new
  connection: if it breaks again, the frame may be the cause.
* The client's identity is accepted from a gateway only: one that knows the secret.
"""

from __future__ import annotations

import ssl

import attrs

from ....stores.base import MetadataStore


@attrs.frozen(kw_only=True)
class Peers:
    """What a gateway needs to find the others. `store`: a client of the controllers' store, with its own session; the
    caller closes it, after the gateway. `secret`: known only to gateways, the same for each; required where clients log
    in. `tls`: for connections to gateways that use TLS, with a certificate where they require one. `host`: where others
    reach this gateway, if that is not where it listens. `is_found`: False for a second gateway of a controller, which
    forwards requests and gets none. `answer_s`: how long a forwarded request may take, including the search for the
    leader; more than the timeouts that requests carry (60 s from Kafka's clients by default). Raises ValueError where
    it is not above 0."""

    store: MetadataStore
    secret: str | None = attrs.field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    host: str | None = None
    is_found: bool = True
    answer_s: float = attrs.field(default=75.0, validator=attrs.validators.gt(0))
