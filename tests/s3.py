"""An S3 server on the loopback interface, and the variables by which every client of S3 finds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def s3() -> Iterator[str]:
    """The address of a bucket, s3a://..., with the environment of this process set for it."""
    server_of = pytest.importorskip("moto.server", reason="moto, which serves S3, is not installed")
    import pyarrow.fs  # noqa: PLC0415 - tests without S3 need not load its client

    server = server_of.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {**keys, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patched.setenv(name, value)
        there = pyarrow.fs.S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True)
        bucket = f"tables-{port}"  # the pipeline keeps the client of a bucket, also when its server is gone
        there.create_dir(bucket)
        yield f"s3a://{bucket}"
    server.stop()
