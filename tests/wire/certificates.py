"""An authority of certificates, for a test.

From Python 3.13 on, certificates are verified strictly: the authority has to say that it signs, and both name its key.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.kit.private import write_private

DAY = dt.timedelta(days=1)
_USES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
_SIGNS = x509.KeyUsage(
    **dict.fromkeys(_USES, False), key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False
)


@attrs.frozen
class Signed:
    certificate: Path
    key: Path


class Authority:
    """Signs certificates; `file` is its own. All in `folder`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = (
            _builder(self._name, self._name, self._key, 30)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_SIGNS, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        )
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, days: int = 30, organization: str | None = None) -> Signed:
        """For 127.0.0.1; `days` below 0: it is over since then."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        local = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = (
            _builder(subject, self._name, key, days)
            .add_extension(local, critical=False)
            .add_extension(issuer, critical=False)
        )
        signed = Signed(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        signed.certificate.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        write_private(
            signed.key,
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )
        return signed


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    end = dt.datetime.now(dt.UTC) + days * DAY
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - 60 * DAY)
        .not_valid_after(end)
    )
