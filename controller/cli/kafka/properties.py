"""Properties files in Java's format, and the settings of a connection that they hold: TLS, SASL, timeouts."""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...model import numerals
from ...model.sensitive_configs import is_password
from ..printing import one_line
from .errors import Failed

_SPLIT: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAME: Final = re.compile(r"[!-~]+")
_UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")  # characters that no text has
_CERTIFICATES: Final = {"ssl.keystore.certificate.chain", "ssl.truststore.certificates"}  # passwords by type alone
_NAMED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """The properties in the file; of a key that is there twice, the last value. Raises Failed, also for passwords in a
    file that other users may read or change."""
    from ....stores.reading import read_whole, require_private  # noqa: PLC0415 - stores are loaded where a file is read

    try:
        data = read_whole(path, mib_max=1)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or one_line(error)}") from None
    try:
        text = data.decode("utf-8-sig")  # an editor on Windows begins the file with a byte order mark
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what Java's own files were written in
    wrong = next((number for number, line in enumerate(text.split("\n"), 1) if _UNPRINTED.search(line)), None)
    if wrong is not None:
        raise Failed(f"{path}: expected a properties file, line {wrong} is not text")
    found = parse_properties(text)
    strange = next((name for name in found if not _NAME.fullmatch(name)), None)
    if strange is not None:
        raise Failed(f"{path}: expected a properties file, {strange!a:.80} is not a name")
    if any(is_password(name) for name in found.keys() - _CERTIFICATES):
        try:
            require_private(path)
        except OSError as error:
            raise Failed(f"{path}: {error.strerror}") from None
    return found


def parse_properties(text: str) -> dict[str, str]:
    found = {}
    for line in _logical_lines(text):
        matched = _SPLIT.fullmatch(line)
        if matched is not None:
            found[_unescaped(matched[1])] = _unescaped(matched[2])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and empty ones; those that end with an odd number of backslashes go on in the next."""
    begun = ""
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        whole = begun + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            begun = whole[:-1]
            continue
        begun = ""
        yield whole
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    def meant(found: re.Match[str]) -> str:
        escaped = found[1]
        return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _NAMED.get(escaped, escaped)

    return _ESCAPE.sub(meant, text)


REQUEST_MS: Final = 30_000
CONNECT_MS: Final = 10_000
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULE: Final = re.compile(
    r"[\w.]+\.(PlainLoginModule|ScramLoginModule)\s+(?:required|requisite|sufficient|optional)\b(.*)", re.DOTALL
)
_OPTION: Final = re.compile(r"\s+(\w+)\s*=\s*(?:\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|([^\s;\"']+))")


def settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """What a connection needs besides the servers, by name. Raises Failed, which names the property."""
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
    found = numerals.whole(given, 1, numerals.INT_MAX)
    if found is None:
        raise Failed(f"{name}: expected milliseconds, got {given!r:.80}")
    return found


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
        raise Failed("sasl.jaas.config: expected username and password")
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
    from ....stores.reading import require_private  # noqa: PLC0415 - as above

    location, password = properties.get("ssl.keystore.location"), properties.get("ssl.key.password", "")
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    try:
        if location is not None:
            _check_pem(properties, "ssl.keystore")
            require_private(location)
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
            f"{store}.type: expected PEM, got {kind}; "
            f"`keytool -list -rfc -keystore {location}` prints certificates, `openssl pkcs12 -in {location}` keys too"
        )


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error) or type(error).__name__
