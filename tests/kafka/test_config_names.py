"""The configs that the tests take for those of Kafka 4.3 are those that its brokers list."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Iterator

import pytest

from servers import NoServer
from tests.kafka_jars import java, kafka_classpath
from tests.model.kafka_configs import KAFKA_CONFIGS, KafkaConfig

pytestmark = [pytest.mark.server, pytest.mark.full]

LISTS = {"topic": "org.apache.kafka.storage.internals.log.LogConfig", "broker": "kafka.server.KafkaConfig"}
"""Their `main` prints the list of Kafka's documentation."""
_NAME = re.compile(r'<a id="([^"]+)"></a>')
_FIELD = re.compile(r"<tr><th>([^<]*):</th><td>(.*?)</td></tr>", re.DOTALL)
_IN_WORDS = re.compile(r" \(\d+ [a-z]+\)$")


def listed(of: str) -> Iterator[KafkaConfig]:
    try:
        command = [java(), "-XX:TieredStopAtLevel=1", "-cp", kafka_classpath("4.3.1"), LISTS[of]]
    except NoServer as error:
        pytest.skip(str(error))
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    for block in printed.split("<h4>")[1:]:
        name = _NAME.search(block)
        assert name is not None
        fields = {key: html.unescape(value) for key, value in _FIELD.findall(block)}
        default = _IN_WORDS.sub("", fields["Default"]).replace('""', "")
        yield KafkaConfig(of, name[1], fields["Type"], default, fields.get("Update Mode", ""))


@pytest.mark.parametrize("of", LISTS)
def test_the_configs_of_the_tests_are_those_of_kafka(of: str) -> None:
    assert set(listed(of)) == {one for one in KAFKA_CONFIGS if one.of == of}
