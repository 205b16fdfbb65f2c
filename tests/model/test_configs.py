"""The tables of configs have each config of Kafka 4.3 once: enforced, accepted without effect, or refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kedge.controller.model.configs import BROKER_CONFIGS, ENFORCED, TOPIC_CONFIGS
from kedge.controller.model.refused_configs import REFUSED_CONFIGS, refusal
from kedge.controller.model.throttle_configs import LISTS, RATES
from tests.model.kafka_configs import KAFKA_CONFIGS

CONTROLLER: Final = Path(__file__).resolve().parents[2] / "controller"
TABLES: Final = {"rules/configs.py", "rules/static_configs.py"}
"""They describe configs, and do not read their values."""
COMPOSED: Final = {*LISTS, *(name for names in RATES.values() for name in names)}
"""Names that the code composes, and that `tests/quota` covers."""
OTHER_DEFAULTS: Final = {
    "log.message.timestamp.after.max.ms",
    "message.timestamp.after.max.ms",
    "metric.reporters",
    "num.recovery.threads.per.data.dir",
}
"""The defaults of these are those of Kafka 3.9."""


def test_each_config_of_kafka_is_in_one_table() -> None:
    topics = {one.name for one in KAFKA_CONFIGS if one.of == "topic"}
    brokers = {one.name for one in KAFKA_CONFIGS if one.of == "broker"}
    assert (len(topics), len(brokers)) == (33, 343)
    assert topics - TOPIC_CONFIGS.keys() == set()
    assert {name for name in brokers if (name in BROKER_CONFIGS) == (refusal(name) is not None)} == set()
    assert REFUSED_CONFIGS.keys() <= brokers


def test_each_config_that_is_accepted_has_the_type_and_default_of_kafka() -> None:
    found = set()
    for one in KAFKA_CONFIGS:
        ours = (TOPIC_CONFIGS if one.of == "topic" else BROKER_CONFIGS).get(one.name)
        if ours is not None:
            default = ours.default if ours.has_default or one.of == "topic" else "null"
            assert ours.kind.value == one.kind, one.name
            if default != one.default:
                found.add(one.name)
    assert found == OTHER_DEFAULTS


def test_configs_that_kafka_reads_once_are_refused() -> None:
    read_only = {one.name for one in KAFKA_CONFIGS if one.update_mode == "read-only"}
    assert len(read_only) == 241
    assert read_only & BROKER_CONFIGS.keys() == set()


def texts(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_configs_that_the_code_reads_are_the_enforced_ones() -> None:
    """Code that begins to read another config fails here until the table, and so the page of configs, has it."""
    files = [file for room in ("rules", "server") for file in (CONTROLLER / room).rglob("*.py")]
    files = [file for file in files if file.relative_to(CONTROLLER).as_posix() not in TABLES]
    read = {text for file in files for text in texts(file)} & {*TOPIC_CONFIGS, *BROKER_CONFIGS}
    assert read | COMPOSED == ENFORCED.keys()


def test_a_config_of_one_listener_is_refused_as_that_of_all() -> None:
    assert refusal("listener.name.internal.ssl.keystore.password") == refusal("ssl.keystore.password")
    assert refusal("ssl.keystore.pasword") is None


@pytest.mark.parametrize("value, is_taken", [("-1", True), ("0", False), ("1", True), ("9", True), ("10", False)])
def test_a_level_of_gzip_is_one_of_its_own(value: str, *, is_taken: bool) -> None:
    assert (TOPIC_CONFIGS["compression.gzip.level"].check(value) is None) is is_taken
