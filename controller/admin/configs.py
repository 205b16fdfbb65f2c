"""Requests that describe and alter configs of topics and brokers (KIP-133, KIP-226, KIP-339). One future per
resource."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Final

from ..model.config_requests import AlterConfigOp, ConfigEntry, ConfigResource
from ..model.errors import ApiError
from ..model.events import AlterConfigs
from ..model.values import TOPICS, ConfigEntity
from ..model.view import ClusterView
from ..rules.config_changes import check_entity
from ..rules.configs import describe, describe_with, topic_configs_as_stored
from ..runtime.clock import IdSource
from ..runtime.submit import Submitter
from .checks import as_all, as_timeout, require
from .hooks import Hooks
from .results import Results

TIMEOUT_S: Final = 60.0
_CHANGES: Final = "a list of AlterConfigOp"


class ConfigRequests(abc.ABC):
    """The requests about configs, part of `Admin`."""

    _submitter: Submitter
    _id_source: IdSource
    _hooks: Hooks

    @abc.abstractmethod
    def _refusal(self, operation: str) -> Callable[[], ApiError] | None:
        """What makes the error for a principal that may not do `operation` on the cluster; None if it may."""

    def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout_s: float = TIMEOUT_S
    ) -> Results[ConfigResource, Mapping[str, ConfigEntry]]:
        """All configs that each resource has or can have, by name: value, source and fallbacks (`ConfigEntry`). Read
        from memory, as committed. A broker need not be alive.

        Errors per resource: UnknownTopicOrPartition, InvalidRequest for an invalid broker id, StorageError if its key
        cannot be read."""
        wanted = _resources(resources)
        if error := self._refusal("DESCRIBE_CONFIGS"):
            return Results(self._submitter.failed_each(wanted, error))
        timeout_ms = as_timeout(timeout_s)

        def ask(resource: ConfigResource) -> Callable[[ClusterView], Mapping[str, ConfigEntry] | ApiError]:
            return lambda view: check_entity(view, resource.entity) or describe(view, resource.entity)

        return Results({one: self._submitter.query(ask(one), timeout_ms) for one in wanted})

    def describe_new_topics(
        self, topics: Mapping[str, Mapping[str, str]], *, timeout_s: float = TIMEOUT_S
    ) -> Future[dict[str, dict[str, ConfigEntry]]]:
        """What `describe_configs` would return for topics created with these configs. One future for all of them; the
        topics need not exist. TypeError if `topics` is not a mapping."""
        require(topics, Mapping, "topics")
        if error := self._refusal("DESCRIBE_CONFIGS"):
            return self._submitter.failed(error()).future()

        def ask(view: ClusterView) -> dict[str, dict[str, ConfigEntry]]:
            stored = {name: topic_configs_as_stored(own) for name, own in topics.items()}
            return {name: describe_with(view, ConfigEntity(TOPICS, name), own) for name, own in stored.items()}

        return self._submitter.query(ask, as_timeout(timeout_s)).future()

    def alter_configs(
        self,
        resources: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> Results[ConfigResource, None]:
        """Replace all configs of each resource; `validate_only` only checks. The changes of one resource are made
        together or not at all; an error of one resource does not affect the others. Unchanged configs are not written.
        A commit also writes a notification below `/config/changes`; the host gets `config_changed`.

        Errors per resource: UnknownTopicOrPartition, InvalidConfig (names the config), InvalidRequest,
        PolicyViolation, StorageError. TypeError if a name or a value is not a str.
        """
        require(resources, Mapping, "resources")
        ops = {}
        for one in _resources(resources):
            require(resources[one], Mapping, "configs")
            ops[one] = tuple(AlterConfigOp(name, value) for name, value in resources[one].items())
        return self._alter_configs(
            ops, "alter_configs", replaces=True, validate_only=validate_only, timeout_s=timeout_s
        )

    def incremental_alter_configs(
        self,
        resources: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> Results[ConfigResource, None]:
        """Set, delete, append to or subtract from single configs, and keep the others (KIP-339). Otherwise like
        `alter_configs`, with the same errors. InvalidConfig also for appending to a config that is not a list,
        InvalidRequest for a duplicate name or a missing value."""
        require(resources, Mapping, "resources")
        ops = {one: tuple(as_all(resources[one], AlterConfigOp, _CHANGES)) for one in _resources(resources)}
        cause = "incremental_alter_configs"
        return self._alter_configs(ops, cause, replaces=False, validate_only=validate_only, timeout_s=timeout_s)

    def _alter_configs(
        self,
        ops: Mapping[ConfigResource, tuple[AlterConfigOp, ...]],
        cause: str,
        *,
        replaces: bool,
        validate_only: bool,
        timeout_s: float,
    ) -> Results[ConfigResource, None]:
        if error := self._refusal("ALTER_CONFIGS"):
            return Results(self._submitter.failed_each(ops, error))
        now_ms, request, timeout_ms = self._submitter.now_ms(), self._id_source.nonce(), as_timeout(timeout_s)
        jobs = {}
        for one, said in ops.items():
            event = AlterConfigs(
                now_ms,
                one.entity,
                said,
                replaces=replaces,
                validate_only=validate_only,
                policy_message=self._objection(one, said),
            )
            jobs[one] = self._submitter.job(event, timeout_ms, cause, request)
        return Results(self._submitter.submit(jobs))

    def _objection(self, resource: ConfigResource, ops: tuple[AlterConfigOp, ...]) -> str | None:
        policy = self._hooks.alter_config_policy
        if policy is None:
            return None
        return policy(resource, {op.name: op.value for op in ops})


def _resources(resources: object) -> list[ConfigResource]:
    return list(dict.fromkeys(as_all(resources, ConfigResource, "a set of ConfigResource")))
