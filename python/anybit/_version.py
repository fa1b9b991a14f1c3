"""The version of anybit."""

from __future__ import annotations

from . import _anybit

__version__: str = _anybit.version()[0]


def build_facts() -> dict[str, str]:
    """How the library was built.

    >>> list(anybit.build_facts())
    ['version', 'compiler', 'build', 'with', 'simd']
    """
    return dict(zip(("version", "compiler", "build", "with", "simd"), _anybit.version()))
