"""Properties with Java's names, as `--command-config` takes them, become settings of kafka-python.

Rules
* TLS: PEM, as files or in the property itself (KIP-651). Java's own key stores (JKS, PKCS12) cannot be read here; the
  error names the command that converts one.
* SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, with the user of `sasl.jaas.config`.
* A property that tools share and that means nothing here (serializers, retries, ...) is passed over, as Java does.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from controller.cli.kafka.errors import Failed

REQUEST_MS: Final = 30_000
CONNECT_MS: Final = 10_000
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULE: Final = re.compile(
    r"[\w.]+\.(PlainLoginModule|ScramLoginModule)\s+(?:required|requisite|sufficient|optional)\b(.*)", re.DOTALL
)
_OPTION: Final = re.compile(r"\s+(\w+)\s*=\s*(?:\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|([^\s;\"']+))")
_MS_MAX: Final = 2**31 - 1


def settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """Keyword arguments of KafkaAdminClient, without the servers. Raises Failed, which names the property."""
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise Failed(f"security.protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r:.80}")
    found: dict[str, Any] = {
        "security_protocol": protocol,
        "request_timeout_ms": _milliseconds(properties, "request.timeout.ms", REQUEST_MS),
        "bootstrap_timeout_ms": _milliseconds(properties, "socket.connection.setup.timeout.ms", CONNECT_MS),
        "client_id": properties.get("client.id", "kedge"),
    }
    if protocol.startswith("SASL"):
        found |= _sasl(properties)
    if protocol.endswith("SSL"):
        found["ssl_context"] = _context(properties)
    return found


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    given = properties.get(name, "").strip()
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= _MS_MAX):
        raise Failed(f"{name}: expected milliseconds, got {given!r:.80}")
    return int(given)


def _sasl(properties: Mapping[str, str]) -> dict[str, str]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise Failed(f"sasl.mechanism: expected one of {', '.join(MECHANISMS)}, got {mechanism!r:.80}")
    user, password = _login(properties.get("sasl.jaas.config", ""))
    return {"sasl_mechanism": mechanism, "sasl_plain_username": user, "sasl_plain_password": password}


def _login(jaas: str) -> tuple[str, str]:
    """User and password of `...LoginModule required username="u" password="p";`. The text is not repeated in errors."""
    module = _MODULE.match(jaas.strip().removesuffix(";"))
    if module is None:
        raise Failed("sasl.jaas.config: expected a PlainLoginModule or ScramLoginModule with username and password")
    given = {found[1]: _plain(found) for found in _OPTION.finditer(module[2])}
    if not {"username", "password"} <= given.keys():
        raise Failed("sasl.jaas.config: username and password are both needed")
    return given["username"], given["password"]


def _plain(found: re.Match[str]) -> str:
    quoted = found[2] if found[2] is not None else found[3]
    return found[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if properties.get("ssl.endpoint.identification.algorithm", "https").strip() == "":
        context.check_hostname = False
    _trust(context, properties)
    _identify(context, properties)
    return context


def _trust(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    inline, location = properties.get("ssl.truststore.certificates"), properties.get("ssl.truststore.location")
    if inline is None and location is None:
        context.load_default_certs()  # the machine's own authorities
        return
    if location is not None:
        _check_pem(properties, "ssl.truststore")
    try:
        context.load_verify_locations(cafile=location, cadata=inline)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise Failed(f"ssl.truststore: {_said(error)}") from None


def _identify(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    location, password = properties.get("ssl.keystore.location"), properties.get("ssl.key.password", "")
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    try:
        if location is not None:
            _check_pem(properties, "ssl.keystore")
            context.load_cert_chain(location, password=password)
        elif chain is not None and key is not None:
            with tempfile.TemporaryDirectory() as folder:  # readable by its owner alone; ssl reads keys from files only
                file = Path(folder, "client.pem")
                file.write_text(f"{key}\n{chain}\n", encoding="utf-8")
                context.load_cert_chain(file, password=password)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise Failed(f"ssl.keystore: {_said(error)}") from None


def _check_pem(properties: Mapping[str, str], store: str) -> None:
    kind = properties.get(f"{store}.type", "JKS").strip().upper()
    if kind != "PEM":
        location = properties[f"{store}.location"]
        raise Failed(
            f"{store}.type: {kind} cannot be read here, only PEM: "
            f"`keytool -list -rfc -keystore {location}` prints certificates, `openssl pkcs12 -in {location}` keys too"
        )


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error) or type(error).__name__
