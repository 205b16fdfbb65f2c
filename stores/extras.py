"""The sentence that reports packages of an extra that are not installed. It equals that of
`kedge.controller.model.extras`, which no store may import; a test compares the two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCE: Final = "{packages} not installed; run: pip install 'kedge[{extra}]'"
_PACKAGES: Final[Mapping[str, str]] = {
    "google": "protobuf",
    "grpc": "grpcio",
    "kafka": "kafka-python",
    "prometheus_client": "prometheus-client",
    "puresasl": "pure-sasl",
}
"""Modules -> the packages that hold them, where the names differ."""


def missing(extra: str, *modules: str | ImportError) -> str:
    """The sentence for an extra of setup.cfg. An ImportError stands for the module that it names."""
    tops = [(one if isinstance(one, str) else one.name or str(one)).partition(".")[0] for one in modules]
    names = [_PACKAGES.get(top, top) for top in tops]
    return SENTENCE.format(packages=f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}", extra=extra)
