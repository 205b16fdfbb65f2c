"""The files that a user gives to `kedge demo`, and whether a recorded tree can be taken over.

An invalid file or tree ends the command with one line that names it and the reason, before the demo begins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from ....stores.base import Corrupt
from ....stores.reading import TwiceError, parse_json, read_whole
from ....stores.recipes import EPOCH_KEY, TOKEN_KEY, Token, decode_epoch
from ....stores.tree import TreeEntry, parse_tree
from ...codec import broker as broker_codec
from ...codec import keys, partition_state, small
from ...codec import topic as topic_codec
from ...codec.names import broker_in, is_topic, number_in
from ...codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from ...codec.text import BadValue, parse
from ...codec.topic import TopicKey
from ...model import numerals

PARTITIONS_MAX: Final = 5_000
_TEXT_MAX: Final = 300
_BLANKS: Final = re.compile(r"\s+")
BROKERS_MAX: Final = 100
_RECORDED: Final = "kafka_3_9_tree_moving.json"

JUMBO: Final[Mapping[int, str | None]] = {
    1010: "E", 1011: "E", 1012: "E", 1013: "F", 1014: "F", 1015: "F", 1016: "E", 1017: "F", 1018: "A",
}  # fmt: skip
"""Nine brokers in racks of four, four and one: the shape of a published production cluster."""


class BadInput(Exception):
    """A file that cannot be used."""


def _read(path: Path) -> bytes:
    try:
        return read_whole(path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from None


def read_layout(path: Path) -> dict[int, str | None]:
    """`{"<broker id>": "<rack>"}`, null for no rack."""
    content = _read(path)
    try:
        found = parse_json(content)
    except TwiceError as error:
        raise BadInput(f"{path}: {error}") from None
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise BadInput(f'{path}: expected {{"<broker id>": "<rack>" or null}}, got {found!r:.80}')
    layout: dict[int, str | None] = {}
    for name, rack in found.items():
        broker = numerals.whole(name, 0, numerals.INT_MAX)
        if broker is None:
            raise BadInput(f"{path}: {name!r:.80} is not a broker id")
        if rack is not None and type(rack) not in {str, int}:
            raise BadInput(f"{path}: the rack of broker {name} must be a text or null, not {rack!r:.80}")
        if broker in layout:
            raise BadInput(f"{path}: broker {broker} stands in it twice")
        layout[broker] = None if rack is None else str(rack) or None
    if not 3 <= len(layout) <= BROKERS_MAX:
        raise BadInput(f"{path}: {len(layout)} brokers; a drain is shown with 3 to {BROKERS_MAX}")
    return layout


def recorded_tree() -> tuple[TreeEntry, ...]:
    """What real Kafka 3.9.1 brokers left in ZooKeeper while four moves were running."""
    return parse_tree(files("kedge.controller.cli").joinpath(_RECORDED).read_bytes(), _RECORDED)


def read_tree_file(path: Path) -> tuple[TreeEntry, ...]:
    """A recorded tree: path -> {"value": text, "version": int, "ephemeral": bool}."""
    try:
        return parse_tree(_read(path), str(path))
    except Corrupt as error:
        raise BadInput(str(error)) from None


def check_tree(tree: Sequence[TreeEntry]) -> None:
    """BadInput, naming the key, for a tree that no controller would lead, or whose partitions cannot be read."""
    brokers_of_tree(tree)
    values = {entry.key: entry.value for entry in tree if entry.value is not None and not entry.ephemeral}
    for key, value in values.items():
        try:
            _check(key, value)
        except (ValueError, TypeError) as error:
            raise _bad(key, error) from None
    _check_epoch(values)


def brokers_of_tree(tree: Sequence[TreeEntry]) -> dict[int, str | None]:
    """Id and rack of every broker that a tree knows: registered, or holding a replica. BadInput for a tree that names
    no partition, or has keys of brokers, topics or partitions that cannot be read."""
    brokers: dict[int, str | None] = {}
    topics: dict[str, TopicKey] = {}
    for entry in tree:
        name = entry.key.rpartition("/")[2]
        if entry.value is None:
            continue
        try:
            if entry.key.startswith(keys.BROKER_IDS + "/"):
                brokers[broker_in(name)] = broker_codec.decode(entry.value, broker_in(name)).rack
            elif keys.topic_of(entry.key) is not None:
                if not is_topic(name):
                    raise BadValue("the key's name is no topic's")
                topics[name] = topic_codec.decode(entry.value, name)
        except (ValueError, TypeError) as error:
            raise _bad(entry.key, error) from None
    _check_states(tree, topics)
    partitions = 0
    for found in topics.values():
        partitions += len(found.assignments)
        brokers |= {b: None for replicas in found.assignments for b in replicas if b not in brokers}
    if not partitions:
        raise BadInput("the tree has no topic (/brokers/topics/<name> with a value)")
    if partitions > PARTITIONS_MAX or len(brokers) > BROKERS_MAX:
        raise BadInput(
            f"the tree has {partitions} partitions on {len(brokers)} brokers; "
            f"the demo simulates {PARTITIONS_MAX} on {BROKERS_MAX} at most"
        )
    return brokers


def _check_states(tree: Sequence[TreeEntry], topics: Mapping[str, TopicKey]) -> None:
    for entry in tree:
        place = keys.partition_of(entry.key)
        if place is None or entry.value is None or place[0] not in topics:
            continue
        topic, partition = place
        assignments = topics[topic].assignments
        if partition < len(assignments):
            try:
                partition_state.decode(parse(entry.value), topic, partition, assignments[partition], 0)
            except (ValueError, TypeError) as error:
                raise _bad(entry.key, error) from None


def _check(key: str, value: bytes) -> None:
    if key == FORMAT_KEY:
        least = decode_format(value)
        if least > CONTROLLER_VERSION:
            raise BadValue(f"needs a controller of version {least}, this one has {CONTROLLER_VERSION}")
    elif key == EPOCH_KEY:
        decode_epoch(value)
    elif key == TOKEN_KEY:
        Token.decode(value)
    elif key.startswith(keys.CONFIG_TOPICS + "/"):
        small.decode_config(value)
    elif key.startswith(keys.REPLICA_DELETIONS + "/"):
        broker, _, seq = key.removeprefix(keys.REPLICA_DELETIONS + "/").partition("/")
        number_in(seq)
        small.decode_intents(value, broker_in(broker))


def _check_epoch(values: Mapping[str, bytes]) -> None:
    """One more epoch must be left above both keys: an election writes it."""
    epochs = {}
    if EPOCH_KEY in values:
        epochs[EPOCH_KEY] = decode_epoch(values[EPOCH_KEY])
    if TOKEN_KEY in values:
        epochs[TOKEN_KEY] = Token.decode(values[TOKEN_KEY]).controller_epoch
    for key, epoch in epochs.items():
        try:
            decode_epoch(b"%d" % (epoch + 1))
        except Corrupt:
            raise BadInput(f"{key}: no controller epoch is left above {str(epoch)[:20]}") from None


def _bad(key: str, error: Exception) -> BadInput:
    return BadInput(f"{key}: {one_line(error).removeprefix(f'{key}: ')}")


def one_line(error: BaseException) -> str:
    """The first line of what an error says, or its kind."""
    said = str(error).strip().splitlines()
    return _BLANKS.sub(" ", said[0])[:_TEXT_MAX] if said else type(error).__name__
