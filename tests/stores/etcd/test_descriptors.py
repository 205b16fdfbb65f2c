"""The description of etcd's API that this project compiles for itself."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from kedge.stores.etcd.rpc import described, etcdrpc

STORES_ETCD = Path(__file__).resolve().parents[3] / "stores" / "etcd"


def test_the_compiled_description_is_that_of_the_proto(tmp_path: Path) -> None:
    """After a change of etcd.proto, scripts/etcd-descriptors is due."""
    if importlib.util.find_spec("grpc_tools") is None:
        pytest.skip("grpcio-tools, a tool of developers, is not installed")
    target = tmp_path / "compiled"
    command = ["grpc_tools.protoc", f"--proto_path={STORES_ETCD}", f"--descriptor_set_out={target}", "etcd.proto"]
    subprocess.run([sys.executable, "-m", *command], check=True)
    assert descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()) == described()


def generated_for_etcd3() -> dict[str, Any]:
    """The messages of etcd's own files, by name, as etcd3's generated code describes them, which is not executed."""
    found: dict[str, Any] = {}
    spec = importlib.util.find_spec("etcd3")
    assert spec is not None
    assert spec.origin is not None
    for name in ("rpc", "kv"):
        source = (Path(spec.origin).parent / "etcdrpc" / f"{name}_pb2.py").read_text()
        text = re.search(r"serialized_pb=_b\(('(?:[^'\\]|\\.)*')\)", source)
        assert text is not None
        serialized = ast.literal_eval(text[1]).encode("latin1")
        file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
        found.update((message.name, message) for message in file.message_type)
    return found


def test_messages_are_etcds_own() -> None:
    """Every field and every value of an enumeration has the number and the type that etcd gave it."""
    theirs = generated_for_etcd3()
    newer = {("WatchCreateRequest", "watch_id"): 7, ("StatusResponse", "errors"): 8}  # since etcd 3.4, after etcd3
    for message in described().file[0].message_type:
        original = theirs[message.name]
        numbers = {field.name: (field.number, field.type, field.label) for field in original.field}
        for field in message.field:
            if (message.name, field.name) in newer:
                assert field.number == newer[message.name, field.name]
            else:
                assert (field.number, field.type, field.label) == numbers[field.name], (message.name, field.name)
        enums = {enum.name: {value.name: value.number for value in enum.value} for enum in original.enum_type}
        for enum in message.enum_type:
            assert {value.name: value.number for value in enum.value} == enums[enum.name], (message.name, enum.name)


def test_a_compare_with_zero_is_sent() -> None:
    """Version 0 and lease 0 are answers that a compare waits for, not fields that were left out."""
    compare = etcdrpc.Compare(target=etcdrpc.Compare.LEASE, key=b"k", lease=0)
    assert etcdrpc.Compare.FromString(compare.SerializeToString()).WhichOneof("target_union") == "lease"
