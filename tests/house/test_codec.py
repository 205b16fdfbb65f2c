"""One module knows the parts of kafka-python that it does not promise to keep."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kedge.controller.wire import codec

CHECKOUT: Final = Path(__file__).resolve().parents[2]
CODEC: Final = "controller/wire/codec.py"
PUBLIC: Final = (
    "kafka.protocol.admin",
    "kafka.protocol.consumer",
    "kafka.protocol.metadata",
    "kafka.protocol.producer",
)
PUBLIC_ALONE: Final = {"kafka", "kafka.errors", "kafka.structs", "kafka.protocol", "kafka.protocol.sasl"}
PRIVATE: Final = {"_struct", "_type", "_tags", "_fields", "compiled_decode_from", "_manager", "_net"}


def private_names(text: str) -> Iterator[str]:
    """The modules and attributes of kafka-python that a module names and that are not public."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE and not _is_own(node):
            yield node.attr
        modules = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        modules += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in modules if name and name.partition(".")[0] == "kafka" and not _is_public(name))


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_public(module: str) -> bool:
    return module in PUBLIC_ALONE or any(module == one or module.startswith(f"{one}.") for one in PUBLIC)


def test_private_names_are_found() -> None:
    text = "import kafka.record.util\nfrom kafka.protocol.admin import X\nX._struct\nself._type\n"
    assert sorted(private_names(text)) == ["_struct", "kafka.record.util"]


def test_one_module_names_what_kafka_python_does_not_promise() -> None:
    found = {}
    for package in ("controller", "kedge", "pipeline", "stores"):
        for file in (CHECKOUT / package).rglob("*.py"):
            if names := set(private_names(file.read_text(encoding="utf-8"))):
                found[file.relative_to(CHECKOUT).as_posix()] = names
    assert found.pop(CODEC) >= {"_struct", "_type", "_tags", "compiled_decode_from", "kafka.record.util"}
    assert found == {}


def test_every_name_of_the_codec_is_used() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (CHECKOUT / "controller" / "wire").rglob("*.py")]
    others = "\n".join(text for text in texts if re.search(r"from \.+(wire\.)?codec import", text))
    assert [name for name in codec.__all__ if name not in others] == []


def test_releases_of_kafka_python_have_a_ceiling() -> None:
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    (line,) = [each for each in setup["options.extras_require"]["wire"].split() if each.startswith("kafka-python")]
    assert line == "kafka-python[crc32c]>=3.0.12,<3.1"
