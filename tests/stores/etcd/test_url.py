from __future__ import annotations

import pytest

from kedge.stores import Invalid, InvalidKey, open_store, public_url
from kedge.stores.etcd import EtcdUrl, parse_url

SECRET = "hunter2"  # noqa: S105 - not one


def test_everything_that_a_url_may_say() -> None:
    """Hosts with and without a port, the prefix, each option; values are percent-decoded, a plus is a plus."""
    url = (
        "etcd://one:1,two,[::1]:3/a/b?session_timeout=2.5&connect_timeout=0.5&user=me&password=a%26b+c"
        "&tls_ca=/ca.pem&tls_cert=/cert.pem&tls_key=/key.pem"
    )
    assert parse_url(url) == EtcdUrl(
        endpoints=(("one", 1), ("two", 2379), ("[::1]", 3)),
        root="/a/b",
        session_timeout=3,
        connect_timeout=0.5,
        user="me",
        password="a&b+c",  # noqa: S106 - not one
        tls_ca="/ca.pem",
        tls_cert="/cert.pem",
        tls_key="/key.pem",
    )


@pytest.mark.parametrize(
    "url,says",
    [
        ("etcd:h:2379", "begins with etcd://"),
        ("etcd://", "expected a host"),
        ("etcd://h,", "expected a host"),
        ("etcd://h:0", "port"),
        ("etcd://h:65536", "port"),
        ("etcd://h:x", "port"),
        ("etcd://h:", "port"),
        ("etcd://::1", "host"),
        ("etcd://[::1", "expected a host"),
        ("etcd://[::1],[::2", "expected a host"),
        ("etcd://a]:1,[::1]:2", "expected a host"),
        ("etcd://[:1:]x:3", "expected a host"),
        ("etcd://h/a#b", "%23"),
        (f"etcd://me:{SECRET}@h/a", "are options"),
        ("etcd://h?session_timeout=0", "session_timeout must be a number of seconds"),
        ("etcd://h?session_timeout=nan", "session_timeout must be a number of seconds"),
        ("etcd://h?connect_timeout=-1", "connect_timeout must be a number of seconds"),
        ("etcd://h?connect_timeout=inf", "connect_timeout must be a number of seconds"),
        ("etcd://h?connect_timeout=soon", "connect_timeout must be a number of seconds"),
        ("etcd://h?timeout=1", "session_timeout, connect_timeout, user"),
        ("etcd://h?connect_timeout", "connect_timeout must be a number of seconds"),
        ("etcd://h?connect_timeout=1&connect_timeout=2", "twice"),
        ("etcd://h?user=me", "must be given together"),
        (f"etcd://h?password={SECRET}", "must be given together"),
        (f"etcd://h?user=me&password=x&{SECRET}", "unknown option"),
        ("etcd://h?user=&password=x", "user is empty"),
        ("etcd://h?tls_ca=/ca&tls_cert=/c", "must be given together"),
        ("etcd://h?tls_cert=/c&tls_key=/k", "needs tls_ca"),
        ("etcd://h?tls=true", "tls=true needs tls_ca"),
        ("etcd://h?tls=false&tls_ca=/ca", "tls=false contradicts tls_ca"),
        ("etcd://h?tls=yes", "tls must be true or false"),
    ],
)
def test_what_is_wrong_is_said_and_no_password_with_it(url: str, says: str) -> None:
    """Invalid names the option, never a value that may be a password, also behind open_store."""
    for opened in (parse_url, open_store):
        with pytest.raises(Invalid) as raised:
            opened(url)
        assert says in str(raised.value) or not url.startswith("etcd://")
        assert SECRET not in repr(raised.value)


@pytest.mark.parametrize(
    "url, same",
    [
        ("etcd://h/", "etcd://h"),
        ("etcd://h:2379//", "etcd://h"),
        ("etcd://h?tls=false", "etcd://h"),
        ("etcd://h?tls=true&tls_ca=/ca", "etcd://h?tls_ca=/ca"),
    ],
)
def test_what_may_be_left_out_of_a_url(url: str, same: str) -> None:
    assert parse_url(url) == parse_url(same)


@pytest.mark.parametrize("prefix", ["/a//b", "/a b", "/..", "/a/./b", "/%2e", "/" + "r" * 300])
def test_a_prefix_is_like_a_key(prefix: str) -> None:
    """And short, since it counts in every key of every request."""
    with pytest.raises(InvalidKey, match="prefix"):
        parse_url(f"etcd://h{prefix}")


def test_a_password_is_in_no_repr_and_in_no_message() -> None:
    """Neither of what was parsed, nor of the place that messages name, nor of open_store about another scheme."""
    settings = parse_url(f"etcd://h/a?user=me&password={SECRET}")
    assert SECRET not in f"{settings} {settings!r} {settings.place}"
    for url in (f"etdc://h/a?user=me&password={SECRET}", f"etdc://me:{SECRET}@h/a", SECRET + "@h"):
        with pytest.raises(Invalid) as raised:
            open_store(url)
        assert SECRET not in str(raised.value)


def test_what_is_printed_of_a_url_is_where_it_leads() -> None:
    """The name of a file is no url, whatever is in it."""
    assert public_url(f"etcd://a:1,b:2/p?password={SECRET}") == "etcd://a:1,b:2/p"
    assert public_url(f"etcd://me:{SECRET}@a/p?x") == "etcd://a/p"
    assert public_url("memory:/tmp/a?b@c") == "memory:/tmp/a?b@c"
