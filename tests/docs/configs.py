"""The tables of docs/configs.md: every config of topics and brokers of Kafka 4.3, with its effect.

`python -m tests.docs.configs` rewrites the page, from the tables of the code on. What is above them is written by hand.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kedge.controller.model.configs import BROKER_CONFIGS, ENFORCED, TOPIC_CONFIGS, Definition
from kedge.controller.model.refused_configs import REFUSED_CONFIGS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "configs.md"
BEGIN: Final = "## Configs of topics\n"
_WIDTH: Final = 118


def rewritten(page: str) -> str:
    """The page with the tables of today."""
    return page.partition(BEGIN)[0] + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield BEGIN
    yield from _table(TOPIC_CONFIGS)
    yield "\n## Configs of brokers\n"
    yield from _table(BROKER_CONFIGS)
    yield "\n## Configs of brokers that are refused"
    reasons: dict[str, list[str]] = {}
    for name, why in REFUSED_CONFIGS.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"\nThe error says that the config {why}.\n"
        yield _block(names)


def _table(configs: Mapping[str, Definition]) -> Iterator[str]:
    yield "| config | used by | default | meaning |"
    yield "|---|---|---|---|"
    for name, one in sorted(configs.items()):
        default = f"`{one.default}`" if one.default else "empty"
        yield f"| `{name}` | {ENFORCED.get(name, '')} | {default} | {one.documentation} |"


def _block(names: Iterable[str]) -> str:
    return textwrap.fill(
        " ".join(sorted(names)), _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(TOPIC_CONFIGS)} + {len(BROKER_CONFIGS)} + {len(REFUSED_CONFIGS)} configs\n")
