"""Parses the url of a ZooKeeper: hosts, chroot, options. It does not use kazoo, and reads only files of passwords.

    zookeeper://h1:2181,h2:2181/chroot?session_timeout=10&connect_timeout=10&auth=digest:user:password&acl=creator

Rules
* An unknown option, a duplicate or an option without a value is an error: a typing mistake must not open a store with
  other rights or another timeout than intended.
* A password may be in `auth` (percent-encoded) or, hidden from `ps`, in the file that `auth_file` or `credentials`
  names, or in the environment (`kedge.stores.credentials`); then `auth` may have the scheme alone. No repr, message or
  log contains a password.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

import attrs

from .. import credentials
from ..base import Invalid, InvalidKey
from ..checks import check_key, seconds_of
from ..reading import read_whole

_SCHEME: Final = "zookeeper://"
_PORT: Final = 2181
_HOST: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_CHROOT_CHARACTERS_MAX: Final = 200
_SECONDS_MAX: Final = 3600.0

ACLS: Final = ("open", "creator", "creator-read")
_AUTH_SCHEMES: Final = ("digest", "sasl")


@attrs.frozen
class Auth:
    """The credentials. `scheme`: "digest" (ZooKeeper's own) or "sasl" (DIGEST-MD5)."""

    scheme: str
    user: str
    password: str = attrs.field(repr=False)


@attrs.frozen
class Tls:
    """PEM files: the authorities that sign servers (None: the system's), the client's certificate and its key."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    verify_hostname: bool = True


@attrs.frozen
class Address:
    """The parts of a url. `chroot` is "" or a key. Timeouts are in seconds; `acl` is one of ACLS."""

    hosts: tuple[str, ...]
    chroot: str = ""
    session_timeout_s: float = 10.0
    connect_timeout_s: float = 10.0
    auth: Auth | None = None
    acl: str = "open"
    tls: Tls | None = None

    def __str__(self) -> str:
        """The url without options, for messages and logs."""
        return f"{_SCHEME}{','.join(self.hosts)}{self.chroot}"


def parse_url(url: str) -> Address:
    """The parts of `url`. Raises Invalid, which names the invalid part, but never a password."""
    if not url.startswith(_SCHEME):
        raise Invalid(f"a ZooKeeper url must be {_SCHEME}HOST:PORT[,HOST:PORT...][/CHROOT][?OPTIONS]")
    place, _, query = url.removeprefix(_SCHEME).partition("?")
    hosts, slash, path = place.partition("/")
    if "@" in hosts:
        raise Invalid("a ZooKeeper url cannot have a user before the hosts: give the option auth=digest:USER:PASSWORD")
    options = _options(query)
    parsed = Address(
        hosts=tuple(_host(host) for host in hosts.split(",")),
        chroot=_chroot(f"/{path}" if slash and path else ""),
        session_timeout_s=_seconds(options, "session_timeout", 10.0),
        connect_timeout_s=_seconds(options, "connect_timeout", 10.0),
        auth=_auth(options),
        acl=_choice(options, "acl", ACLS, "open"),
        tls=_tls(options),
    )
    if options:
        raise Invalid(f"unknown options of a ZooKeeper url: {', '.join(sorted(options))}")
    if parsed.acl != "open" and parsed.auth is None:
        raise Invalid(f"acl={parsed.acl} needs auth=: without it no client could read what is created")
    return parsed


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise Invalid("the options of a ZooKeeper url must be NAME=VALUE, separated by &") from None
    options = dict(pairs)
    if len(options) != len(pairs):
        twice = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise Invalid(f"given twice in a ZooKeeper url: {', '.join(twice)}")
    return options


def _host(text: str) -> str:
    match = _HOST.fullmatch(text)
    port = _PORT if match is None or match["port"] is None else int(match["port"])
    if match is None or not 0 < port < 65536:
        raise Invalid(f"expected HOST or HOST:PORT in a ZooKeeper url, not {text!r:.100}")
    return f"{match['host']}:{port}"


def _chroot(path: str) -> str:
    chroot = unquote(path).removesuffix("/")
    if not chroot:
        return ""
    try:
        check_key(chroot)
    except InvalidKey as error:
        raise Invalid(f"invalid chroot in a ZooKeeper url: {error}") from None
    if len(chroot) > _CHROOT_CHARACTERS_MAX:
        raise Invalid(f"a chroot of {len(chroot)} characters exceeds the limit of {_CHROOT_CHARACTERS_MAX}")
    if f"{chroot}/".startswith("/zookeeper/"):
        raise Invalid("/zookeeper belongs to ZooKeeper and cannot be the chroot")
    return chroot


def _seconds(options: dict[str, str], name: str, default: float) -> float:
    text = options.pop(name, None)
    if text is None:
        return default
    seconds = seconds_of(text)
    if seconds is None or not 0 < seconds <= _SECONDS_MAX:
        raise Invalid(f"{name} must be a number of seconds above 0, at most {_SECONDS_MAX:.0f}, not {text!r:.40}")
    return seconds


def _choice(options: dict[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = options.pop(name, default)
    if value not in choices:
        raise Invalid(f"{name} must be one of {', '.join(choices)}, not {value!r:.40}")
    return value


def _flag(options: dict[str, str], name: str, *, default: bool) -> bool:
    return _choice(options, name, ("true", "false"), "true" if default else "false") == "true"


def _auth(options: dict[str, str]) -> Auth | None:
    text, file = options.pop("auth", None), options.pop("auth_file", None)
    if text is not None and file is not None:
        raise Invalid("a ZooKeeper url may have auth= or auth_file=, not both")
    elsewhere = options.pop(credentials.OPTION, None)
    if file is None and (text is None or text in _AUTH_SCHEMES):
        known = credentials.found(elsewhere)
        if known is not None:
            return Auth(text or _AUTH_SCHEMES[0], known.user, known.password)
    elif elsewhere is not None:
        raise Invalid("a ZooKeeper url may have only one of auth= with a password, auth_file= and credentials=")
    source = "auth" if file is None else "auth_file"
    if file is not None:
        try:
            text = read_whole(file, secret=True).decode("utf-8-sig").strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            raise Invalid(f"auth_file cannot be read: {file}: {why}") from None
    if text is None:
        return None
    scheme, _, rest = text.partition(":")
    user, colon, password = rest.partition(":")
    if scheme not in _AUTH_SCHEMES or not user or not colon or not password:
        raise Invalid(f"{source} must be digest:USER:PASSWORD or sasl:USER:PASSWORD")
    return Auth(scheme, user, password)


def _tls(options: dict[str, str]) -> Tls | None:
    ca, cert, key = (options.pop(name, None) for name in ("tls_ca", "tls_cert", "tls_key"))
    wanted = _flag(options, "tls", default=ca is not None or cert is not None)
    verify_hostname = _flag(options, "tls_verify_hostname", default=True)
    if not wanted:
        if ca is not None or cert is not None or key is not None:
            raise Invalid("tls=false contradicts tls_ca, tls_cert and tls_key")
        return None
    if (cert is None) != (key is None):
        raise Invalid("tls_cert and tls_key must be given together")
    for name, file in (("tls_ca", ca), ("tls_cert", cert), ("tls_key", key)):
        if file is not None and not Path(file).is_file():
            raise Invalid(f"{name} is not a file: {file}")
    return Tls(ca, cert, key, verify_hostname)
