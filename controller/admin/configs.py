"""Requests that describe and alter configs of topics and brokers (KIP-133, KIP-226, KIP-339). One future per
resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Final

from ..model.config_requests import AlterConfigOp, ConfigEntry, ConfigResource
from ..model.errors import ApiError
from ..model.events import AlterConfigs, Event
from ..model.requests import as_configs
from ..model.values import TOPICS, ConfigEntity
from ..model.view import ClusterView
from ..rules.config_changes import check_entity
from ..rules.configs import describe, describe_with, topic_configs_as_stored
from .checks import as_all, as_timeout, require, require_topics
from .requests import TIMEOUT_S, Requests
from .results import Results

_CHANGES: Final = "a list of AlterConfigOp"


class ConfigRequests(Requests):
    """The requests about configs, part of `Admin`."""

    def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout_s: float = TIMEOUT_S
    ) -> Results[ConfigResource, Mapping[str, ConfigEntry]]:
        """All configs that each resource has or can have, by name: value, source and fallbacks (`ConfigEntry`). Read
        from memory, as committed. A broker need not be alive.

        Errors per resource: UnknownTopicOrPartition, InvalidRequest for an invalid broker id, StorageError if its key
        cannot be read."""

        def find(view: ClusterView, resource: ConfigResource) -> Mapping[str, ConfigEntry] | ApiError:
            return check_entity(view, resource.entity) or describe(view, resource.entity)

        return self._look_up_each("DESCRIBE_CONFIGS", _resources(resources), find, timeout_s)

    def describe_new_topics(
        self, topics: Mapping[str, Mapping[str, str]], *, timeout_s: float = TIMEOUT_S
    ) -> Future[dict[str, dict[str, ConfigEntry]]]:
        """What `describe_configs` would return for topics created with these configs. One future for all of them; the
        topics need not exist. TypeError if a name or a value is not a str."""
        require_topics(topics, Mapping)
        wanted = {name: as_configs(own) for name, own in topics.items()}

        def ask(view: ClusterView) -> dict[str, dict[str, ConfigEntry]]:
            stored = {name: topic_configs_as_stored(own) for name, own in wanted.items()}
            return {name: describe_with(view, ConfigEntity(TOPICS, name), own) for name, own in stored.items()}

        return self._whole("DESCRIBE_CONFIGS", lambda: self._submitter.query(ask, as_timeout(timeout_s)))

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
        policy = self._hooks.alter_config_policy

        def alter(now_ms: int, resource: ConfigResource, changes: tuple[AlterConfigOp, ...]) -> Event:
            return AlterConfigs(
                now_ms,
                resource.entity,
                changes,
                replaces=replaces,
                validate_only=validate_only,
                policy_message=None if policy is None else policy(resource, {op.name: op.value for op in changes}),
            )

        return self._change_each("ALTER_CONFIGS", cause, ops, alter, timeout_s)


def _resources(resources: object) -> list[ConfigResource]:
    return as_all(resources, ConfigResource, "a set of ConfigResource")
