from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kedge.stores import Invalid, open_store
from kedge.stores.zookeeper.url import Address, Auth, Tls, parse_url
from tests.kit.private import write_private


def test_a_url_without_options_has_the_defaults() -> None:
    assert parse_url("zookeeper://h1,h2:2182/kedge/a") == Address(("h1:2181", "h2:2182"), "/kedge/a")
    assert parse_url("zookeeper://[::1]:1/") == Address(("[::1]:1",))
    assert parse_url("zookeeper://h1:1,h2,[::1]:3/a") == Address(("h1:1", "h2:2181", "[::1]:3"), "/a")


def test_every_option_is_understood(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    files = "&".join(f"tls_{name}={tmp_path / name}" for name in ("ca", "cert", "key"))
    options = "session_timeout=4.5&connect_timeout=2&auth=digest:me:p%26w%3A1&acl=creator-read"
    assert parse_url(f"zookeeper://h?{options}&{files}&tls_verify_hostname=false") == Address(
        hosts=("h:2181",),
        session_timeout_s=4.5,
        connect_timeout_s=2.0,
        auth=Auth("digest", "me", "p&w:1"),
        acl="creator-read",
        tls=Tls(str(tmp_path / "ca"), str(tmp_path / "cert"), str(tmp_path / "key"), verify_hostname=False),
    )
    assert parse_url("zookeeper://h?tls=true").tls == Tls()


def test_a_password_may_come_from_a_file(tmp_path: Path) -> None:
    """On a command line every user of the machine could read it."""
    file = tmp_path / "auth"
    write_private(file, "sasl:me:pw:with:colons\n")
    assert parse_url(f"zookeeper://h?auth_file={file}").auth == Auth("sasl", "me", "pw:with:colons")


@pytest.mark.parametrize(
    "url,says",
    [
        ("zookeeper:h", "zookeeper://HOST"),
        ("zookeeper://", "HOST:PORT"),
        ("zookeeper://h:0", "HOST:PORT"),
        ("zookeeper://h:65536", "HOST:PORT"),
        ("zookeeper://h,,i", "HOST:PORT"),
        ("zookeeper://me:pw@h/x", "auth=digest"),
        ("zookeeper://h//a", "chroot"),
        ("zookeeper://h/a/../b", "chroot"),
        ("zookeeper://h/a b", "chroot"),
        ("zookeeper://h/" + "x" * 201, "200"),
        ("zookeeper://h/zookeeper/x", "belongs to ZooKeeper"),
        ("zookeeper://h?session_timeout=0", "session_timeout"),
        ("zookeeper://h?session_timeout=nan", "session_timeout"),
        ("zookeeper://h?connect_timeout=soon", "connect_timeout"),
        ("zookeeper://h?acl=all", "open, creator, creator-read"),
        ("zookeeper://h?acl=creator", "needs auth"),
        ("zookeeper://h?auth=digest:me", "digest:USER:PASSWORD"),
        ("zookeeper://h?auth=plain:me:secret", "digest:USER:PASSWORD"),
        ("zookeeper://h?auth=digest:me:pw&auth_file=x", "not both"),
        ("zookeeper://h?auth_file=/none/such", "cannot be read"),
        ("zookeeper://h?tls_cert=/none&tls=true", "together"),
        ("zookeeper://h?tls_ca=/none/such", "not a file"),
        ("zookeeper://h?tls=false&tls_ca=/none/such", "tls=false"),
        ("zookeeper://h?tls=yes", "true, false"),
        ("zookeeper://h?timeout=3", "unknown options.*timeout"),
        ("zookeeper://h?acl=open&acl=open", "twice"),
        ("zookeeper://h?acl", "NAME=VALUE"),
    ],
)
def test_what_cannot_be_used_is_named(url: str, says: str) -> None:
    """A url that is wrong anywhere is Invalid before anything is connected to, and the error says where."""
    with pytest.raises(Invalid, match=says) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_the_password_is_in_no_repr() -> None:
    address = parse_url("zookeeper://h?auth=digest:me:secret")
    assert "secret" not in repr(address)
    assert "secret" not in str(address)


@pytest.mark.slow
def test_a_missing_extra_is_one_clear_error() -> None:
    """Without kazoo the package imports, and opening a ZooKeeper says what to install."""
    code = (
        "import sys; sys.modules['kazoo'] = None\n"
        "from kedge.stores import Invalid, open_store\n"
        "try: open_store('zookeeper://h')\n"
        "except Invalid as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'kedge[zookeeper]'" in done.stdout


@pytest.mark.slow
def test_kazoo_is_imported_only_when_used() -> None:
    code = "import sys, stores, kedge.stores.zookeeper, servers; print('kazoo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
