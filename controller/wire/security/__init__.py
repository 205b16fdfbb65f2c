"""The identity of a client, and its rights.

    files     a file that is read again when it changed
    users     names and salted passwords, from a mapping or a file
    sasl      logins: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    refusals  the delay of the answer to a wrong login
    tls       certificates: the gateway's, and those of clients
    acls      the rights of clients, from a file
    access    the right that each API requires, and the answer to a client without it

Principals have Kafka's form: `User:alice`, `User:CN=alice,O=x` of a certificate, `User:ANONYMOUS` where no login is
required.
"""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
