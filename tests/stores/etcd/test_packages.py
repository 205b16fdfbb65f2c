"""What etcd's client needs, where it is missing, and where another library uses the same things in one process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

# A file that says what etcd's own says, in the default pool, as another client's generated code would put it there.
ANOTHER_USER = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
file = descriptor_pb2.FileDescriptorProto(name="etcd.proto", package="etcdserverpb", syntax="proto3")
message = file.message_type.add(name="RangeRequest")
message.field.add(name="key", number=1, type=9, label=1)
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
theirs = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName("etcdserverpb.RangeRequest"))
"""


def run(code: str) -> str:
    """What a fresh interpreter prints, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["etcd3", "grpc", "google.protobuf"])
def test_a_missing_package_is_one_error_that_names_the_extra(missing: str) -> None:
    said = run(f"""
        import sys
        sys.modules[{missing!r}] = None
        from kedge.stores import Invalid, open_store
        try:
            open_store("etcd://localhost/a?user=me&password=secret")
        except Invalid as error:
            print(error)
    """)
    assert "pip install 'kedge[etcd]'" in said
    assert {"etcd3": "etcd3", "grpc": "grpcio"}.get(missing, "protobuf") in said
    assert "secret" not in said


def test_no_package_of_a_client_is_imported_before_a_store_is_opened() -> None:
    said = run("""
        import sys
        import kedge.stores, kedge.stores.etcd
        print([name for name in ("etcd3", "grpc", "google.protobuf") if name in sys.modules])
    """)
    assert said == "[]"


@pytest.mark.slow
def test_another_user_of_etcds_files_neither_sees_ours_nor_collides_with_them() -> None:
    """In either order: the default pool is left alone."""
    ours = "from kedge.stores.etcd.rpc import etcdrpc; mine = etcdrpc.RangeRequest(key=b'k')"
    shown = "print(mine.SerializeToString() == theirs(key='k').SerializeToString(), mine.DESCRIPTOR.full_name)"
    for code in (f"{ours}\n{ANOTHER_USER}\n{shown}", f"{ANOTHER_USER}\n{ours}\n{shown}"):
        assert run(code) == "True kedge.etcd.RangeRequest"


@pytest.mark.slow
def test_etcd3_that_was_imported_before_is_left_as_it_is() -> None:
    """Where it could be imported without us, it has stubs of its own; ours are used on its channel all the same."""
    said = run("""
        import sys, types
        sys.modules["etcd3.etcdrpc"] = before = types.ModuleType("etcd3.etcdrpc")
        sys.modules["etcd3"] = types.ModuleType("etcd3")
        from kedge.stores.etcd.rpc import etcd3, etcdrpc
        print(sys.modules["etcd3.etcdrpc"] is before, etcdrpc is before, etcdrpc.KVStub.__name__)
    """)
    assert said == "True False KVStub"


@pytest.mark.slow
def test_others_may_import_etcd3_after_us() -> None:
    """It stands on our stubs then, which is more than it could do alone."""
    assert run("import kedge.stores.etcd.rpc; import etcd3; print(etcd3.etcdrpc.PutRequest(key=b'a').key)") == "b'a'"
