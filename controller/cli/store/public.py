"""What is never copied out of a store into a file, because people send such files to each other.

* The secret of gateways; each store makes its own.
* Sensitive configs (`kedge.controller.model.sensitive_configs`), such as the SCRAM credentials of users. The other
  configs of their keys stay. A key that cannot be read may hold anything, so it is left out as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...codec import BadValue, keys, small
from ...model.sensitive_configs import is_sensitive
from ...model.values import configs_after

_CONFIGS: Final = re.compile("/config/(topics|brokers|users|clients|ips)/.+")


def public(values: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    found: dict[str, bytes] = {}
    hidden: list[str] = []
    for key, whole in values.items():
        value, missing = _public(key, whole)
        hidden += missing
        if value is not None:
            found[key] = value
    return found, hidden


def _public(key: str, value: bytes) -> tuple[bytes | None, list[str]]:
    """`value` without what is secret, or None if all of it is; and what is missing."""
    if key == keys.GATEWAYS_SECRET:
        return None, []  # of which no copy is ever wanted
    kind = _CONFIGS.fullmatch(key)
    if kind is None or not value:
        return value, []
    try:
        configs = small.decode_config(value)
    except BadValue:
        return None, [key]
    hidden = [name for name in configs if is_sensitive(kind[1], name)]
    if not hidden:
        return value, []
    kept = {name: config for name, config in configs.items() if name not in hidden}
    return small.encode_config(configs_after(configs, kept)), [f"{key}: {name}" for name in hidden]
