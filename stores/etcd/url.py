"""Parses etcd:// urls, without a client and without exposing passwords (`kedge.stores.credentials`).

    etcd://host[:2379][,host...][/prefix][?option=value&...]

Rules
* The prefix is the root of the store: `etcd://h/a/b` keeps the key `/x` under etcd's key `/a/b/x`.
* An Invalid names the option and never its value, which may be a password; no repr or message contains one.
  `user:password@` before the hosts is refused, since urls are printed, logged and stored.
* `urlsplit` is not used: its later versions require a single host if there are brackets, and its rules differ between
  versions of Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

import attrs

from .. import credentials
from ..base import Invalid, InvalidKey
from ..checks import check_key, seconds_of

PORT: Final = 2379
_SCHEME: Final = "etcd://"
ROOT_CHARACTERS_MAX: Final = 256  # it is part of every key in a request, so it counts for the size of a commit
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_PORT_MAX: Final = 65535
_SESSION_S_MAX: Final = 9_000_000_000  # etcd's limit


@attrs.frozen
class EtcdUrl:
    """The endpoints, the root, and the credentials. Times in seconds."""

    endpoints: tuple[tuple[str, int], ...]
    root: str = ""  # "" or like a key, without a slash at its end
    session_timeout: int = 10
    connect_timeout: float = 5.0
    user: str | None = None
    password: str | None = attrs.field(default=None, repr=False)
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None

    @property
    def place(self) -> str:
        """Endpoints and root as a url without options, for messages."""
        return _SCHEME + ",".join(f"{host}:{port}" for host, port in self.endpoints) + self.root


def parse_url(url: str) -> EtcdUrl:
    """The parts of `url`. Raises Invalid, or InvalidKey for an invalid prefix."""
    if not url.startswith(_SCHEME):
        raise Invalid(f"etcd: a url of etcd must begin with {_SCHEME}")
    if "#" in url:
        raise Invalid("etcd: a url has no fragment after '#'; in a value, write %23")
    place, _, query = url.removeprefix(_SCHEME).partition("?")
    hosts, slash, path = place.partition("/")
    if "@" in hosts:
        raise Invalid("etcd: user and password are options: etcd://host/prefix?user=..&password=..")
    endpoints = tuple(_endpoint(text) for text in hosts.split(","))
    options = _options(query)
    tls = options.pop("tls", None)
    if tls is not None and tls != ("tls_ca" in options):
        raise Invalid("etcd: tls=true needs tls_ca, the authority that signed the servers' certificates" if tls
                      else "etcd: tls=false contradicts tls_ca")  # fmt: skip
    file = options.pop(credentials.OPTION, None)
    if file is not None and ("user" in options or "password" in options):
        raise Invalid("etcd: give either user and password or credentials, not both")
    settings = EtcdUrl(endpoints, _root(slash + path), **options)
    if (settings.user is None) != (settings.password is None):
        raise Invalid("etcd: the options user and password must be given together")
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise Invalid("etcd: the options tls_cert and tls_key must be given together")
    if settings.tls_cert is not None and settings.tls_ca is None:
        raise Invalid("etcd: tls_cert needs tls_ca, the authority that signed the server's certificate")
    if settings.user is None and (known := credentials.found(file)) is not None:
        return attrs.evolve(settings, user=known.user, password=known.password)
    return settings


def _endpoint(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":") if re.search(r":[^\]]*$", text) else (text, "", "")
    if _HOST.fullmatch(host) is None:
        raise Invalid(f"etcd: expected a host, or host:port, not {text!r:.100}")
    if not colon:
        return host, PORT
    if not port.isascii() or not port.isdigit() or not 0 < int(port) <= _PORT_MAX:
        raise Invalid(f"etcd: the port of {host} must be a number from 1 to {_PORT_MAX}, not {port!r:.20}")
    return host, int(port)


def _root(path: str) -> str:
    root = path.rstrip("/")
    if not root:
        return ""
    try:
        check_key(root)
    except InvalidKey as error:
        raise InvalidKey(f"etcd: the prefix must be like a key, /a/b, not {path!r:.200}") from error
    if len(root) > ROOT_CHARACTERS_MAX:
        raise InvalidKey(f"etcd: a prefix of {len(root)} characters exceeds the limit of {ROOT_CHARACTERS_MAX}")
    return root


def _seconds(name: str, text: str) -> float:
    seconds = seconds_of(text)
    if seconds is None or not 0 < seconds < _SESSION_S_MAX:
        raise Invalid(f"etcd: the option {name} must be a number of seconds above 0")
    return seconds


def _whole_seconds(name: str, text: str) -> int:
    return math.ceil(_seconds(name, text))  # a lease has whole seconds


def _text(name: str, text: str) -> str:
    if not text:
        raise Invalid(f"etcd: the option {name} is empty")
    return text


def _flag(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise Invalid(f"etcd: the option {name} must be true or false")
    return text == "true"


_READERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "session_timeout": _whole_seconds,
    "connect_timeout": _seconds,
    "user": _text,
    "password": _text,
    credentials.OPTION: _text,
    "tls": _flag,
    "tls_ca": _text,
    "tls_cert": _text,
    "tls_key": _text,
}


def _options(query: str) -> dict[str, Any]:
    """The options as fields. Not `parse_qsl`, which turns plus signs, as in passwords, into spaces."""
    found: dict[str, Any] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name not in _READERS:
            # Do not print the name: after a password with a bare '&' it is the rest of the password.
            raise Invalid(f"etcd: unknown option, expected {', '.join(_READERS)} (in a value, write %26 for '&')")
        if name in found:
            raise Invalid(f"etcd: the option {name} is given twice")
        found[name] = _READERS[name](name, unquote(value))
    return found
