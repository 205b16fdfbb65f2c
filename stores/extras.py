"""The sentence that reports packages of an extra that are not installed. It equals that of `controller.model.extras`,
which no store may import; a test compares the two."""

from __future__ import annotations

from typing import Final

SENTENCE: Final = "{packages} not installed; run: pip install 'kedge[{extra}]'"


def missing(extra: str, *packages: str | ImportError) -> str:
    """The sentence for an extra of setup.cfg. An ImportError stands for the module that it names."""
    names = [one if isinstance(one, str) else one.name or str(one) for one in packages]
    return SENTENCE.format(packages=f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}", extra=extra)
