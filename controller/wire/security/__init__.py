"""Who a client is, and what that one may do.

    files     a file that is read again when it changed
    users     names and salted passwords, from a mapping or a file
    sasl      how a client says who it is: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    refusals  how long who logs in wrongly waits
    tls       certificates: ours, and those of clients
    acls      who may do what, of a file
    access    what each API asks for, and the answer to who may not

Principals are written as Kafka writes them: `User:alice`, `User:CN=alice,O=x` of a certificate, `User:ANONYMOUS` where
nobody has to say who they are.
"""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
