"""The `kedge` command. Needs the extra `cli` (click and rich), which is imported only when a command runs."""

from __future__ import annotations

from .extras import need


def main() -> None:
    need("cli")
    from .root import run  # noqa: PLC0415 - click is known to be there only now

    run()
