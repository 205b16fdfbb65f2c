"""`help()` of a public name says what each method does."""

from __future__ import annotations

import importlib
import inspect
import pydoc
from collections.abc import Iterator

import pytest

import kedge
from tests.docs.test_faces import FACES

PUBLIC = sorted(
    {
        thing
        for module in map(importlib.import_module, FACES)
        for name in module.__all__
        if inspect.isclass(thing := getattr(module, name))
    },
    key=lambda thing: thing.__qualname__,
)


def silent(thing: type) -> Iterator[str]:
    """Its public methods and properties without a docstring, also an inherited one."""
    for name, member in vars(thing).items():
        is_method = inspect.isroutine(member) or isinstance(member, classmethod | staticmethod | property)
        if is_method and not name.startswith("_") and not inspect.getdoc(getattr(thing, name)):
            yield name


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__qualname__)
def test_every_method_of_a_public_class_has_a_docstring(thing: type) -> None:
    assert list(silent(thing)) == []


class Base:
    def inherited(self) -> None:
        """What it does."""


class Some(Base):
    def inherited(self) -> None: ...

    def without(self) -> None: ...

    @property
    def attribute(self) -> int:
        return 1


def test_a_method_without_a_docstring_is_found() -> None:
    assert list(silent(Some)) == ["without", "attribute"]


def test_help_of_host_says_that_a_skipped_deletion_counts_as_acknowledged() -> None:
    text = " ".join(pydoc.plain(pydoc.render_doc(kedge.Host)).replace("|", "").split())
    assert "acknowledges every partition that it does not list as an error" in text
    assert "FENCED_LEADER_EPOCH" in text
