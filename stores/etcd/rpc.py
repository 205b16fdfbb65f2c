"""Messages and stubs of etcd's API, made at run time, and the etcd3 client on top of them.

Rules
* etcd3 0.12.0 brings code that a protobuf of 2019 generated; no protobuf from 4 on imports it. Code generated today
  would only move the trouble: what protobuf 7 generates fails on 5 and 6. What every protobuf reads is a *description*
  (etcd.binpb, compiled from etcd.proto beside it), from which its runtime makes the classes.
* The description goes into a pool of its own, under a package name of its own: whoever else has etcd's files in this
  process (`etcdserverpb` in the default pool) neither sees these nor collides with them.
* etcd3 asks for its generated code under the name `etcd3.etcdrpc`. A module of ours stands there before it is imported.
  Where etcd3 was imported already, it stays as it is; the stubs used here are ours all the same.
* Importing this module needs the extra kedge[etcd]; nothing outside of this folder imports it.
"""

from __future__ import annotations

import sys
from importlib import resources
from types import ModuleType
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "kedge.etcd"
_WIRE_PACKAGE: Final = "etcdserverpb"  # what stands in the paths of the methods


def described() -> Any:
    """The compiled etcd.proto, as a FileDescriptorSet."""
    data = resources.files("stores.etcd").joinpath("etcd.binpb").read_bytes()
    return descriptor_pb2.FileDescriptorSet.FromString(data)


def make_module(name: str) -> ModuleType:
    """A module `name` with a class per message and a `<Service>Stub` per service, as generated code would have."""
    pool = descriptor_pool.DescriptorPool()
    files = described().file
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    module = ModuleType(name, f"Made by {__name__} from etcd.binpb.")
    for file in files:
        for message in file.message_type:
            descriptor = pool.FindMessageTypeByName(f"{file.package}.{message.name}")
            setattr(module, message.name, message_factory.GetMessageClass(descriptor))
        for service in file.service:
            setattr(module, f"{service.name}Stub", _stub_class(module, service))
    return module


def _stub_class(module: ModuleType, service: Any) -> type:
    """A class whose instances hold one callable per method, bound to the channel that they were made with."""
    methods = [
        (
            f"/{_WIRE_PACKAGE}.{service.name}/{method.name}",
            f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}",
            getattr(module, method.input_type.removeprefix(f".{_PACKAGE}.")),
            getattr(module, method.output_type.removeprefix(f".{_PACKAGE}.")),
        )
        for method in service.method
    ]

    def bind(self: Any, channel: Any) -> None:
        for path, kind, request, response in methods:
            callable_of = getattr(channel, kind)
            call = callable_of(
                path, request_serializer=request.SerializeToString, response_deserializer=response.FromString
            )
            setattr(self, path.rpartition("/")[2], call)

    return type(f"{service.name}Stub", (), {"__init__": bind, "__doc__": f"The methods of {service.name}."})


etcdrpc: Final[Any] = make_module("etcd3.etcdrpc")

if "etcd3" not in sys.modules:
    sys.modules["etcd3.etcdrpc"] = etcdrpc

import etcd3  # noqa: E402 - only now can it be imported
import grpc  # noqa: E402

__all__ = ["described", "etcd3", "etcdrpc", "grpc", "make_module"]
