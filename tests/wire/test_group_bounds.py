"""JoinGroup and OffsetCommit without an end, by clients of a gateway, while a member of a group goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.controller.groups.requests import GroupSettings
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import RawClient
from tests.wire.test_groups_api import commit, found, join, sync

pytestmark = pytest.mark.slow

NO_ROOM = 15
MEMBER_ID_REQUIRED = 79


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """On 5 partitions, so on several coordinators, which have one bound."""
    groups = {"offsets_partitions": 5, "settings": GroupSettings(held_bytes_max=600_000)}
    with Living(groups=groups) as opened:
        opened.topic("orders", [[1, 2, 3]] * 2)
        until(lambda: found(opened, "any").error_code == 0)
        yield opened


def ids_without_end(client: RawClient) -> list[int]:
    """The errors of 60 joins by clients that never come back, each to a group of its own."""
    return [
        client.ask(
            "JoinGroup",
            9,
            group_id=f"{number}-".ljust(30_000, "x"),
            session_timeout_ms=1_800_000,
            rebalance_timeout_ms=60_000,
            member_id="",
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": b""}],
        ).error_code
        for number in range(60)
    ]


def test_joins_and_commits_of_invented_groups_are_refused_in_the_end_and_members_go_on(client: RawClient) -> None:
    member = join(client, "there", 9, session_timeout_ms=60_000)
    assert sync(client, "there", 5, member).error_code == 0
    owner = {"generation_id_or_member_epoch": member.generation_id, "member_id": member.member_id}
    assert commit(client, "there", 9, 7, **owner) == 0
    errors = ids_without_end(client)
    assert set(errors[:5]) == {MEMBER_ID_REQUIRED}
    assert set(errors[-20:]) == {NO_ROOM}
    assert commit(client, "invented".ljust(30_000, "x"), 9, 7) == NO_ROOM
    assert commit(client, "there", 9, 8, **owner) == 0
    beat = {"group_id": "there", "generation_id": member.generation_id, "member_id": member.member_id}
    assert client.ask("Heartbeat", 4, **beat).error_code == 0


def test_protocols_without_end_are_an_invalid_request(client: RawClient) -> None:
    protocols = [{"name": f"p{number}", "metadata": b""} for number in range(3000)]
    assert join(client, "there", 9, protocols=protocols).error_code == 42
