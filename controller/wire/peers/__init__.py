"""Gateways of other controllers: a stand-by's passes on to the active one's what its clients ask.

    directory   where each gateway is found: a key that lives as long as its session
    leading     whether somebody else still leads, for all who wait for that one's answer
    relay       a frame of a client's, with who asked and where, from one gateway to another
    forwarding  a client's frames to whoever leads just now
    asking      what brokers of this process have to say to whoever leads

Rules
* A frame is passed on once. Who gets it and does not lead says so, and does nothing.
* Nothing was done where the other gateway says that it does not lead, could not be reached, or did not take the whole
  frame: then whoever leads is looked for again. Where the answer is lost it is not known what was done: the client is
  hung up on, as it would be by a broker that dies, and asks again.
* An answer is waited for while the other leads, and `Peers.answer_s` at most: one that stands still says nothing, and
  who waits for it would keep others out. What only reads is then asked of whoever leads next.
* Where a connection breaks while the other goes on leading, what only reads is asked once more on a new one: a second
  time it may be the frame that breaks it.
* Who asked is believed from a gateway only: one that knows the secret.
"""

from __future__ import annotations

import ssl

import attrs

from stores.base import MetadataStore


@attrs.frozen(kw_only=True)
class Peers:
    """What a gateway needs to find the others. `store`: a client of the controllers' store, with a session of its own;
    closed by whoever made it, after the gateway. `secret`: what only gateways know, the same for each; to be given
    where people log in. `tls`: how others are reached that speak TLS, with a certificate of ours where they ask for
    one. `host`: where others reach this one, where that is not where it listens. `answer_s`: how long a request may
    take that is passed on, with the time in which somebody is looked for; more than the timeouts that requests carry
    (60 s from Kafka's clients, unless they are told otherwise). ValueError where it is not above 0."""

    store: MetadataStore
    secret: str | None = attrs.field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    host: str | None = None
    answer_s: float = attrs.field(default=75.0, validator=attrs.validators.gt(0))
