"""The page of APIs says what the tables of the code say: names, keys, versions and rights."""

from __future__ import annotations

from pathlib import Path

from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire.calls import Access, Api
from kedge.controller.wire.messages import VERSIONS, requests
from kedge.controller.wire.records import with_records
from kedge.controller.wire.remote import with_orders, with_remote_brokers

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(page: str) -> list[tuple[str, ...]]:
    """The rows of the tables of a page whose second cell is an API key."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    found = [tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in lines if line[:1] == "|"]
    return [row for row in found if len(row) > 1 and row[1].isdigit()]


def versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def right(access: Access) -> str:
    if not access.operation:
        return "none"
    if access.by_handler:
        return f"{access.operation} on {access.by_handler}"
    if not access.by_row:
        more = f", or {access.or_on_some_topic} on some topic (KIP-679)" if access.or_on_some_topic else ""
        return f"{access.operation} on the {'broker id' if access.by_broker else 'cluster'}{more}"
    return f"{access.operation} on each {'resource' if 'resources' in access.asked else 'topic'}"


def served() -> dict[int, Api]:
    """Every API that `kedge serve` answers."""
    cluster = LiveCluster(LiveServer(), {})
    try:
        apis = with_records(cluster.logs, cluster.groups, transactions=cluster.transactions)
        return with_orders(cluster.host, with_remote_brokers(apis))
    finally:
        cluster.close()


def test_each_api_stands_on_the_page_once() -> None:
    of_code = [
        (api.messages.name, str(key), versions(api.messages.versions.start, api.messages.versions[-1]))
        for key, api in served().items()
    ]
    assert sorted(row[:3] for row in rows("gateway-apis.md")) == sorted(of_code)


def test_the_page_names_the_right_of_each_api() -> None:
    of_page = {row[0]: row[3] for row in rows("gateway-apis.md")}
    assert of_page == {api.messages.name: right(api.access) for api in served().values()}


def test_the_page_lists_the_messages_that_the_codec_lacks() -> None:
    found = {(int(row[1]), row[0], row[2].partition(",")[0]) for row in rows("remote-brokers.md")}
    of_code = {(key, requests()[key].name.removesuffix("Request"), versions(*VERSIONS[key])) for key in VERSIONS}
    assert found == of_code
