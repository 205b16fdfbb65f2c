"""`kedge store audit` on an etcd."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.stores import ABSENT, MetadataStore, Put
from tests.stores.etcd.served import server

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_a_tree_on_etcd_is_checked_and_options_are_not_printed(store: MetadataStore, root: str) -> None:
    store.commit([Put("/controller_epoch", b"x", ABSENT)], timeout_s=10)
    before = store.snapshot("/", timeout_s=10).cursor
    done = CliRunner().invoke(kedge, ["store", "audit", "--json", server().url(root, session_timeout=5)])
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["store"] == server().url(root)
    assert store.snapshot("/", timeout_s=10).cursor == before


def test_an_empty_prefix_is_said_and_no_password(root: str) -> None:
    """A wrong prefix looks like a cluster without keys."""
    done = CliRunner().invoke(kedge, ["store", "audit", server().url(root)])
    assert done.exit_code == 2
    assert "no key is there" in done.output
    refused = CliRunner().invoke(kedge, ["store", "audit", f"etcd://me:hunter2@{server().address}/a"])
    assert refused.exit_code == 2
    assert "hunter2" not in refused.output
