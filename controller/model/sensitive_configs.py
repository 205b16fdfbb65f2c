"""Sensitive configs: their values are in the store, and only the host gets them. They are not described, printed,
journalled, logged or dumped. Whatever shows configs calls `is_sensitive` or `shown`.

As in Kafka, these are the configs of the type PASSWORD, also of one listener or mechanism, and every name that is not
known, since it may be the password of a plugin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .configs import BROKER_CONFIGS, TOPIC_CONFIGS
from .refused_configs import REFUSED_CONFIGS
from .values import BROKERS, TOPICS

HIDDEN: Final = "[hidden]"
"""What Kafka shows in the place of a password."""

_PASSWORDS: Final = """
    delegation.token.master.key delegation.token.secret.key password.encoder.old.secret password.encoder.secret
    sasl.jaas.config sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.client.credentials.client.secret ssl.key.password ssl.keystore.certificate.chain
    ssl.keystore.key ssl.keystore.password ssl.truststore.certificates ssl.truststore.password
    zookeeper.ssl.keystore.password zookeeper.ssl.truststore.password
"""
PASSWORDS: Final = frozenset(_PASSWORDS.split())
"""Configs of brokers of the type PASSWORD, in Kafka 3.9 and 4.3."""

_QUOTAS: Final = (
    "connection_creation_rate",
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
)
_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    TOPICS: frozenset({*TOPIC_CONFIGS, "message.format.version"}),  # the last in Kafka 3.9 alone
    BROKERS: frozenset({*BROKER_CONFIGS, *REFUSED_CONFIGS, "leader.imbalance.per.broker.percentage"}) - PASSWORDS,
    **dict.fromkeys(("users", "clients", "ips"), frozenset(_QUOTAS)),  # users also have SCRAM credentials
}
_OF_ONE_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.+)", re.DOTALL)
_OF_ONE_MECHANISM: Final = re.compile(
    r"[^.]+\.(sasl\.jaas\.config|sasl\.login\.callback\.handler\.class|sasl\.login\.class"
    r"|sasl\.server\.callback\.handler\.class|connections\.max\.reauth\.ms)"
)


def is_sensitive(kind: str, name: str) -> bool:
    """Whether the value of a config is never shown. `kind`: of the owner, "topics", "brokers", "users", ..."""
    return (_general(name) if kind == BROKERS else name) not in _KNOWN.get(kind, ())


def is_password(name: str) -> bool:
    """Whether a config of brokers has Kafka's type PASSWORD."""
    return _general(name) in PASSWORDS


def shown(kind: str, configs: Mapping[str, str]) -> dict[str, str]:
    """The configs as they may be shown: HIDDEN in the place of each sensitive value."""
    return {name: HIDDEN if is_sensitive(kind, name) else value for name, value in configs.items()}


def _general(name: str) -> str:
    """The config of which `name` is the variant for one listener, or for one mechanism of it."""
    listener = _OF_ONE_LISTENER.fullmatch(name)
    if listener is None:
        return name
    mechanism = _OF_ONE_MECHANISM.fullmatch(listener[1])
    return listener[1] if mechanism is None else mechanism[1]
