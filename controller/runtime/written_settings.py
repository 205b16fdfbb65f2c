"""The keys of settings beside those of topics: of brokers, and that something was changed (`written` has the table).

A change is told by a numbered key of its own, put as ABSENT: where somebody else was first it is a conflict, and the
number is asked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from controller.codec import keys, notifications, small
from controller.model.values import ConfigEntity
from stores.base import ABSENT, PRESENT, Delete, Op, Put, Version
from stores.checks import OP_BYTES_FIXED
from stores.recipes import NUMBER_MAX, sequence_key

if TYPE_CHECKING:
    from controller.runtime.written import Ground


@attrs.frozen
class BrokerConfigKeys:
    """`of`: a broker's id in decimal, or "<default>"."""

    ground: Ground

    def cost_max(self, of: str) -> int:
        return OP_BYTES_FIXED + len(keys.broker_config(of)) + len(self._value(of))

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return keys.broker_config(of)

    def op(self, of: str, key: str) -> Op | None:
        return Put(key, self._value(of), self.ground.at(key, self.ground.state.broker_config_version(of)))

    def _value(self, of: str) -> bytes:
        return small.encode_config(self.ground.state.broker_config(of))

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.ground.state.broker_config_stands(of, version)


@attrs.frozen
class ChangeKeys:
    """`of`: whose settings were changed."""

    ground: Ground

    def cost_max(self, of: ConfigEntity) -> int:
        return 2 * OP_BYTES_FIXED + len(keys.CONFIG_CHANGES) + len(self._value(of))

    def key(self, of: ConfigEntity, seq: int) -> str:  # noqa: ARG002
        return sequence_key(keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, self.ground.state.changes.number(of))

    def op(self, of: ConfigEntity, key: str) -> Op | None:
        """Nothing once no number is left, which takes somebody who plants a key: the settings count all the same."""
        return Put(key, self._value(of), ABSENT) if self.ground.state.changes.number(of) <= NUMBER_MAX else None

    def _value(self, of: ConfigEntity) -> bytes:
        return notifications.encode_config_change(of.kind, of.name)

    def stands(self, of: ConfigEntity, version: int, seq: int) -> None:
        """See `Changes.committed`."""


@attrs.frozen
class OldChangeKeys:
    """A notification that goes. `of`: its path."""

    ground: Ground

    def cost_max(self, of: str) -> int:
        return OP_BYTES_FIXED + len(of)

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return of

    def op(self, of: str, key: str) -> Op | None:  # noqa: ARG002
        """Nothing where somebody else was faster: brokers purge them, too."""
        return None if self.ground.found.pop(key, Version(1)) is None else Delete(key, PRESENT)

    def stands(self, of: str, version: int, seq: int) -> None:
        """Nobody asks."""
