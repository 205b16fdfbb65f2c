"""A certificate for the brokers of one test."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import attrs

_HOSTS: Final = ("localhost", "127.0.0.1")


@attrs.frozen
class Certificate:
    """PEM files. `ca`: what clients trust, which signed the `chain` of the brokers; `key`: theirs."""

    ca: Path
    chain: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    """For localhost, by an authority that signs nothing else, in `folder`. ImportError with the `pip install` that is
    missing."""
    try:
        import trustme  # noqa: PLC0415 - only where TLS is wanted
    except ImportError as error:
        raise ImportError("tls=True needs another package: pip install 'kedge[testing]'") from error
    authority = trustme.CA()
    issued = authority.issue_cert(*_HOSTS)
    made = Certificate(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
    made.key.touch(mode=0o600)
    issued.private_key_pem.write_to_path(made.key)
    for number, part in enumerate(issued.cert_chain_pems):
        part.write_to_path(made.chain, append=number > 0)
    authority.cert_pem.write_to_path(made.ca)
    return made
