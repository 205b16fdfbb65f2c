"""AlterUserScramCredentials: the passwords of Kafka's users, which only the controller changes.

They are in `/config/users/<name>`, where brokers look after a notification. Errors are those of Kafka's controller, one
per user; of a user with an error nothing is changed. Kafka writes other characters of a name like `%40`, and a key of a
store (`kedge.stores.base`) does not have them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from ....stores.base import InvalidKey, StoreError
from ...model.errors import ErrorCode
from ..calls import Access, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..security.acls import CLUSTER
from ..security.users import ITERATIONS_MIN, Credential
from ..slices import sliced

MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""By Kafka's numbers."""
ITERATIONS_MAX: Final = 16_384
"""As in Kafka."""
CLUSTER_REFUSED, UNSUPPORTED_MECHANISM, NO_RESOURCE, DUPLICATE, UNACCEPTABLE = 31, 33, 91, 92, 93
_ODD_NAME: Final = (
    "Kedge only writes users whose names have letters, digits, '.', '_' and '-'; alter this one in ZooKeeper by "
    "kafka-configs.sh --zookeeper"
)
log = logging.getLogger(__name__)


class _Flawed(Exception):
    """A user's part of the request cannot be carried out. `code`: of Kafka's errors."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def alter(call: Call, request: Request) -> Answer:
    """A row per user. Errors: 31; 33, 92, 93 for what cannot be a credential; 91 where one that is to be deleted does
    not exist; 7 where the store is not reached."""
    users = dict.fromkeys(each.name for each in (*request.upsertions, *request.deletions))
    if not call.may("ALTER", CLUSTER):
        return {"results": [_row(user, CLUSTER_REFUSED, "Cluster authorization failed.") for user in users]}
    upserted, deleted = _by_user(request.upsertions), _by_user(request.deletions)
    results = [
        await _altered(call, user, upserted.get(user, ()), deleted.get(user, ())) async for user in sliced(users)
    ]
    return {"results": results}


def _by_user(asked: Iterable[Any]) -> dict[str, list[Any]]:
    users: dict[str, list[Any]] = {}
    for each in asked:
        users.setdefault(each.name, []).append(each)
    return users


async def _altered(call: Call, user: str, upserted: Sequence[Any], deleted: Sequence[Any]) -> dict[str, Any]:
    try:
        new, gone = _checked(user, upserted, deleted)
        change = partial(_changed, new, gone)
        await asyncio.to_thread(call.controller.change_user_configs, sanitized(user), change)
    except _Flawed as flawed:
        return _row(user, flawed.code, str(flawed))
    except InvalidKey:
        return _row(user, UNACCEPTABLE, _ODD_NAME)
    except StoreError as error:
        log.warning("the credentials of user %r are not changed: %r", user, error)
        return _row(user, ErrorCode.REQUEST_TIMED_OUT, "the metadata store did not answer")
    return _row(user, 0, None)


def _changed(new: Mapping[str, str], gone: Collection[str], before: Mapping[str, str]) -> Mapping[str, str]:
    """Raises _Flawed."""
    if not before.keys() >= set(gone):
        raise _Flawed(NO_RESOURCE, "Attempt to delete a user credential that does not exist")
    return {**{name: value for name, value in before.items() if name not in gone}, **new}


def _checked(user: str, upserted: Iterable[Any], deleted: Iterable[Any]) -> tuple[dict[str, str], set[str]]:
    """The configs to write, and the names of those to delete. Raises _Flawed."""
    if not user:
        raise _Flawed(UNACCEPTABLE, "Username must not be empty")
    named = Counter(each.mechanism for each in (*upserted, *deleted))
    if not named.keys() <= MECHANISMS.keys():
        raise _Flawed(UNSUPPORTED_MECHANISM, "Unknown SCRAM mechanism")
    if max(named.values()) > 1:
        raise _Flawed(DUPLICATE, "A user credential cannot be altered twice in the same request")
    for each in upserted:
        if not ITERATIONS_MIN <= each.iterations <= ITERATIONS_MAX:
            few = "few" if each.iterations < ITERATIONS_MIN else "many"
            raise _Flawed(UNACCEPTABLE, f"Too {few} iterations")
    return {MECHANISMS[each.mechanism]: _text(each) for each in upserted}, {MECHANISMS[e.mechanism] for e in deleted}


def _text(asked: Any) -> str:
    mechanism, salt, password = MECHANISMS[asked.mechanism], bytes(asked.salt), bytes(asked.salted_password)
    return Credential.of_salted(mechanism, salt, password, asked.iterations).text


def sanitized(user: str) -> str:
    """The user's name as Kafka writes it in paths."""
    return quote(user, safe="").replace("~", "%7E")


def _row(user: str, code: int, message: str | None) -> dict[str, Any]:
    return {"user": user, "error_code": code, "error_message": message}


CREDENTIALS: Final = Api(
    messages_of("AlterUserScramCredentials", range(1)),
    alter,
    Access("ALTER", by_handler="each user"),
)
