"""A cluster in threads of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..controller.admin import Admin
from ..controller.control import TIMEOUT_S, Control
from ..controller.groups.requests import GroupSettings
from ..controller.server import LiveCluster, LiveServer
from ..controller.wire import Gateway
from ..controller.wire.records import with_records
from ..controller.wire.security.acls import Acls, allow_all
from ..controller.wire.security.tls import Tls
from ..controller.wire.security.users import Users
from .basis import RACKS, ForTests


class Cluster(ForTests):
    """`with Cluster() as cluster:` a controller, brokers that keep records in memory, and their addresses.

    `brokers`, `racks`, `users`, `acls`, `tls`: as of every cluster for tests (`ForTests`). `creates_topics`: those that
    clients only name. `copy_rate_bytes_s`: into each broker, None = unlimited. `group_settings`: of consumer groups.
    `seed`: makes topic ids and placements repeatable.
    """

    def __init__(
        self,
        brokers: int = 3,
        racks: Sequence[str] = RACKS,
        *,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, Any]] | None = None,
        tls: bool = False,
        creates_topics: bool = True,
        copy_rate_bytes_s: int | None = None,
        group_settings: GroupSettings | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(brokers, racks, users=users, acls=acls, tls=tls)
        self._live = LiveCluster(LiveServer(), self.racks, copy_rate_bytes_s=copy_rate_bytes_s, seed=seed)
        kept = (self._live.logs, self._live.groups)
        named: Any = {"creates_topics": creates_topics, "settings": group_settings}
        apis = with_records(*kept, transactions=self._live.transactions, **named)
        self._control = Control(self._live, apis)

    def _begin(self, stack: ExitStack, folder: Path) -> str:  # noqa: ARG002 - another process needs files
        made = self._certificate
        stack.enter_context(self._live).until_ready(TIMEOUT_S)
        gateway = Gateway(
            self._live.controller,
            cluster_id="kedge-testing",
            apis=self._control.apis,
            users=None if self._users is None else Users(self._users),
            authorizer=allow_all if self._acls is None else Acls.of(self._acls),
            tls=None if made is None else Tls(made.chain, made.key),
        )
        at = stack.enter_context(gateway).address
        self._control.begin(gateway)
        return f"{at.host}:{at.port}"

    def _call(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return getattr(self._control, what)(*arguments, **named)

    @property
    def admin(self) -> Admin:
        """The admin API of the controller, for everything else. Its futures do not wait until clients can see it."""
        return self._live.controller.admin
