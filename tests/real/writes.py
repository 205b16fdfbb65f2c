"""What servers wrote down, as values that say nothing of which server it was."""

from __future__ import annotations

from typing import TypeAlias

import attrs


@attrs.frozen
class Written:
    """A key holds `value` (None: a node without data). `owner`: the session of an ephemeral one that was created."""

    key: str
    value: bytes | None
    owner: int | None = None


@attrs.frozen
class Deleted:
    key: str


@attrs.frozen
class Checked:
    """An expectation that was part of the transaction."""

    key: str


Write: TypeAlias = Written | Deleted | Checked


@attrs.frozen
class Transaction:
    """`session`: whose it was, None where the server does not keep that."""

    revision: int
    session: int | None
    writes: tuple[Write, ...]
