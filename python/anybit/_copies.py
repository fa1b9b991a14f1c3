"""Copying."""

from __future__ import annotations

from typing import Any, TypeVar

_Self = TypeVar("_Self")


class NeverChanges:
    """Base of immutable classes: a copy is the object itself."""

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: Any) -> _Self:
        return self
